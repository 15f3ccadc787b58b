"""Many sessions edit one row of a guarded table by INSERT .. ON CONFLICT DO UPDATE, with texts near each other.

    python tests/load/upserts [--sessions N] [--upserts N]

It fails if a session gets an error, such as that of a deadlock, or if an edit is lost.
"""

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor

import psycopg

import database

UPSERT_SQL = """
INSERT INTO docs (id, body) VALUES (1, 'one text of many words that all sessions edit at the same time, edition ' || %s)
ON CONFLICT (id) DO UPDATE SET body = excluded.body, edits = docs.edits + 1
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sessions", type=int, default=24)
    parser.add_argument("--upserts", type=int, default=30)
    options = parser.parse_args()
    database.create("upserts")
    with database.connect() as connection:
        for action in "reject", "skip":
            edit_in_sessions(connection, action, options.sessions, options.upserts)
    database.drop("upserts")


def edit_in_sessions(connection, action, sessions, upserts):
    connection.execute("CREATE TABLE docs (id integer PRIMARY KEY, body text, edits integer DEFAULT 1)")
    connection.execute("SELECT simhash_index('docs', 'body'), simhash_guard('docs', %s)", [action])
    with ThreadPoolExecutor(sessions) as threads:
        failures = [error for error in threads.map(edit, range(sessions), [upserts] * sessions) if error]
    if failures:
        sys.exit(f"FAILED: {action}: {len(failures)} sessions ended by an error, the first by: {failures[0]}")
    edits = connection.execute("SELECT edits FROM docs").fetchone()[0]
    if edits != sessions * upserts:
        sys.exit(f"FAILED: {action}: {edits} edits of {sessions * upserts}")
    print(f"{action}: {edits} edits of one row by {sessions} sessions")
    connection.execute("DROP TABLE docs")


def edit(session, upserts):
    """Returns the error that ends the session; None if there is none."""
    try:
        with database.connect() as connection:
            for upsert in range(upserts):
                connection.execute(UPSERT_SQL, [session * upserts + upsert])
    except psycopg.Error as error:
        return error


if __name__ == "__main__":
    main()
