"""A database of the tests' own, called "hostile", with the extension. It goes at the end, but for a failure."""

import os

import psycopg

NAME = "hostile"


def create(encoding="UTF8"):
    """From here on, connections are to it."""
    os.environ["PGCLIENTENCODING"] = "UTF8"
    os.environ["PGOPTIONS"] = "-c client_min_messages=error"
    drop()
    with psycopg.connect(autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {NAME} TEMPLATE template0 ENCODING '{encoding}' LOCALE 'C'")
    os.environ["PGDATABASE"] = NAME
    with psycopg.connect(autocommit=True) as connection:
        connection.execute("CREATE EXTENSION pg_simhash")


def drop():
    os.environ["PGDATABASE"] = "postgres"
    with psycopg.connect(autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {NAME} WITH (FORCE)")
        connection.execute("DROP ROLE IF EXISTS hostile_user")
