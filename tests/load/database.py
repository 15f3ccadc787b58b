"""A database of the tests' own, with the extension. It goes at the end, but for a failure."""

import os

import psycopg


def create(name):
    """From here on, connections are to it."""
    os.environ["PGCLIENTENCODING"] = "UTF8"
    os.environ["PGOPTIONS"] = "-c client_min_messages=error"
    drop(name)
    with psycopg.connect(autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'")
    os.environ["PGDATABASE"] = name
    with psycopg.connect(autocommit=True) as connection:
        connection.execute("CREATE EXTENSION pg_simhash")


def drop(name):
    os.environ["PGDATABASE"] = "postgres"
    with psycopg.connect(autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
