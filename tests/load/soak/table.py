"""The guarded table."""

import os
import subprocess

from psycopg.rows import class_row

import database
from check import Row
from patience import TIME_LIMIT
from pool import BANDS, MAX_DISTANCE


def create(action, source, texts, partitions, tenants):
    """Makes a new table, with this number of partitions, and with the tenant as scope if there are several. Returns the
    fingerprints of the texts, and their bands."""
    scope, mark = ["tenant"] if tenants > 1 else [], "mark" if action == "mark" else None
    with database.connect() as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS pg_simhash")
        connection.execute("DROP TABLE IF EXISTS soak")
        connection.execute(
            "CREATE TABLE soak (id bigint PRIMARY KEY, text_number integer, tenant integer, body text NOT NULL,"
            f" note integer, mark bigint) {'PARTITION BY HASH (id)' if partitions else ''}"
        )
        for number in range(partitions):
            bound = f"WITH (MODULUS {partitions}, REMAINDER {number})"
            connection.execute(f"CREATE TABLE soak_{number} PARTITION OF soak FOR VALUES {bound}")
        connection.execute("SELECT simhash_attach('soak', 'body')")
        connection.execute("SELECT simhash_index('soak', 'body', scope => %s::text[])", (scope,))
        # An update of the column note is then not a HOT update: it makes new entries in all indexes.
        connection.execute("CREATE INDEX ON soak (note)")
        criterion = "{}" if source == "body" else f'{{"resemblance": null, "max_distance": {MAX_DISTANCE}}}'
        connection.execute(
            "SELECT simhash_guard('soak', %s, %s, scope => %s::text[], mark_column => %s, source => %s)",
            (action, criterion, scope, mark, source),
        )
        bands = ", ".join(f"simhash_band(body, {band})" for band in range(BANDS))
        found = connection.execute(
            f"SELECT simhash(body), ARRAY[{bands}]"
            " FROM unnest(%s::text[]) WITH ORDINALITY AS texts (body, number) ORDER BY number", (texts,),
        )
        return zip(*found.fetchall())


def unguard():
    with database.connect() as connection:
        connection.execute("SELECT simhash_unguard('soak')")


def durability():
    with database.connect() as connection:
        shown = [connection.execute(f"SHOW {name}").fetchone()[0] for name in ("fsync", "synchronous_commit")]
    return f"fsync {shown[0]}, synchronous_commit {shown[1]}"


def read_rows():
    """All rows, by a sequential scan."""
    with database.connect("-c enable_indexscan=off -c enable_bitmapscan=off -c enable_indexonlyscan=off") as connection:
        cursor = connection.cursor(row_factory=class_row(Row))
        return cursor.execute("SELECT id, text_number, body, simhash AS fingerprint, mark FROM soak").fetchall()


def find_damage():
    """What PostgreSQL's own checks find: of pages, of the order in indexes, and of rows that an index lacks. What a
    crash has torn would show here."""
    with database.connect() as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS amcheck")
    checks = ["--heapallindexed", "--rootdescend", "--parent-check"]
    # If nothing is wrong, pg_amcheck prints nothing.
    environment = os.environ | {"PGOPTIONS": TIME_LIMIT}
    found = subprocess.run(["pg_amcheck", *checks], capture_output=True, text=True, env=environment)
    if found.returncode or found.stdout or found.stderr:
        yield f"pg_amcheck ({found.returncode}): {found.stdout} {found.stderr}"
