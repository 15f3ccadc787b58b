"""How long statements take on the PostgreSQL that psql's environment (PGHOST and so on) points to.

They are timed by pgbench: one client, prepared statements, warm. Client and server take turns on one CPU, where
the system can be told so: waking up another one for each answer takes longer than a primary-key lookup and would hide
what searches cost beside it.
"""

import contextlib
import functools
import itertools
import os
import re
import statistics
import subprocess
import tempfile

from bars import ratio
from statements import environment, psql, value

# A run takes RUN_SECONDS, within these bounds on its transactions.
RUN_SECONDS = 0.05 if os.environ.get("QUICK") else 0.5
MIN_TRANSACTIONS, MAX_TRANSACTIONS = 20, 5000
# pgbench reads the clock when it waits for an answer. One that is there before it has to wait costs nothing, and its
# time is counted with the next \set, after which it reads the clock again. So each statement is followed by one.
READ_CLOCK = "\\set clock 0\n"


def warm(*relations):
    """Reads tables and indexes into shared buffers."""
    psql("CREATE EXTENSION IF NOT EXISTS pg_prewarm", *(f"SELECT pg_prewarm('{relation}')" for relation in relations))


class Statement:
    """A statement to be timed, and the commands of pgbench that choose its parameters."""

    def __init__(self, sql, *setup):
        self.sql = " ".join(sql.split())  # a line of the script
        self.setup = setup


class Times:
    """Milliseconds of each statement in each run, by the statement's name."""

    def __init__(self, runs):
        self.runs = runs

    def ms(self, name):
        return statistics.median(run[name] for run in self.runs)

    def ratio(self, name, other):
        """How many times as long as the other it takes: the median of the runs' ratios."""
        return ratio((run[name] for run in self.runs), (run[other] for run in self.runs))


def measure(statements, runs, tables, min_transactions=MIN_TRANSACTIONS):
    """Runs the statements, which are given by name, one after the other in each transaction, and in every other run in
    the opposite order.

    All runs are of one backend, which has touched all of the tables and their btrees: the first time that a process
    uses a page of shared memory takes longer than all else that a lookup does.
    """
    psql("CREATE EXTENSION IF NOT EXISTS pgstattuple")
    touch = [
        Statement(sql)
        for table in tables
        for sql in (
            f"SELECT count(*) FROM {table}",
            "SELECT count(pgstatindex(c.oid::regclass)) FROM pg_index JOIN pg_class AS c ON c.oid = indexrelid"
            f" JOIN pg_am ON pg_am.oid = relam WHERE indrelid = '{table}'::regclass AND amname = 'btree'",
        )
    ]
    before = [*touch, *statements.values()]
    (first,) = run_script(before, [statements], min_transactions)
    transactions = min(max(min_transactions, round(RUN_SECONDS * 1e3 / sum(first.values()))), MAX_TRANSACTIONS)
    opposite = dict(reversed(statements.items()))
    rounds = list(itertools.islice(itertools.cycle((statements, opposite)), runs))
    return Times(run_script(before, rounds, transactions))


def run_script(before, rounds, transactions):
    """Runs some statements once, then each round of statements in a number of transactions; the milliseconds of each
    round's statements."""
    script = write_script(before, rounds, transactions)
    latencies = run_pgbench(script, len(rounds) * transactions + 1)
    # Two lines, \set and \if, come before.
    return read_latencies(latencies[2 + write_lines(before).count("\n"):], rounds)


def write_script(before, rounds, transactions):
    script = f"\\set turn :turn + 1\n\\if :turn = 1\n{write_lines(before)}"
    for number, statements in enumerate(rounds, start=1):
        script += f"\\elif :turn <= {number * transactions + 1}\n{write_lines(statements.values())}"
    return script + "\\endif\n"


def write_lines(statements):
    return "".join(
        f"{line}\n{READ_CLOCK}" for statement in statements for line in (*statement.setup, f"{statement.sql};")
    )


def run_pgbench(script, transactions):
    """The latency of each line of the script, in milliseconds."""
    with one_cpu() as pin, tempfile.NamedTemporaryFile("w", prefix="pg_simhash.", suffix=".sql") as file:
        file.write(script)
        file.flush()
        output = subprocess.run(
            ["pgbench", "-n", "-M", "prepared", "-r", "-t", str(transactions), "--random-seed=1", "-D", "turn=0",
             "-f", file.name],
            check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=environment({"plan_cache_mode": "force_generic_plan"}), preexec_fn=pin,
        ).stdout
    latencies = re.findall(r"^ +([0-9.]+) +\d+ +\S", output.partition("statement latencies")[2], re.MULTILINE)
    commands = script.count("\n")
    if len(latencies) != commands:
        raise RuntimeError(f"pgbench does not report the times of {commands} commands:\n{output}")
    return [float(latency) for latency in latencies]


def read_latencies(latencies, rounds):
    """The milliseconds of each round's statements, by the latencies of the lines from the first round on."""
    rest = iter(latencies)
    pairs = zip(rest, rest)  # each command, and the \set after it
    times = []
    for statements in rounds:
        next(rest)  # \elif
        times.append({})
        for name, statement in statements.items():
            for _ in statement.setup:
                next(pairs)
            times[-1][name] = sum(next(pairs))
    return times


@functools.cache
def postmaster_pid():
    """The server's process ID; None if the server is in a container, where it has another process ID."""
    pid = int(value("SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)"))
    try:
        with open(f"/proc/{pid}/comm", encoding="ascii") as file:
            return pid if file.read().strip() == "postgres" else None
    except FileNotFoundError:
        return None


@contextlib.contextmanager
def one_cpu():
    """While it holds, the server starts its backends on the last CPU that we may use."""
    pid = postmaster_pid() if hasattr(os, "sched_setaffinity") else None
    if pid is None:
        yield None
        return
    before = os.sched_getaffinity(pid)
    cpu = {max(before)}
    os.sched_setaffinity(pid, cpu)
    try:
        yield lambda: os.sched_setaffinity(0, cpu)
    finally:
        os.sched_setaffinity(pid, before)
