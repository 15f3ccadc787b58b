"""What applications see through psycopg: COPY into a guarded table, and index builds that are interrupted."""

import json
import sys
import threading
import unittest

import psycopg

from database import connect
from patience import until

WORDS = [f"word{number}" for number in range(600)]
TEXT = " ".join(WORDS)
NEAR = " ".join([*WORDS[:-1], "another"])
OTHER = " ".join(reversed([word * 2 for word in WORDS]))


class WithConnection(unittest.TestCase):
    def setUp(self):
        self.connection = connect()
        self.addCleanup(self.connection.close)
        self.execute("CREATE EXTENSION IF NOT EXISTS pg_simhash")

    def execute(self, statement, *parameters):
        return self.connection.execute(statement, parameters)


class Copy(WithConnection):
    def setUp(self):
        super().setUp()
        self.execute("DROP TABLE IF EXISTS copied")
        self.execute("CREATE TABLE copied (id bigint PRIMARY KEY, body text)")
        self.execute("SELECT simhash_index('copied', 'body')")

    def ids(self):
        return [id for (id,) in self.execute("SELECT id FROM copied ORDER BY id")]

    def copy(self):
        with self.connection.cursor() as cursor:
            with cursor.copy("COPY copied (id, body) FROM STDIN") as copy:
                for row in (1, TEXT), (2, NEAR), (3, OTHER):
                    copy.write_row(row)
            return cursor.statusmessage

    def test_reject(self):
        self.execute("SELECT simhash_guard('copied')")
        with self.assertRaises(psycopg.IntegrityError) as caught:
            self.copy()
        self.assertEqual(caught.exception.diag.sqlstate, "23P01")
        key = json.loads(caught.exception.diag.datatype_name)["key"]
        self.assertEqual((key, self.ids()), ({"id": 1}, []))

    def test_skip(self):
        """COPY counts and stores only the rows that are not skipped."""
        self.execute("SELECT simhash_guard('copied', 'skip')")
        self.assertEqual((self.copy(), self.ids()), ("COPY 2", [1, 3]))

    def test_idle(self):
        """A COPY that waits for its client has released the locks on its last row."""
        self.execute("SELECT simhash_guard('copied')")
        client = connect()
        self.addCleanup(client.close)
        client.pgconn.exec_(b"COPY copied (id, body) FROM STDIN")
        # From PostgreSQL 19 on, COPY may process a row only when the next one begins.
        client.pgconn.put_copy_data(f"2\t{OTHER}\n3\t".encode())
        client.pgconn.flush()
        state = """
            SELECT count(*) FROM pg_stat_progress_copy JOIN pg_stat_activity USING (pid)
            WHERE pid = %s AND tuples_processed = 1 AND wait_event = 'ClientRead'
        """
        locks = "SELECT count(*) FROM pg_locks WHERE pid = %s AND locktype = 'advisory' AND objsubid > 2"
        pid = client.info.backend_pid
        until(lambda: self.execute(state, pid).fetchone() == (1,), "the first row of the COPY")
        self.assertEqual(self.execute(locks, pid).fetchone(), (0,))
        client.pgconn.put_copy_data(b"\\N\n")
        client.pgconn.put_copy_end()
        self.assertEqual(client.pgconn.get_result().status, psycopg.pq.ExecStatus.COMMAND_OK)
        self.assertEqual(self.ids(), [2, 3])


class Interrupted(WithConnection):
    """Index builds that are interrupted while they wait for a transaction, each time they are tried again."""

    def setUp(self):
        super().setUp()
        self.execute("DROP TABLE IF EXISTS interrupted")
        self.execute("CREATE TABLE interrupted (id integer, body text)")
        self.execute("INSERT INTO interrupted SELECT n, 'a text ' || n FROM generate_series(1, 100) AS n")

    def commands(self):
        return [command for (command,) in self.execute("SELECT simhash_index_commands('interrupted', 'body')")]

    def interrupt(self, command):
        with connect() as builder, connect() as holder, holder.transaction(force_rollback=True):
            holder.execute("UPDATE interrupted SET id = id WHERE id = 1")
            threading.Thread(target=self.cancel_waiting, args=(builder.info.backend_pid,), daemon=True).start()
            with self.assertRaisesRegex(psycopg.errors.QueryCanceled, "user request"):
                builder.execute(command)

    def cancel_waiting(self, pid):
        """Cancels what this backend runs as soon as it waits for another session."""
        waiting = "SELECT pg_cancel_backend(%s) WHERE pg_blocking_pids(%s) <> '{}'"
        until(lambda: self.execute(waiting, pid, pid).fetchone(), "a wait for another session")

    def indexes(self):
        query = "SELECT count(*), bool_and(indisvalid) FROM pg_index WHERE indrelid = 'interrupted'::regclass"
        return self.execute(query).fetchone()

    def test_completed(self):
        for _ in range(2):
            for command in self.commands():
                if command.startswith("CREATE"):
                    self.interrupt(command)
                else:
                    self.execute(command)
            self.assertEqual(self.indexes(), (6, False))
        for command in self.commands():
            self.execute(command)
        self.assertEqual(self.indexes(), (6, True))
        self.assertEqual(self.commands(), [])


if __name__ == "__main__":
    sys.exit(unittest.main(argv=sys.argv))
