"""Many sessions edit one row of a guarded table by INSERT .. ON CONFLICT DO UPDATE, with texts near each other.

    python tests/load/upserts [--sessions N] [--upserts N]

Needs the server of psql's environment (PGHOST and so on), with pg_simhash, as a superuser, and the packages of
tests/requirements.txt. The test makes its own database. It fails if a session gets an error, such as that of a
deadlock, or if an edit is lost.
"""

import argparse
import sys
import threading

import psycopg

sys.path.append(f"{sys.path[0]}/..")
import database
from patience import LIMIT

UPSERT = """
INSERT INTO docs (id, body) VALUES (1, 'one text of many words that all sessions edit at the same time, edition ' || %s)
ON CONFLICT (id) DO UPDATE SET body = excluded.body, edits = docs.edits + 1
"""


def edit(session, upserts, failures):
    try:
        with psycopg.connect(autocommit=True, options=LIMIT) as connection:
            for upsert in range(upserts):
                connection.execute(UPSERT, [session * upserts + upsert])
    except psycopg.Error as error:
        failures.append(error)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sessions", type=int, default=24)
    parser.add_argument("--upserts", type=int, default=30)
    arguments = parser.parse_args()
    database.create("upserts")
    with psycopg.connect(autocommit=True) as connection:
        for action in "reject", "skip":
            connection.execute("CREATE TABLE docs (id integer PRIMARY KEY, body text, edits integer DEFAULT 1)")
            connection.execute("SELECT simhash_index('docs', 'body'), simhash_guard('docs', %s)", [action])
            failures = []
            sessions = [
                threading.Thread(target=edit, args=(session, arguments.upserts, failures))
                for session in range(arguments.sessions)
            ]
            for session in sessions:
                session.start()
            for session in sessions:
                session.join()
            if failures:
                sys.exit(f"FAILED: {action}: {len(failures)} sessions ended by an error, the first by: {failures[0]}")
            edits = connection.execute("SELECT edits FROM docs").fetchone()[0]
            expected = arguments.sessions * arguments.upserts
            if edits != expected:
                sys.exit(f"FAILED: {action}: {edits} edits of {expected}")
            print(f"{action}: {edits} edits of one row by {arguments.sessions} sessions")
            connection.execute("DROP TABLE docs")
    database.drop("upserts")


if __name__ == "__main__":
    main()
