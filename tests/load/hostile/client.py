"""A session that runs hostile statements, and what must hold of each of them: the server lives, an error is one of
those that may be, nothing is leaked, and a cancelled statement ends soon."""

import collections
import multiprocessing
import os
import re

import psycopg

import errors

# How long a backend may work on a statement beyond its time limit, in seconds of processor time. Other processes do not
# change this, and it is much, because the machine may be slow.
MOST_BEYOND_LIMIT = 20
# The number of statements that have ended, of all clients.
ended = multiprocessing.Value("q")
# What is called by a statement.
CALLED = re.compile(r"\b(?:simhash\w*|hamming)(?=\()|<~>")
SETTINGS = {
    "statement_timeout": "3s",
    "lock_timeout": "500ms",
    "deadlock_timeout": "100ms",
    "temp_file_limit": "500MB",
    "client_min_messages": "warning",
    "idle_in_transaction_session_timeout": "0",
    "max_parallel_workers_per_gather": "2",
}


class Failure(Exception):
    """A promise is broken."""


class Client:
    def __init__(self, number, journal):
        self.number, self.journal = number, journal
        self.connection = None
        self.codes = collections.Counter()
        # Functions in statements that succeeded, and in all; claims that were true.
        self.succeeded, self.called, self.held = collections.Counter(), collections.Counter(), collections.Counter()
        self.connect()

    def connect(self):
        if self.connection:
            self.connection.close()
        self.connection = psycopg.connect(
            autocommit=True, prepare_threshold=None, application_name=f"hostile {self.number}"
        )
        self.connection.add_notice_handler(self.notice)
        self.warnings = []
        # Without memory, PostgreSQL says of a library what it says of one that is broken.
        for library in ("pg_simhash", "plpgsql"):
            self.connection.execute(f"LOAD '{library}'")
        # A table of one's own makes the schema for such.
        self.connection.execute("CREATE TEMP TABLE temporary (id integer PRIMARY KEY, body text, f bigint)")
        # Its first page takes memory for temporary tables, for lack of which PostgreSQL ends a session.
        self.connection.execute("INSERT INTO temporary VALUES (0)")
        self.connection.execute("DELETE FROM temporary")
        # Last, so that the limits do not end what the client itself needs.
        self.connection.execute("; ".join(f"SET {name} = '{value}'" for name, value in SETTINGS.items()))
        self.timeout = 3.0

    def counts(self):
        return self.codes, self.called, self.succeeded, self.held

    def notice(self, diagnostics):
        if diagnostics.severity_nonlocalized == "WARNING":
            self.warnings.append((diagnostics.sqlstate, diagnostics.message_primary))

    def run(self, statement):
        """The rows; None if there is an error. An error that may not be is a Failure."""
        self.journal.write(statement)
        worked = self.processor_time()
        try:
            rows = self.execute(statement)
            code = "00000"
        except psycopg.Error as error:
            rows, code = None, error.sqlstate
            if self.connection.closed or code is None:
                raise Failure(f"the connection is lost: {error}") from error
            if not errors.allowed(code):
                where = f" {error.diag.message_detail or ''} {error.diag.context or ''}"
                raise Failure(f"{code}: {error.diag.message_primary}{where}") from error
        except UnicodeDecodeError as error:
            raise Failure(f"the server sent what is no UTF-8: {error}") from error
        self.codes[code] += 1
        functions = set(CALLED.findall(statement))
        self.called.update(functions)
        if rows is not None:
            self.succeeded.update(functions)
        with ended.get_lock():
            ended.value += 1
        worked = self.processor_time() - worked
        if worked > self.timeout + MOST_BEYOND_LIMIT:
            raise Failure(f"took {worked:.1f} s of processor time, with a time limit of {self.timeout} s")
        for warning in self.warnings:
            if not errors.allowed_warning(warning[0]):
                raise Failure(f"warning {warning[0]}: {warning[1]}")
        self.warnings.clear()
        return rows

    def processor_time(self):
        """Of the backend, in seconds."""
        with open(f"/proc/{self.connection.info.backend_pid}/stat") as stat:
            # After the name in parentheses: the 12th and 13th fields, in user and system mode.
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def execute(self, statement):
        # No placeholders: the statement is sent as it is.
        cursor = self.connection.cursor()
        if statement.startswith("COPY") and statement.endswith("STDOUT"):
            with cursor.copy(statement) as copy:
                return [bytes(part) for part in copy]
        cursor.execute(statement)
        return cursor.fetchall() if cursor.description else []

    def run_all(self, statements):
        """One after the other, also after an error; whatever became of them, no transaction is left."""
        for statement in statements:
            if self.connection.info.transaction_status != psycopg.pq.TransactionStatus.INERROR or statement.startswith(
                "ROLLBACK"
            ):
                self.run(statement)
        self.leave_transaction()

    def leave_transaction(self):
        if self.connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            self.run("ROLLBACK")

    def hold(self, claim, name=None):
        """A claim in SQL that must be true or NULL, unless it ends with an error that may be."""
        rows = self.run(claim)
        if rows and rows[0][0] is False:
            raise Failure(f"does not hold: {claim}")
        if rows and rows[0][0] is True:
            self.held[name] += 1

    def set_timeout(self, milliseconds):
        """None if that fails."""
        done = self.run(f"SET statement_timeout = {milliseconds}")
        self.timeout = max(milliseconds / 1000, self.timeout if done is None else 0)
        return done

    def limit_memory(self, more):
        """The backend gets no more than so many bytes of address space above what it has, until the next connection.

        By a program that the server runs, as only the server's user may do that. The stack has all that it may have
        before: where it cannot grow, the system ends the process, whatever that does."""
        self.run("SELECT repeat('[', 100000)::jsonb")
        limit = f"$(($(sed -n 's/^VmSize:[^0-9]*\\([0-9]*\\) kB/\\1/p' /proc/$PPID/status) * 1024 + {more}))"
        self.set_timeout(60_000)
        self.execute(f"COPY (SELECT) TO PROGRAM $program$prlimit --pid $PPID --as={limit}:; cat >/dev/null$program$")
        self.set_timeout(3000)
