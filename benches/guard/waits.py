"""How writers of unrelated texts wait for each other under a guard.

    python benches/guard/waits.py RUNS SECONDS

Six sessions insert 200 rows in each transaction, and an AFTER trigger of each row updates one counter: the transactions
and the deadlocks among them. Then a COPY that has sent three rows idles in its transaction beside four writers: its
locks of the guard, the rows of the writers, and how many of them failed because they waited for a lock for a quarter of
the time. The guard skips near-duplicates at its default. All texts are 80 random words.

Needs PYTHONPATH=benches, and psql's environment (PGHOST and so on) pointing to a server with pg_simhash.
"""

import random
import re
import subprocess
import sys

from server import pgbench
from statements import environment, psql, value

INSERT = "INSERT INTO docs (body) VALUES (random_text());\n"
# The texts of a session are unrelated to those of all others.
TEXTS = """CREATE OR REPLACE FUNCTION random_text() RETURNS text LANGUAGE sql VOLATILE
    RETURN (SELECT string_agg(substr(md5(random()::text), 1, 10), ' ') FROM generate_series(1, 80))"""
COUNT = """CREATE OR REPLACE FUNCTION count_row() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN UPDATE counter SET n = n + 1; RETURN NULL; END $$"""


def main():
    runs, seconds = int(sys.argv[1]), int(sys.argv[2])
    psql(TEXTS, COUNT)
    print(f"six sessions, transactions of 200 rows, and a counter; {seconds} s")
    for _ in range(runs):
        create_docs()
        psql("DROP TABLE IF EXISTS counter", "CREATE TABLE counter (n bigint)", "INSERT INTO counter VALUES (0)",
             "CREATE TRIGGER counter AFTER INSERT ON docs FOR EACH ROW EXECUTE FUNCTION count_row()")
        found = pgbench(6, f"BEGIN;\n{200 * INSERT}COMMIT;\n", "-T", str(seconds), "--failures-detailed")
        deadlocks = number("number of deadlock failures", found)
        print(f"{number('number of transactions actually processed', found):7,} transactions"
              f" {deadlocks:5,} deadlocks, bar 0: {'reached' if deadlocks == 0 else 'MISSED'}", flush=True)
    print(f"\na COPY that idles in its transaction, beside four writers; {seconds} s")
    for _ in range(runs):
        create_docs()
        with idle_copy() as copy:
            locks = value("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid >= 3")
            found = pgbench(4, INSERT, "-T", str(seconds), lock_timeout=f"{max(1, seconds // 4)}s")
            copy.stdin.close()
        blocked = len(re.findall(r"client \d+ (?:script \d+ )?aborted", found))
        print(f"{locks} locks of the COPY {number('number of transactions actually processed', found):9,} rows"
              f" {blocked} writers failed, bar 0: {'reached' if blocked == 0 else 'MISSED'}", flush=True)


def create_docs():
    psql("DROP TABLE IF EXISTS docs",
         "CREATE TABLE docs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text)",
         "SELECT simhash_attach('docs', 'body')", "SELECT simhash_guard('docs', 'skip')")


def idle_copy():
    """A COPY that has sent three rows: PostgreSQL 19 processes a row only when the next one begins. psql sends what it
    has read as soon as that is 8 kB."""
    copy = subprocess.Popen(["psql", "-Xq", "-c", "COPY docs (body) FROM STDIN"], stdin=subprocess.PIPE, text=True,
                            env=environment({}))
    for _ in range(3):
        copy.stdin.write(" ".join(f"{random.getrandbits(40):x}" for _ in range(2000)) + "\n")
    copy.stdin.flush()
    waiting = ("SELECT count(*) FROM pg_stat_activity"
               " WHERE query LIKE 'COPY docs%' AND wait_event = 'ClientRead' AND backend_xid IS NOT NULL")
    while value(waiting) != "1":
        if copy.poll() is not None:
            raise RuntimeError("the COPY has ended")
    return copy


def number(what, found):
    match = re.search(rf"^{what}: (\d+)", found, re.MULTILINE)
    if not match:
        raise RuntimeError(f"pgbench:\n{found}")
    return int(match[1])


if __name__ == "__main__":
    main()
