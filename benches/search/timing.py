"""How long statements take, by pgbench: one client, prepared statements, warm.

Client and server take turns on one CPU, where the system can be told so: waking up another one for each answer takes
longer than a look-up by primary key and would hide what searches cost beside it.
"""

import contextlib
import functools
import itertools
import os
import re
import statistics

from bars import median_ratio
from server import psql, run_pgbench, value

# A run takes RUN_SECONDS, within these bounds on its transactions.
RUN_SECONDS = 0.05 if os.environ.get("QUICK") else 0.5
MIN_TRANSACTIONS, MAX_TRANSACTIONS = 20, 5000
# pgbench reads the clock only when it waits for an answer. The time of an answer that is there at once is counted with
# the next command. So a \set, after which pgbench reads the clock, follows each statement, and both times are added.
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

    def median_ms(self, name):
        return statistics.median(run[name] for run in self.runs)

    def ratio(self, name, other):
        """How many times as long as the other it takes: the median of the runs' ratios."""
        return median_ratio((run[name] for run in self.runs), (run[other] for run in self.runs))


def measure_statements(statements, runs, tables, min_transactions=MIN_TRANSACTIONS):
    """Runs the statements, which are given by name, one after the other in each transaction, and in every other run in
    the opposite order.

    All runs are of one backend, which has touched all of the tables and their btrees: the first time that a process
    uses a page of shared memory takes longer than all else that a look-up does.
    """
    psql("CREATE EXTENSION IF NOT EXISTS pgstattuple")
    touches = [Statement(sql) for table in tables for sql in (
        f"SELECT count(*) FROM {table}",
        "SELECT count(pgstatindex(pg_class.oid::regclass)) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid"
        f" JOIN pg_am ON pg_am.oid = relam WHERE indrelid = '{table}'::regclass AND amname = 'btree'")]
    warm_up = [*touches, *statements.values()]
    (first,) = run_script(warm_up, [statements], min_transactions)
    transactions = min(max(min_transactions, round(RUN_SECONDS * 1e3 / sum(first.values()))), MAX_TRANSACTIONS)
    reversed_statements = dict(reversed(statements.items()))
    rounds = list(itertools.islice(itertools.cycle((statements, reversed_statements)), runs))
    return Times(run_script(warm_up, rounds, transactions))


def run_script(warm_up, rounds, transactions):
    """The milliseconds of each round's statements. The first transaction warms up; each round has `transactions`."""
    script = write_script(warm_up, rounds, transactions)
    with pin_to_one_cpu():
        output = run_pgbench(script, len(rounds) * transactions + 1, plan_cache_mode="force_generic_plan")
    latencies = re.findall(r"^ +([0-9.]+) +\d+ +\S", output.partition("statement latencies")[2], re.MULTILINE)
    lines = script.count("\n")
    if len(latencies) != lines:
        raise RuntimeError(f"pgbench does not report the times of {lines} lines:\n{output}")
    # The latencies of \set and \if, which come first, and of the warm-up are left out.
    return read_latencies(map(float, latencies[2 + script_lines(warm_up).count("\n"):]), rounds)


def write_script(warm_up, rounds, transactions):
    script = f"\\set turn :turn + 1\n\\if :turn = 1\n{script_lines(warm_up)}"
    for number, statements in enumerate(rounds, start=1):
        script += f"\\elif :turn <= {number * transactions + 1}\n{script_lines(statements.values())}"
    return script + "\\endif\n"


def script_lines(statements):
    lines = (line for statement in statements for line in (*statement.setup, f"{statement.sql};"))
    return "".join(f"{line}\n{READ_CLOCK}" for line in lines)


def read_latencies(latencies, rounds):
    """The milliseconds of each round's statements, by the latencies of the lines from the first round on."""
    # Each statement, and the \set that reads the clock after it.
    commands = zip(latencies, latencies)
    times = []
    for statements in rounds:
        next(latencies)  # \elif
        times.append({})
        for name, statement in statements.items():
            for _ in statement.setup:
                next(commands)
            times[-1][name] = sum(next(commands))
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
def pin_to_one_cpu():
    """Meanwhile, this process and the server start processes on one CPU, the last that the server may use."""
    server = postmaster_pid() if hasattr(os, "sched_setaffinity") else None
    if server is None:
        yield
        return
    cpus = {process: os.sched_getaffinity(process) for process in (0, server)}
    for process in cpus:
        os.sched_setaffinity(process, {max(cpus[server])})
    try:
        yield
    finally:
        for process in cpus:
            os.sched_setaffinity(process, cpus[process])
