"""A client that writes to the table and to a journal. It follows the rules for applications: a transaction that fails
with 23P01 has a near-duplicate; after 40001, 40P01, or a failure because of an index that is being rebuilt, it is run
again. If the connection is lost, the transaction is undone, unless it was about to commit: then its fate is unknown."""

import random
from contextlib import contextmanager
from time import monotonic

import psycopg

import database
from journal import COMMITTED, UNDONE, UNKNOWN, Journal, Transaction
from patience import until
from pool import tenant_of

KNOWN_ROWS = 600
ROWS_OF_A_CLIENT = 100_000_000
# Rows with the first ids, which all clients upsert and update, and nobody deletes.
HOT_ROWS = 5
RETRIES = 5
LEVELS = ("READ COMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE")

# Shared by the clients: an array of rows that are in the table, or were; the number of committed transactions; and an
# event at which the clients end.
known_rows = committed = all_done = None


def run(*arguments):
    return Client(*arguments).run()


def set_shared(*shared):
    global known_rows, committed, all_done
    known_rows, committed, all_done = shared


class Lost(Exception):
    """The connection is lost. The transaction is undone, unless it was about to commit."""


def is_key_being_rebuilt(error):
    """Whether the keys of rows were being rebuilt: then ON CONFLICT may fail, as PostgreSQL's page on INSERT says. In a
    partition, PostgreSQL 15 may then miss the index (ExecInitPartitionInfo)."""
    is_of_new_index = error.sqlstate == "23505" and "_pkey_cc" in error.diag.constraint_name
    return is_of_new_index or error.diag.message_primary == "invalid arbiter index list"


class Client:
    def __init__(self, number, action, texts, tenants, seed):
        self.number, self.action, self.texts, self.tenants = number, action, texts, tenants
        self.rng = random.Random(f"{seed} {number}")
        self.last_id = number * ROWS_OF_A_CLIENT
        self.last_transaction = 0
        # Rows that this client has put out of `known_rows`, and deletes, so that the table does not grow.
        self.forgotten_rows = []
        self.journal = Journal()
        self.connection = None

    def run(self):
        while not all_done.is_set():
            plan = self.rng.random()
            for _ in range(RETRIES):
                if self.try_transaction(random.Random(plan)):
                    break
        if self.connection:
            self.connection.close()
        return self.journal

    def try_transaction(self, rng):
        """Runs a random transaction, and returns whether it need not be tried again."""
        self.last_transaction += 1
        self.transaction = Transaction(self.journal, (self.number, self.last_transaction))
        try:
            self.connect()
            self.execute(f"BEGIN ISOLATION LEVEL {rng.choice(LEVELS)}")
            deleted = 0
            # Hot rows have transactions of their own: with other rows, in any order, they would cause deadlocks.
            if rng.random() < 0.3:
                self.write_hot(rng)
            else:
                deleted = len(self.forgotten_rows)
                for id in self.forgotten_rows:
                    self.delete(rng, id)
                for _ in range(rng.randint(1, 4)):
                    (self.write_in_savepoint if rng.random() < 0.3 else self.write)(rng)
            if rng.random() < 0.15:
                self.execute("ROLLBACK")
                self.transaction.close(UNDONE)
                self.journal.count("rolled back")
            else:
                self.commit()
                del self.forgotten_rows[:deleted]
            return True
        except Lost:
            self.connection = None
            self.transaction.close(UNDONE)
            self.journal.count("connection lost")
            return False
        except psycopg.Error as error:
            try:
                self.connection.execute("ROLLBACK")
            except psycopg.Error:
                self.connection = None
            self.transaction.close(UNDONE)
            self.journal.count(error.sqlstate)
            if error.sqlstate in ("40001", "40P01") or is_key_being_rebuilt(error):
                return False
            if error.sqlstate != "23P01":
                raise
            return True

    def connect(self):
        if self.connection is None:
            self.connection = until(self.try_to_connect, "a connection to the server")

    def try_to_connect(self):
        """A connection; None while the server starts again."""
        try:
            return database.connect(application_name="soak")
        except psycopg.OperationalError:
            return None

    @contextmanager
    def raising_lost(self):
        """Raises Lost for an error that means that the connection is lost."""
        try:
            yield
        except psycopg.Error as error:
            # An error of libpq has no SQLSTATE. 57P02: another backend was killed.
            if error.sqlstate in (None, "57P01", "57P02", "57P03") or self.connection.closed:
                self.connection.close()
                raise Lost from error
            raise

    def execute(self, statement, parameters=None):
        with self.raising_lost():
            return self.connection.execute(statement, parameters)

    def commit(self):
        written = [entry.id for entry in self.transaction.entries]
        try:
            self.execute("COMMIT")
        except Lost:
            self.connection = None
            self.transaction.close(UNKNOWN)
            self.journal.count("unknown")
            return
        self.transaction.close(COMMITTED)
        self.journal.count("committed")
        with committed.get_lock():
            committed.value += 1
        for id in filter(lambda id: id > HOT_ROWS, written):
            place = self.rng.randrange(KNOWN_ROWS)
            if known_rows[place]:
                self.forgotten_rows.append(known_rows[place])
            known_rows[place] = id

    def write_in_savepoint(self, rng):
        savepoint = self.transaction.savepoint()
        self.execute("SAVEPOINT s")
        try:
            self.write(rng)
            is_undone = rng.random() < 0.4
        except psycopg.errors.ExclusionViolation:
            self.journal.count("23P01 in savepoint")
            is_undone = True
        if is_undone:
            self.execute("ROLLBACK TO SAVEPOINT s")
            self.transaction.close(UNDONE, savepoint)
        self.execute("RELEASE SAVEPOINT s")

    def write(self, rng):
        rng.choice((self.insert, self.insert, self.copy, self.update_text, self.update_note, self.delete))(rng)

    def write_hot(self, rng):
        id = rng.randint(1, HOT_ROWS)
        rng.choice((self.upsert, self.upsert, self.update_text, self.update_note))(rng, id)

    def make_rows(self, count, rng):
        """New ids, each with the number of a random text."""
        rows = []
        for _ in range(count):
            self.last_id += 1
            rows.append((self.last_id, rng.randrange(len(self.texts))))
        return rows

    def columns(self, text_number):
        """The values of the columns text_number, tenant and body."""
        return text_number, tenant_of(text_number, self.tenants), self.texts[text_number]

    def insert(self, rng):
        rows = self.make_rows(rng.choice((1, 1, 1, 2, 5)), rng)
        values = [value for id, text_number in rows for value in (id, *self.columns(text_number))]
        placeholders = ", ".join(["(%s, %s, %s, %s)"] * len(rows))
        with self.recording_rejection(rows) as started:
            stored = self.execute(
                f"INSERT INTO soak (id, text_number, tenant, body) VALUES {placeholders} RETURNING id, mark", values
            )
            self.record_stored(rows, dict(stored), started)

    def copy(self, rng):
        rows = self.make_rows(rng.randint(1, 8), rng)
        with self.recording_rejection(rows) as started:
            with self.raising_lost(), self.connection.cursor() as cursor:
                with cursor.copy("COPY soak (id, text_number, tenant, body) FROM STDIN") as copy:
                    for id, text_number in rows:
                        copy.write_row((id, *self.columns(text_number)))
            stored = self.execute("SELECT id, mark FROM soak WHERE id = ANY (%s)", ([id for id, _ in rows],))
            self.record_stored(rows, dict(stored), started)

    def record_stored(self, rows, marks, started):
        """Records what became of new rows. `marks` has the mark of each row that was stored."""
        stored_before = []
        for id, text_number in rows:
            if id in marks:
                self.transaction.record_version(id, text_number, started, mark=marks[id])
                stored_before.append((id, text_number))
                self.journal.count("row stored" if marks[id] is None else "row marked")
            else:
                if self.action != "skip":
                    raise RuntimeError(f"row {id} was neither stored nor rejected")
                self.transaction.record_finding([(id, text_number)], list(stored_before), started)
                self.journal.count("row skipped")

    @contextmanager
    def recording_rejection(self, rows):
        started = monotonic()
        try:
            yield started
        except psycopg.errors.ExclusionViolation as error:
            if self.action != "reject":
                raise RuntimeError("the guard has rejected a row") from error
            self.transaction.record_finding(rows, rows, started)
            raise

    def upsert(self, rng, id):
        text_number = rng.randrange(len(self.texts))
        with self.recording_rejection([(id, text_number)]) as started:
            stored = self.execute(
                "INSERT INTO soak (id, text_number, tenant, body) VALUES (%s, %s, %s, %s)"
                " ON CONFLICT (id) DO UPDATE SET text_number = excluded.text_number, tenant = excluded.tenant,"
                " body = excluded.body, note = 0 RETURNING note, mark",
                (id, *self.columns(text_number)),
            ).fetchone()
        # Only now is the row locked for certain.
        locked_at = monotonic()
        if stored is None:
            self.transaction.record_finding([(id, text_number)], [], started)
            self.journal.count("upsert skipped")
        elif stored[0] is None:
            self.transaction.record_version(id, text_number, started, locked_at=locked_at, mark=stored[1])
            self.journal.count("upsert inserted")
        else:
            self.transaction.record_end(id, False, locked_at)
            self.transaction.record_version(id, text_number, started, False, locked_at, mark=stored[1])
            self.journal.count("upsert updated")

    def update_text(self, rng, id=None):
        row = self.lock_row(rng, id)
        if row:
            (id,) = row
            text_number = rng.randrange(len(self.texts))
            with self.recording_rejection([(id, text_number)]) as started:
                updated = self.execute(
                    "UPDATE soak SET text_number = %s, tenant = %s, body = %s WHERE id = %s RETURNING mark",
                    (*self.columns(text_number), id),
                ).fetchone()
            if updated:
                self.transaction.record_end(id, False, started)
                self.transaction.record_version(id, text_number, started, False, mark=updated[0])
                self.journal.count("text updated")
            else:
                self.transaction.record_finding([(id, text_number)], [], started)
                self.journal.count("update skipped")

    def update_note(self, rng, id=None):
        self.execute("UPDATE soak SET note = %s WHERE id = %s", (rng.randrange(1000), id or self.known_row(rng)))
        self.journal.count("note updated")

    def delete(self, rng, id=None):
        row = self.lock_row(rng, id)
        if row:
            started = monotonic()
            self.execute("DELETE FROM soak WHERE id = %s", row)
            self.transaction.record_end(row[0], True, started)
            self.journal.count("row deleted")

    def known_row(self, rng):
        return known_rows[rng.randrange(KNOWN_ROWS)]

    def lock_row(self, rng, id=None):
        id = id or self.known_row(rng)
        return self.execute("SELECT id FROM soak WHERE id = %s FOR UPDATE", (id,)).fetchone()
