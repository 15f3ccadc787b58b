"""The database of a load test, with the extension. A test drops it at its end, unless it has failed."""

import os

import psycopg


def create(name):
    """Creates the database. Later connections of the process are to it."""
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
