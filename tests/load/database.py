"""The database of a load test, with the extension. A test drops it at its end, unless it has failed."""

import os
import pathlib

import psycopg

from patience import TIME_LIMIT


def connect(settings="", **parameters):
    """A connection in autocommit mode. The settings are those of its session, as options of libpq."""
    options = f"-c client_min_messages=error {TIME_LIMIT} {settings}"
    return psycopg.connect(autocommit=True, options=options, **parameters)


def create(name):
    """Creates the database. Later connections of the process are to it."""
    os.environ["PGCLIENTENCODING"] = "UTF8"
    drop(name)
    with connect() as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'")
    os.environ["PGDATABASE"] = name
    with connect() as connection:
        connection.execute("CREATE EXTENSION pg_simhash")


def drop(name):
    os.environ["PGDATABASE"] = "postgres"
    with connect() as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def run_script(connection, path):
    """Runs a script of SQL, whose path begins in tests/load."""
    for statement in split_statements((pathlib.Path(__file__).parent / path).read_text(encoding="utf-8")):
        connection.execute(statement)


def has_scan(plan):
    """Whether the rows or lines of EXPLAIN have a scan of the indexes on bands or blocks."""
    return "(SimhashScan)" in str(plan)


def split_statements(script):
    """The statements of a script, each of which ends at the end of a line. Some cannot run together in a transaction,
    as several that are sent at once do."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if line.endswith(";\n") and statement.count("$$") % 2 == 0:
            yield statement
            statement = ""
