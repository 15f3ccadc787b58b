"""How long statements take on the PostgreSQL that psql's environment (PGHOST and so on) points to.

They are timed by pgbench: one client, prepared statements, warm. Client and server take turns on one CPU, where
the system can be told so: waking up another one for each answer takes longer than a primary-key lookup and would hide
what searches cost beside it.
"""

import functools
import itertools
import os
import re
import statistics
import subprocess
import tempfile

from statements import environment, psql, value

# A run takes so long, unless that would be fewer or more transactions than these.
RUN_SECONDS = 0.05 if os.environ.get("QUICK") else 0.5
MIN_TRANSACTIONS, MAX_TRANSACTIONS = 20, 5000


def warm(*relations):
    """Reads them into shared buffers."""
    psql("CREATE EXTENSION IF NOT EXISTS pg_prewarm", client_min_messages="warning")
    psql("CREATE EXTENSION IF NOT EXISTS pgstattuple", client_min_messages="warning")
    for relation in relations:
        psql(f"SELECT pg_prewarm('{relation}')")


class Way:
    """A statement to be timed, and the commands of pgbench that choose its parameters."""

    def __init__(self, statement, *setup):
        self.statement = " ".join(statement.split())  # a line of the script
        self.setup = setup


class Times:
    """Milliseconds of each way in each run."""

    def __init__(self, runs):
        self.runs = runs

    def ms(self, way):
        return statistics.median(run[way] for run in self.runs)

    def ratio(self, way, other):
        """How many times as long as the other it takes: the median of the runs' ratios."""
        return statistics.median(run[way] / run[other] for run in self.runs)


def measure(ways, runs, tables, least=MIN_TRANSACTIONS, **settings):
    """Runs the ways in turns, one after the other in each transaction, and in every other run in the opposite order.

    All runs are of one backend, which has touched all of the tables and their btrees: the first time that a process
    uses a page of shared memory takes longer than all else that a lookup does.
    """
    settings = {"plan_cache_mode": "force_generic_plan", **settings}
    touch = [
        Way(statement)
        for table in tables
        for statement in (
            f"SELECT count(*) FROM {table}",
            f"SELECT count(pgstatindex(c.oid::regclass)) FROM pg_index JOIN pg_class AS c ON c.oid = indexrelid"
            f" JOIN pg_am ON pg_am.oid = relam WHERE indrelid = '{table}'::regclass AND amname = 'btree'",
        )
    ]
    (first,) = run_script([*touch, *ways.values()], [ways], least, settings)
    transactions = min(max(least, round(RUN_SECONDS * 1e3 / sum(first.values()))), MAX_TRANSACTIONS)
    opposite = dict(reversed(ways.items()))
    orders = list(itertools.islice(itertools.cycle((ways, opposite)), runs))
    return Times(run_script([*touch, *ways.values()], orders, transactions, settings))


# pgbench reads the clock when it waits for an answer. One that is there before it has to wait costs nothing, and its
# time is counted with the next \set, after which it reads the clock again. So each statement is followed by one.
READ_CLOCK = "\\set clock 0\n"


def run_script(before, rounds, transactions, settings):
    """Runs some ways once, then each round of ways in so many transactions; the milliseconds of each round's ways."""

    def lines(ways):
        return "".join(
            "".join(f"{line}\n{READ_CLOCK}" for line in way.setup) + f"{way.statement};\n{READ_CLOCK}" for way in ways
        )

    script = f"\\set turn :turn + 1\n\\if :turn = 1\n{lines(before)}"
    for number, ways in enumerate(rounds, start=1):
        script += f"\\elif :turn <= {number * transactions + 1}\n{lines(ways.values())}"
    script += "\\endif\n"
    with one_cpu() as pin, tempfile.NamedTemporaryFile("w", prefix="pg_simhash.", suffix=".sql") as file:
        file.write(script)
        file.flush()
        output = subprocess.run(
            ["pgbench", "-n", "-M", "prepared", "-r", "-t", str(len(rounds) * transactions + 1), "--random-seed=1",
             "-D", "turn=0", "-f", file.name],
            check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment(settings),
            preexec_fn=pin,
        ).stdout
    latencies = re.findall(r"^ +([0-9.]+) +\d+ +\S", output.partition("statement latencies")[2], re.MULTILINE)
    if len(latencies) != script.count("\n"):
        raise RuntimeError(f"pgbench does not tell the times of {script.count(chr(10))} commands:\n{output}")
    rest = iter(latencies[2 + lines(before).count("\n"):])
    times = []
    for ways in rounds:
        next(rest)  # \elif
        times.append({})
        for name, way in ways.items():
            for _ in way.setup:
                next(rest), next(rest)
            times[-1][name] = float(next(rest)) + float(next(rest))
    return times


@functools.cache
def postmaster():
    """The server's process; None if it is in a system of its own, where it has another number."""
    process = int(value("SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)"))
    try:
        with open(f"/proc/{process}/comm", encoding="ascii") as file:
            return process if file.read().strip() == "postgres" else None
    except FileNotFoundError:
        return None


class one_cpu:
    """While it holds, the server starts its backends on the last CPU that we may use."""

    def __enter__(self):
        self.postmaster = postmaster() if hasattr(os, "sched_setaffinity") else None
        if self.postmaster is None:
            return None
        self.before = os.sched_getaffinity(self.postmaster)
        cpu = {max(self.before)}
        os.sched_setaffinity(self.postmaster, cpu)
        return lambda: os.sched_setaffinity(0, cpu)

    def __exit__(self, *error):
        if self.postmaster is not None:
            os.sched_setaffinity(self.postmaster, self.before)
