"""Guarded inserts in sessions that get little memory, each a little more than the one before.

    python tests/load/memory

It fails if a session ends, or gets another error than that memory is out. In place of this error, pgrx and Rust could
end the server: see src/postgres/reserve.rs.
"""

import collections
import sys

import psycopg

import database

PARTITIONS = 20
# Kilobytes that a session may take beyond what it has.
MORE_MEMORY = range(0, 4_000, 20)
OUT_OF_MEMORY = "53200"
# The file of a time zone cannot be read.
INVALID_TIME_ZONE = "22023"
INSERT_SQL = f"INSERT INTO docs SELECT n, n % {PARTITIONS}, words(n) FROM generate_series(1, 100) AS n"


def main():
    database.create("memory")
    with database.connect() as connection:
        connection.execute("""
            CREATE TABLE docs (id integer, part integer, body text, PRIMARY KEY (id, part)) PARTITION BY LIST (part);
            CREATE FUNCTION words(n integer) RETURNS text LANGUAGE sql AS
                $$ SELECT string_agg(md5(n || ' ' || i), ' ') FROM generate_series(1, 20) AS i $$""")
        for part in range(PARTITIONS):
            connection.execute(f"CREATE TABLE docs_{part} PARTITION OF docs FOR VALUES IN ({part})")
        connection.execute("SELECT simhash_index('docs', 'body'), simhash_guard('docs', 'skip')")
    outcomes = collections.Counter(insert(more_memory) for more_memory in MORE_MEMORY)
    print(", ".join(f"{outcome}: {sessions} sessions" for outcome, sessions in outcomes.items()))
    if outcomes.keys() - {INVALID_TIME_ZONE} != {"stored", OUT_OF_MEMORY}:
        sys.exit("FAILED: some sessions got another error, or none got this one, or all")
    database.drop("memory")


def insert(more_memory):
    """Inserts rows in a session of its own, and deletes them. Returns "stored", or the error's SQLSTATE."""
    with database.connect() as connection:
        # Without the guard, so that PostgreSQL has counters for all tables: if there is no memory for a new counter, it
        # frees a random address when the session ends.
        connection.execute("SET session_replication_role = replica")
        connection.execute(f"BEGIN; {INSERT_SQL}; ROLLBACK; RESET session_replication_role")
        with open(f"/proc/{connection.info.backend_pid}/statm", encoding="ascii") as sizes:
            kilobytes = int(sizes.read().split()[0]) * 4 + more_memory
        # The parent of the shell is the backend, which may limit itself.
        limit = f"cat >/dev/null; prlimit --pid $PPID --as={kilobytes * 1024}:"
        connection.execute(f"COPY (SELECT) TO PROGRAM '{limit}'")
        try:
            connection.execute(INSERT_SQL)
        except psycopg.Error as error:
            return error.sqlstate or f"{error}"
    with database.connect() as connection:
        connection.execute("DELETE FROM docs")
    return "stored"


if __name__ == "__main__":
    main()
