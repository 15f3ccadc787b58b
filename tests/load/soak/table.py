"""The guarded table."""

import psycopg

from pool import DISTANCE, RESEMBLANCE


def connect():
    return psycopg.connect(autocommit=True, application_name="soak checks")


def create(action, texts, partitions, among):
    """Makes the table anew, of so many partitions if not of one piece, and guarded among active rows or all rows; the
    fingerprints of the texts."""
    with connect() as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS pg_simhash")
        connection.execute("DROP TABLE IF EXISTS soak")
        columns = "id bigint PRIMARY KEY, text integer, body text NOT NULL, note integer, active boolean NOT NULL"
        connection.execute(f"CREATE TABLE soak ({columns}) {'PARTITION BY HASH (id)' if partitions else ''}")
        for number in range(partitions):
            bound = f"WITH (MODULUS {partitions}, REMAINDER {number})"
            connection.execute(f"CREATE TABLE soak_{number} PARTITION OF soak FOR VALUES {bound}")
        connection.execute("SELECT simhash_attach('soak', 'body')")
        # Rows that are updated without touching the text move, too: no update is a HOT one.
        connection.execute("CREATE INDEX ON soak (note)")
        connection.execute(
            "SELECT simhash_guard('soak', %s, max_distance => %s, resemblance => %s, among => %s)",
            (action, DISTANCE, RESEMBLANCE, "active" if among else None),
        )
        found = connection.execute(
            "SELECT simhash(body) FROM unnest(%s::text[]) WITH ORDINALITY AS texts (body, n) ORDER BY n", (texts,)
        )
        return [fingerprint for (fingerprint,) in found]


def unguard():
    with connect() as connection:
        connection.execute("SELECT simhash_unguard('soak')")


def durability():
    with connect() as connection:
        shown = [connection.execute(f"SHOW {name}").fetchone()[0] for name in ("fsync", "synchronous_commit")]
    return f"fsync {shown[0]}, synchronous_commit {shown[1]}"


def rows():
    """All of them, by a scan: id, number of the text, the text, its fingerprint, and whether the row is active."""
    with connect() as connection:
        connection.execute("SET enable_indexscan = off")
        connection.execute("SET enable_bitmapscan = off")
        connection.execute("SET enable_indexonlyscan = off")
        return connection.execute("SELECT id, text, body, simhash, active FROM soak").fetchall()
