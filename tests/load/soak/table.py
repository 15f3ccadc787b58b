"""The guarded table."""

import subprocess

import psycopg
from psycopg.rows import class_row

from check import Row
from pool import BANDS, DISTANCE


def connect():
    return psycopg.connect(autocommit=True, application_name="soak checks")


def create(action, source, texts, partitions, tenants):
    """Makes a new table, with this number of partitions, and with the tenant as scope if there are several. Returns the
    fingerprints of the texts, and their bands."""
    scope, mark = ["tenant"] if tenants > 1 else [], "mark" if action == "mark" else None
    with connect() as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS pg_simhash")
        connection.execute("DROP TABLE IF EXISTS soak")
        columns = "id bigint PRIMARY KEY, text integer, tenant integer, body text NOT NULL, note integer, mark bigint"
        connection.execute(f"CREATE TABLE soak ({columns}) {'PARTITION BY HASH (id)' if partitions else ''}")
        for number in range(partitions):
            bound = f"WITH (MODULUS {partitions}, REMAINDER {number})"
            connection.execute(f"CREATE TABLE soak_{number} PARTITION OF soak FOR VALUES {bound}")
        connection.execute("SELECT simhash_attach('soak', 'body')")
        connection.execute("SELECT simhash_index('soak', 'body', scope => %s::text[])", (scope,))
        # Rows that are updated without touching the text move, too: no update is a HOT one.
        connection.execute("CREATE INDEX ON soak (note)")
        criterion = "{}" if source == "body" else f'{{"resemblance": null, "max_distance": {DISTANCE}}}'
        connection.execute(
            "SELECT simhash_guard('soak', %s, %s, scope => %s::text[], mark_column => %s, source => %s)",
            (action, criterion, scope, mark, source),
        )
        bands = ", ".join(f"simhash_band(body, {band})" for band in range(BANDS))
        found = connection.execute(
            f"SELECT simhash(body), ARRAY[{bands}]"
            " FROM unnest(%s::text[]) WITH ORDINALITY AS texts (body, n) ORDER BY n", (texts,),
        )
        return zip(*found.fetchall())


def unguard():
    with connect() as connection:
        connection.execute("SELECT simhash_unguard('soak')")


def durability():
    with connect() as connection:
        shown = [connection.execute(f"SHOW {name}").fetchone()[0] for name in ("fsync", "synchronous_commit")]
    return f"fsync {shown[0]}, synchronous_commit {shown[1]}"


def read_rows():
    """All rows, by a sequential scan."""
    with connect() as connection:
        connection.execute("SET enable_indexscan = off")
        connection.execute("SET enable_bitmapscan = off")
        connection.execute("SET enable_indexonlyscan = off")
        cursor = connection.cursor(row_factory=class_row(Row))
        return cursor.execute("SELECT id, text, body, simhash AS fingerprint, mark FROM soak").fetchall()


def find_damage():
    """What PostgreSQL's own checks find: of pages, of the order in indexes, and of rows that an index lacks. What a
    crash has torn would show here."""
    with connect() as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS amcheck")
    checks = ["--heapallindexed", "--rootdescend", "--parent-check"]
    # If nothing is wrong, pg_amcheck prints nothing.
    found = subprocess.run(["pg_amcheck", *checks], capture_output=True, text=True)
    if found.returncode or found.stdout or found.stderr:
        yield f"pg_amcheck ({found.returncode}): {found.stdout} {found.stderr}"
