"""Shared by the tests of tables on several servers, by Citus or by postgres_fdw: the servers, searches and their
comparison with a copy, clients that write at the same time, and expected errors.

The script `run` beside such a program starts the servers, runs docs/servers.md on them, and calls the program with
their addresses, NAME=[USER@]HOST:PORT: first the server that clients connect to, then the two that have the rows.
"""

import contextlib
import functools
import random
import re
import sys
import threading
import unittest

import psycopg

import database

ADDRESS = re.compile(r"(\w+)=(?:\w+@)?(.+):(\d+)")
SERVERS = {name: (host, port) for name, host, port in (ADDRESS.fullmatch(word).groups() for word in sys.argv[1:])}
ENTRY, *OTHERS = SERVERS

# Fingerprints that differ from that of a group in at most two bits.
NEAR_FINGERPRINT_SQL = """
CREATE FUNCTION near_fingerprint(group_number integer, noise integer) RETURNS bigint IMMUTABLE LANGUAGE sql
    RETURN hashint8extended(group_number, 0) # (1::bigint << noise % 64) # (1::bigint << noise / 64 % 64);
"""
# Texts that share words with their neighbours.
WORDS_SQL = """
CREATE FUNCTION words(first bigint, count integer) RETURNS text IMMUTABLE LANGUAGE sql
    RETURN (SELECT string_agg(substr(md5(n::text), 1, 7), ' ') FROM generate_series(first, first + count - 1) AS n);
"""
# Searches by a query $1 within a distance $2, of a table.
SEARCHES = {
    "simhash_near": "SELECT id FROM {table} WHERE simhash_near(fp, $1, $2)",
    "<~> and <=": "SELECT id FROM {table} WHERE fp <~> $1 <= $2",
    "hamming and <": "SELECT id FROM {table} WHERE $2 + 1 > hamming($1, fp)",
    "several columns": "SELECT id, tenant, fp, fp <~> $1 FROM {table} WHERE simhash_near($1, fp, $2)",
    "count": "SELECT count(*) FROM {table} WHERE simhash_near(fp, $1, $2)",
    "order": "SELECT id FROM {table} WHERE simhash_near(fp, $1, $2) ORDER BY fp <~> $1, id LIMIT 5",
    "tenant": "SELECT id FROM {table} WHERE tenant = 2 AND simhash_near(fp, $1, $2)",
    "UPDATE": "UPDATE {table} SET fp = fp # 1 WHERE simhash_near(fp, $1, $2) RETURNING id",
    "DELETE": "DELETE FROM {table} WHERE simhash_near(fp, $1, $2) RETURNING id",
}
# The errors after which an application tries again.
RETRIED = psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure, psycopg.errors.LockNotAvailable


def connect(server=ENTRY, dbname="app"):
    host, port = SERVERS[server]
    return database.connect("-c client_min_messages=notice", host=host, port=port, dbname=dbname, user="postgres")


class Comparison:
    """Searches of tables, each of which must return the rows that it returns of a copy on the first server."""

    def __init__(self):
        self.connection = None
        self.rng = random.Random(7)
        self.failures = self.compared = 0

    def check(self, label, is_right, *facts):
        if not is_right:
            self.failures += 1
            print("FAILED:", label, *(str(fact)[:2000] for fact in facts), file=sys.stderr)

    def check_rows(self, label, rows, expected):
        self.compared += 1
        self.check(label, rows == expected, f"{len(rows)} rows instead of {len(expected)}")

    def rows(self, statement):
        """The sorted rows of a statement, which is undone."""
        with self.connection.transaction(force_rollback=True):
            return sorted(self.connection.execute(statement).fetchall())

    def plan(self, statement):
        with self.connection.transaction(force_rollback=True):
            return [line for (line,) in self.connection.execute(f"EXPLAIN (COSTS OFF) {statement}")]

    def value(self, query):
        return self.connection.execute(query).fetchone()[0]

    @contextlib.contextmanager
    def prepared(self, search, table):
        statement = search.format(table=table)
        try:
            self.connection.execute(f"PREPARE search (bigint, integer) AS {statement}")
            yield
            self.connection.execute("DEALLOCATE search")
        except psycopg.Error:
            print("FAILED:", statement, file=sys.stderr)
            raise

    def exit_with_result(self):
        print(f"{self.compared} searches compared, {self.failures} failures")
        sys.exit(self.failures > 0)


class DistributedTest(unittest.TestCase):
    database = "app"

    @classmethod
    def connect(cls, server=ENTRY):
        return connect(server, cls.database)

    @classmethod
    def on(cls, server, *commands):
        """Runs statements, and returns the rows of the last one."""
        with cls.connect(server) as connection:
            for command in commands:
                result = connection.execute(command)
            return result.fetchall() if result.description else []

    @contextlib.contextmanager
    def fails(self, code, *texts):
        """Expects an error with this SQLSTATE; its message, detail or hint has each text."""
        with self.assertRaises(psycopg.Error) as raised:
            yield
        self.diag = diag = raised.exception.diag
        said = "\n".join(filter(None, (diag.message_primary, diag.message_detail, diag.message_hint)))
        said = " ".join((said or str(raised.exception)).split())
        self.assertEqual(raised.exception.sqlstate, code, said)
        for text in texts:
            self.assertIn(text, said)

    def write(self, insert, servers=(ENTRY,), *, clients, rows, groups):
        """Inserts rows, of which many are near each other, by several clients through these servers. Returns how many
        were stored, refused, and left out after an error of RETRIED."""
        counts = {"stored": 0, "refused": 0, "retried": 0}
        lock, errors = threading.Lock(), []

        def write_rows(number):
            rng = random.Random(number)
            try:
                with self.connect(servers[number % len(servers)]) as connection:
                    for id in range(number * 10**9, number * 10**9 + rows):
                        row = {"tenant": rng.randrange(12), "group": rng.randrange(groups), "bit": rng.randrange(64)}
                        outcome = insert_row(connection, row | {"id": id})
                        with lock:
                            counts[outcome] += 1
            except Exception as error:  # noqa: BLE001 - it fails the test, in its own thread
                errors.append(error)

        def insert_row(connection, row):
            try:
                return "stored" if connection.execute(insert, row).rowcount else "refused"
            except psycopg.errors.ExclusionViolation:
                return "refused"
            except RETRIED:
                return "retried"

        run_in_threads([functools.partial(write_rows, number) for number in range(clients)])
        self.assertEqual(errors, [])
        print(f"{self.id()}: {counts}", flush=True)
        return counts


def run_in_threads(functions):
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
