"""Calls every function of the extension at random, with hostile arguments and in unusual parts of statements.

    python tests/load/hostile [--scenarios N] [--clients N] [--seed N] [--only N] [--huge N]

The run fails if the server crashes, an error has an unexpected SQLSTATE (client.py), a warning reports an unreleased
resource, or a cancelled statement goes on.

The seed determines the scenarios and their statements. A failure prints the seed, the number of the scenario and the
last statements. `--seed N --only NUMBER` runs this scenario again (the tables may differ if there were more clients or
earlier scenarios).
"""

import argparse
import multiprocessing
import random
import sys
import time
import traceback
from collections import Counter
from contextlib import contextmanager

import calls
import catalogue
import database
import tables
from client import Client, Counts, Failure, ended_count
from patience import NotReached, until_ended

# The kinds of scenarios, each run by a method of Session, with their weights in the random choice.
SCENARIOS = {"calls": 55, "table": 8, "cancelled": 5, "short_of_memory": 3}


def main():
    options = read_options()
    start, functions = setup(options)
    failures, counts_of_sessions = zip(*run_sessions(options))
    failures = [f"FAILED (seed {options.seed}): {failure}" for failure in failures if failure]
    counts = Counts(*(sum(counters, Counter()) for counters in zip(*counts_of_sessions)))
    with database.connect() as connection:
        if connection.execute("SELECT pg_postmaster_start_time()").fetchone() != start:
            failures.append("FAILED: the server has been started again")
    if not failures:
        database.drop("pg_simhash_hostile")
    print(*failures, sep="\n", end="\n" * bool(failures), file=sys.stderr)
    kinds, codes = (dict(counter.most_common()) for counter in (counts.kinds, counts.codes))
    print(f"{counts.codes.total()} statements; scenarios: {kinds}; SQLSTATEs: {codes}")
    shares = (f"{name} {100 * counts.succeeded[name] / called:.0f}" for name, called in sorted(counts.called.items()))
    print(f"per cent that succeed: {', '.join(shares)}")
    if failures:
        sys.exit(1)
    # Functions that were called often and never succeeded.
    names = {function.name for function in functions}
    if useless := [name for name in names if counts.called[name] >= 50 and not counts.succeeded[name]]:
        raise NotReached(f"no call succeeded of: {', '.join(useless)}")


def read_options():
    parser = argparse.ArgumentParser(prog="tests/load/hostile")
    parser.add_argument("--scenarios", type=int, default=1000)
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    parser.add_argument("--only", type=int, metavar="NUMBER", help="of a scenario")
    parser.add_argument("--huge", type=int, default=0, metavar="N", help="this number of values of up to 1 GB")
    parser.add_argument("--huge-digits", type=float, default=9.03, metavar="N", help="their size is up to 10 ^ N bytes")
    options = parser.parse_args()
    if options.only is not None:
        options.clients, options.huge = 1, 0
    return options


def setup(options):
    database.create("pg_simhash_hostile")
    with database.connect() as connection:
        database.run_script(connection, "hostile/tables.sql")
        for number in range(options.clients):
            connection.execute(f"CREATE SCHEMA own_{number}")
        functions = catalogue.read_functions(connection)
        start = connection.execute("SELECT pg_postmaster_start_time()").fetchone()
        version = connection.execute("SHOW server_version").fetchone()[0]
        assertions = connection.execute("SHOW debug_assertions").fetchone()[0]
    if missing := calls.functions_without_values(functions):
        sys.exit(f"no hostile values are known for arguments of: {', '.join(missing)}")
    print(
        f"seed {options.seed}: {len(functions)} functions, {options.clients} clients, {options.scenarios} scenarios,"
        f" PostgreSQL {version} with assertions {assertions}",
        flush=True,
    )
    return start, [function for function in functions if function.result != "trigger" and not function.takes_internal()]


def run_sessions(options):
    """The failure of each session, if any, and its counts."""
    # Python 3.14 starts new interpreters by default. These cannot import a program that is a folder.
    with multiprocessing.get_context("fork").Pool(options.clients) as processes:
        results = [processes.apply_async(run_session, (number, options)) for number in range(options.clients)]
        until_ended(
            lambda: all(result.ready() for result in results), lambda: ended_count.value, "the end of a statement"
        )
        return [result.get() for result in results]


def run_session(number, options):
    session = Session(number, options)
    return session.run(), session.client.counts


class Session:
    """The scenarios of one client."""

    def __init__(self, number, options):
        self.number, self.options = number, options
        self.client = Client(number)
        self.functions = catalogue.read_functions(self.client.connection)
        self.has_assertions = self.client.run("SHOW debug_assertions") == [("on",)]

    def run(self):
        """Runs the scenarios of this session, and returns the failure that has ended them, if any."""
        scenarios = range(self.number, self.options.scenarios, self.options.clients)
        try:
            for scenario in scenarios if self.options.only is None else [self.options.only]:
                self.run_scenario(scenario)
            scenario = "huge"
            # One session, since huge values take much memory.
            if self.number == 0:
                self.run_huge_values()
            return None
        except Exception as failure:
            description = str(failure) if isinstance(failure, Failure) else traceback.format_exc()
            statements = "\n    ".join(statement[:3000] for statement in self.client.last_statements)
            return f"scenario {scenario}: {description}\n  the last statements:\n    {statements}"

    def run_scenario(self, number):
        rng = random.Random(f"{self.options.seed} {number}")
        [kind] = rng.choices(list(SCENARIOS), SCENARIOS.values())
        self.client.counts.kinds[kind] += 1
        random_calls = calls.Calls(rng, rng.choice((20, 100, 400, 3000)))
        with self.discarded_caches(rng):
            getattr(self, f"run_{kind}")(rng, random_calls)
        # Now and then, use a new backend, with empty caches.
        if rng.random() < 0.02:
            self.client.connect()

    @contextmanager
    def discarded_caches(self, rng):
        """Now and then, lets PostgreSQL read all caches again at each use, as after changes by others."""
        if self.has_assertions and rng.random() < 0.01:
            self.client.run_all(["SET debug_discard_caches = 1"])
        yield
        if self.has_assertions:
            self.client.run_all(["SET debug_discard_caches = 0"])

    def run_calls(self, rng, random_calls, count=8):
        for _ in range(count):
            self.client.run_all(random_calls.statements(rng.choice(self.functions)))

    def run_table(self, rng, _):
        table = tables.Table(rng, self.client, rng.choice((f"own_{self.number}", "pg_temp")))
        table.run_random_steps(rng.randint(5, 25))

    def run_cancelled(self, rng, random_calls):
        self.client.set_timeout(rng.choice((1, 2, 5, 20, 50)))
        self.run_calls(rng, random_calls, 10)
        # The SET may itself be cancelled.
        while self.client.set_timeout(3000) is None:
            self.client.leave_transaction()

    def run_short_of_memory(self, rng, random_calls):
        # Without memory for a library, PostgreSQL reports the error of a broken library.
        self.client.run("SET jit = off")
        self.client.limit_memory(int(10 ** rng.uniform(5.5, 8)))
        try:
            for _ in range(5):
                statements = random_calls.statements(rng.choice(self.functions))
                self.client.run_all(statements if rng.random() < 0.5 else [calls.huge_call(rng, 7.5)])
        finally:
            self.client.connect()

    def run_huge_values(self):
        rng = random.Random(f"{self.options.seed} huge")
        for _ in range(self.options.huge):
            self.client.set_timeout(rng.choice((20_000, 60_000)))
            self.client.run_all([calls.huge_call(rng, self.options.huge_digits)])


if __name__ == "__main__":
    main()
