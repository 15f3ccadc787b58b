"""A session that runs hostile statements, and what must hold of each of them: the server lives, an error is one of
those that may be, nothing is leaked, and a cancelled statement ends soon."""

import multiprocessing
import os
import re
from collections import Counter, deque
from typing import NamedTuple

import psycopg
from psycopg.types.json import set_json_loads

import database

# The errors that a statement may end with. Any other error is a defect, above all XX000: it is the error of a panic and
# of an unforeseen case, and gives an application no information.
ALLOWED_ERRORS = frozenset(
    # The errors that the reference lists.
    "22023 42501 42809 42701 42710 42703 42804 0A000 42704 2BP01 42602 42622 22004 25001 39P01 22P02 22003 2202E 22021"
    " 54000 54011 53200 23P01 40001 40P01 55000 42P10 42883 42P01"
    # Limits of time and memory, and conflicts with concurrent sessions.
    " 57014 55P03 53400 54001 55006"
    # Values: text that is not Unicode or too long, numbers, arrays, JSON.
    " 22001 22P05 22012 22008 22030 22032 2202H 22000"
    # Rows that violate a constraint, or more rows than a subquery may return.
    " 21000 23502 23503 23505 23514 428C9"
    # Names and types that do not exist, or exist twice.
    " 42P02 42P07 42P06 3F000 42846 42702 42725 42P18 42P38 42611 42P21 42P22"
    # A call in a clause that does not allow it.
    " 42803 42P20 42P16 42P17 42P13 42601 42P19 42P11 54023 0LP01"
    # Statements in a transaction that has ended or failed, or that does not allow them.
    " 25P01 25P02 25006 2D000 3B001 34000 24000 26000 42P05 27000 09000".split()
)
# Most warnings are about a resource that was not released, or memory that was overwritten. These two say that no
# transaction is in progress, and that rows lack a fingerprint.
ALLOWED_WARNINGS = "25P01", "55000"
# Allowed warnings of the extension: the indexes of a query have other options or fewer bands, or a scope has a unique
# key.
OWN_WARNING = re.compile(
    "simhash_near (compares|has other options)|the query('s fingerprint)? has other options|within the scope, no row"
)
# How long a backend may work on a statement beyond its time limit, in seconds of processor time. Other processes do not
# change this, and it is much, because the machine may be slow.
MAX_SECONDS_BEYOND_LIMIT = 20
# The number of statements that have ended, of all clients.
ended_count = multiprocessing.Value("q")
# The functions and the operator that a statement calls.
CALLED = re.compile(r"\b(?:simhash\w*|hamming)(?=\()|<~>")
SETTINGS = {
    "statement_timeout": "3s", "lock_timeout": "500ms", "deadlock_timeout": "100ms", "temp_file_limit": "500MB",
    "client_min_messages": "warning", "idle_in_transaction_session_timeout": "0",
    "max_parallel_workers_per_gather": "2",
}


class Failure(Exception):
    """The extension has done what it must not do."""


class Counts(NamedTuple):
    codes: Counter  # The SQLSTATEs of statements.
    called: Counter  # The functions in statements.
    succeeded: Counter  # The functions in statements that succeeded.
    kinds: Counter  # The kinds of scenarios.


class Client:
    def __init__(self, number):
        self.number = number
        self.last_statements = deque(maxlen=12)
        self.connection = None
        self.counts = Counts(Counter(), Counter(), Counter(), Counter())
        self.connect()

    def connect(self):
        if self.connection:
            self.connection.close()
        name = f"hostile {self.number}"
        self.connection = database.connect(prepare_threshold=None, application_name=name)
        # Python's json refuses documents that are nested as deeply as PostgreSQL allows.
        set_json_loads(lambda document: document, self.connection)
        self.connection.add_notice_handler(self.keep_warning)
        self.warnings = []
        # Loaded now: without memory later, PostgreSQL would report the error of a broken library.
        for library in ("pg_simhash", "plpgsql"):
            self.connection.execute(f"LOAD '{library}'")
        # The first temporary table makes the session's schema for them.
        self.connection.execute("CREATE TEMPORARY TABLE temporary (id integer PRIMARY KEY, body text, f bigint)")
        # Its first page takes memory for local buffers. Without that memory, PostgreSQL ends the session.
        self.connection.execute("INSERT INTO temporary VALUES (0)")
        self.connection.execute("DELETE FROM temporary")
        # Last, so that the limits do not end what the client itself needs.
        self.connection.execute("; ".join(f"SET {name} = '{value}'" for name, value in SETTINGS.items()))
        self.timeout = 3.0

    def keep_warning(self, diagnostics):
        if diagnostics.severity_nonlocalized == "WARNING":
            self.warnings.append((diagnostics.sqlstate, diagnostics.message_primary))

    def run(self, statement):
        """The rows; None if there is an error. An error that is not one of ALLOWED_ERRORS is a Failure."""
        self.last_statements.append(statement)
        time_before = self.processor_time()
        rows, code = self.attempt(statement)
        self.count(statement, rows is not None, code)
        seconds = self.processor_time() - time_before
        if seconds > self.timeout + MAX_SECONDS_BEYOND_LIMIT:
            raise Failure(f"took {seconds:.1f} s of processor time, with a time limit of {self.timeout} s")
        for warning, message in self.warnings:
            # PostgreSQL itself: a result of EXECUTE beyond temp_file_limit is flushed again when its portal is closed.
            is_of_portal = code == "53400" and message == "AbortTransaction while in ABORT state"
            if warning not in ALLOWED_WARNINGS and not OWN_WARNING.match(message) and not is_of_portal:
                raise Failure(f"warning {warning}: {message}")
        self.warnings.clear()
        return rows

    def attempt(self, statement):
        """The rows, which are None if there is an error; and the SQLSTATE."""
        try:
            return self.execute(statement), "00000"
        except psycopg.Error as error:
            if self.connection.closed or error.sqlstate is None:
                raise Failure(f"the connection is lost: {error}") from error
            if error.sqlstate not in ALLOWED_ERRORS:
                where = f" {error.diag.message_detail or ''} {error.diag.context or ''}"
                raise Failure(f"{error.sqlstate}: {error.diag.message_primary}{where}") from error
            return None, error.sqlstate
        except UnicodeDecodeError as error:
            raise Failure(f"the server sent text that is not UTF-8: {error}") from error

    def count(self, statement, has_succeeded, code):
        self.counts.codes[code] += 1
        functions = set(CALLED.findall(statement))
        self.counts.called.update(functions)
        if has_succeeded:
            self.counts.succeeded.update(functions)
        with ended_count.get_lock():
            ended_count.value += 1

    def processor_time(self):
        """The processor time that the backend has used, in seconds."""
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
        """Runs statements one after the other; in a failed transaction, only ROLLBACKs. Then ends the transaction."""
        for statement in statements:
            has_failed = self.connection.info.transaction_status == psycopg.pq.TransactionStatus.INERROR
            if not has_failed or statement.startswith("ROLLBACK"):
                self.run(statement)
        self.leave_transaction()

    def leave_transaction(self):
        if self.connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            self.run("ROLLBACK")

    def set_timeout(self, milliseconds):
        """Returns None if that fails."""
        done = self.run(f"SET statement_timeout = {milliseconds}")
        self.timeout = max(milliseconds / 1000, self.timeout if done is None else 0)
        return done

    def limit_memory(self, more):
        """Until the next connection, limits the backend to this many bytes of address space more than it has now.

        A program that the server runs sets this limit, as only the server's user may. Before that, the stack grows to
        its full size: where a stack cannot grow, the system ends the process, whatever the process does."""
        self.run("SELECT repeat('[', 100000)::jsonb")
        limit = f"$(($(sed -n 's/^VmSize:[^0-9]*\\([0-9]*\\) kB/\\1/p' /proc/$PPID/status) * 1024 + {more}))"
        self.set_timeout(60_000)
        self.execute(f"COPY (SELECT) TO PROGRAM $program$prlimit --pid $PPID --as={limit}:; cat >/dev/null$program$")
        self.set_timeout(3000)
