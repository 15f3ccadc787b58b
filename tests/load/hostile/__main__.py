"""Calls every function of the extension at random, with hostile arguments and in unusual parts of statements.

    python tests/load/hostile [--scenarios N] [--clients N] [--seed N] [--only N] [--huge N]

Needs the server of psql's environment (PGHOST and so on), with pg_simhash, as a superuser, and the packages of
tests/requirements.txt. The run fails if the server crashes, an error has an unexpected SQLSTATE (client.py), a warning
reports an unreleased resource, or a cancelled statement goes on.

The seed determines the scenarios and their statements. A failure prints the seed, the number of the scenario and the
last statements. `--seed N --only NUMBER` runs this scenario again (the tables may differ if there were more clients or
earlier scenarios).
"""

import argparse
import collections
import multiprocessing
import random
import sys
import time
import traceback

import psycopg

import calls
import catalogue
import tables
from client import Client, Failure, ended_count

sys.path.append(f"{sys.path[0]}/..")
import database
from patience import NotReached, until_ended

# The kinds of scenarios, with their weights in the random choice.
WAYS = {"call": 55, "table": 8, "cancelled": 5, "short of memory": 3}


def main():
    options = read_options()
    start, functions = setup(options)
    failures, counts = zip(*run_sessions(options))
    failures = [f"FAILED (seed {options.seed}): {failure}" for failure in failures if failure]
    codes, called, succeeded, ways = (sum(of_sessions, collections.Counter()) for of_sessions in zip(*counts))
    with psycopg.connect() as connection:
        if connection.execute("SELECT pg_postmaster_start_time()").fetchone() != start:
            failures.append("FAILED: the server has been started again")
    if not failures:
        database.drop("pg_simhash_hostile")
    print(*failures, sep="\n", end="\n" * bool(failures), file=sys.stderr)
    print(f"{codes.total()} statements; scenarios: {dict(ways.most_common())}; SQLSTATEs: {dict(codes.most_common())}")
    percentage = lambda name: f"{name} {100 * succeeded[name] / called[name]:.0f}"
    print(f"per cent that succeed: {', '.join(percentage(name) for name in sorted(called))}")
    if failures:
        sys.exit(1)
    # Functions that were called often and never succeeded.
    names = {function.name for function in functions}
    if useless := [name for name in names if called[name] >= 50 and not succeeded[name]]:
        raise NotReached(f"no call succeeded of: {', '.join(useless)}")


def read_options():
    parser = argparse.ArgumentParser(prog="tests/load/hostile")
    parser.add_argument("--scenarios", type=int, default=1000)
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    parser.add_argument("--only", type=int, metavar="NUMBER", help="of a scenario")
    parser.add_argument("--huge", type=int, default=0, metavar="N", help="so many values of up to 1 GB")
    parser.add_argument("--huge-digits", type=float, default=9.03, metavar="N", help="their size is up to 10 ^ N bytes")
    options = parser.parse_args()
    if options.only is not None:
        options.clients, options.huge = 1, 0
    return options


def setup(options):
    database.create("pg_simhash_hostile")
    with psycopg.connect(autocommit=True) as connection:
        connection.execute("SET client_min_messages = error")
        with open(f"{sys.path[0]}/tables.sql") as file:
            connection.execute(file.read())
        for number in range(options.clients):
            connection.execute(f"CREATE SCHEMA own_{number}")
        functions = catalogue.read(connection)
        start = connection.execute("SELECT pg_postmaster_start_time()").fetchone()
        version = connection.execute("SHOW server_version").fetchone()[0]
        assertions = connection.execute("SHOW debug_assertions").fetchone()[0]
    if missing := calls.without_values(functions):
        sys.exit(f"no hostile values are known for arguments of: {', '.join(missing)}")
    print(
        f"seed {options.seed}: {len(functions)} functions, {options.clients} clients, {options.scenarios} scenarios,"
        f" PostgreSQL {version} with assertions {assertions}",
        flush=True,
    )
    return start, [function for function in functions if function.result != "trigger" and not function.takes_internal()]


def run_sessions(options):
    """The failure and the counts of each session."""
    # From Python 3.14 on, a new process does not fork by default, and cannot import a program that is a folder.
    with multiprocessing.get_context("fork").Pool(options.clients) as processes:
        running = [processes.apply_async(run_session, (number, options)) for number in range(options.clients)]
        until_ended(lambda: all(one.ready() for one in running), lambda: ended_count.value, "the end of a statement")
        return [one.get() for one in running]


def run_session(number, options):
    session = Session(number, options)
    return session.run(), (*session.client.counts(), session.ways)


class Session:
    """The scenarios of one client."""

    def __init__(self, number, options):
        self.number, self.options = number, options
        self.client = Client(number)
        self.functions = catalogue.read(self.client.connection)
        self.has_assertions = self.client.run("SHOW debug_assertions") == [("on",)]
        self.ways = collections.Counter()

    def run(self):
        """Runs the scenarios of this session, and returns the failure that has ended them, if any."""
        scenarios = range(self.number, self.options.scenarios, self.options.clients)
        try:
            for scenario in scenarios if self.options.only is None else [self.options.only]:
                self.run_scenario(scenario)
            # Huge values: few, and one at a time.
            scenario, rng = "huge", random.Random(f"{self.options.seed} huge")
            for _ in range(self.options.huge if self.number == 0 else 0):
                self.client.set_timeout(rng.choice((20_000, 60_000)))
                self.client.run_all([calls.huge_call(rng, self.options.huge_digits)])
            return None
        except Exception as failure:
            known = str(failure) if isinstance(failure, Failure) else traceback.format_exc()
            last = "\n    ".join(statement[:3000] for statement in self.client.last_statements)
            return f"scenario {scenario}: {known}\n  the last statements:\n    {last}"

    def run_scenario(self, number):
        rng = random.Random(f"{self.options.seed} {number}")
        [way] = rng.choices(list(WAYS), WAYS.values())
        self.ways[way] += 1
        random_calls = calls.Calls(rng, rng.choice((20, 100, 400, 3000)))
        run = self.client.run_all
        if self.has_assertions and rng.random() < 0.01:
            # PostgreSQL then reads all caches again at each use, as after changes by others.
            run(["SET debug_discard_caches = 1"])
        if way == "call":
            for _ in range(8):
                run(random_calls.statements(rng.choice(self.functions)))
        elif way == "table":
            tables.Table(rng, self.client, rng.choice((f"own_{self.number}", "pg_temp"))).live(rng.randint(5, 25))
        elif way == "cancelled":
            self.client.set_timeout(rng.choice((1, 2, 5, 20, 50)))
            for _ in range(10):
                run(random_calls.statements(rng.choice(self.functions)))
            # The SET may itself be cancelled.
            while self.client.set_timeout(3000) is None:
                self.client.leave_transaction()
        elif way == "short of memory":
            # Without memory for a library, PostgreSQL reports the error of a broken library.
            self.client.run("SET jit = off")
            self.client.limit_memory(int(10 ** rng.uniform(5.5, 8)))
            try:
                for _ in range(5):
                    statements = random_calls.statements(rng.choice(self.functions))
                    run(statements if rng.random() < 0.5 else [calls.huge_call(rng, 7.5)])
            finally:
                self.client.connect()
        if self.has_assertions:
            run(["SET debug_discard_caches = 0"])
        # Now and then, use a new backend, with empty caches.
        if rng.random() < 0.02:
            self.client.connect()


if __name__ == "__main__":
    main()
