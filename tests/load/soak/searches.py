"""Searches beside the writers. A statement computes each answer twice, by the scan and by a sequential scan. It has one
snapshot, so both must be the same. Rows that a statement locks or changes, maybe after it has waited for a writer, must
be near."""

import random
import threading
import time

import psycopg

from patience import LIMIT

SESSIONS = 2
OPTIONS = f"{LIMIT} -c enable_seqscan=off -c enable_sort=off -c jit=off"
DISTANCES = 0, 1, 3, 3, 5, 8, 12
NEAR, IS_NEAR = "simhash_near(simhash, %(q)s::bigint, %(k)s::integer)", "hamming(simhash, %(q)s::bigint) + 0 <= %(k)s"
# The scan does not recognise a distance plus zero. From PostgreSQL 16 on, ORDER BY id would make the planner read the
# rows in the order of the primary key.
ANSWERS = (
    (
        f"SELECT array_agg(id ORDER BY -id) FROM soak WHERE {NEAR}",
        f"SELECT array_agg(id ORDER BY -id) FROM soak WHERE {IS_NEAR}",
    ),
    (
        f"SELECT array_agg(id ORDER BY -id) FROM soak WHERE tenant = 0 AND {NEAR}",
        f"SELECT array_agg(id ORDER BY -id) FROM soak WHERE tenant = 0 AND {IS_NEAR}",
    ),
    (
        "SELECT array_agg(d) FROM (SELECT simhash <~> %(q)s::bigint AS d FROM soak ORDER BY d LIMIT %(k)s * 9) AS s",
        "SELECT array_agg(d) FROM (SELECT hamming(simhash, %(q)s) + 0 AS d FROM soak ORDER BY d LIMIT %(k)s * 9) AS s",
    ),
)
LOCKS = (
    f"SELECT hamming(simhash, %(q)s::bigint) FROM soak WHERE {NEAR} FOR UPDATE",
    f"SELECT hamming(simhash, %(q)s::bigint) FROM soak WHERE {NEAR} FOR SHARE SKIP LOCKED",
    f"UPDATE soak SET note = -1 WHERE {NEAR} RETURNING hamming(simhash, %(q)s::bigint)",
)


class Searches:
    def __init__(self, fingerprints, seed):
        self.fingerprints, self.seed = fingerprints, seed
        self.failures, self.hung, self.done, self.found = [], [], 0, 0
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self.run, args=(number,)) for number in range(SESSIONS)]

    def __enter__(self):
        with psycopg.connect(options=OPTIONS) as connection:
            for pair in ANSWERS:
                for text, by_scan in zip(pair, (True, False)):
                    plan = connection.execute(f"EXPLAIN {text}", {"q": 42, "k": 3}).fetchall()
                    if any("(SimhashScan)" in line for (line,) in plan) != by_scan:
                        raise RuntimeError(f"not the plan that is needed: {text}: {plan}")
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()

    def run(self, number):
        rng, connection = random.Random(f"{self.seed} searches {number}"), None
        while not self.over.is_set() and not self.failures:
            try:
                if connection is None or connection.closed:
                    connection = psycopg.connect(autocommit=True, application_name="soak", options=OPTIONS)
                self.search(connection, rng)
            except psycopg.errors.QueryCanceled as error:
                self.hung.append(f"a search hangs: {error}")
                return
            except psycopg.OperationalError:
                time.sleep(0.05)  # A deadlock, or the backend or the server was ended.
            except Exception as error:
                self.failures.append(f"a search: {type(error).__name__}: {error}")

    def search(self, connection, rng):
        query = rng.choice(self.fingerprints) ^ sum(1 << bit for bit in rng.sample(range(63), rng.randrange(3)))
        arguments = {"q": query, "k": rng.choice(DISTANCES)}
        # Prepared, they come to generic plans too.
        if rng.random() < 0.2:
            rows = connection.execute(rng.choice(LOCKS), arguments, prepare=True).fetchall()
            if far := [distance for (distance,) in rows if distance > arguments["k"]]:
                self.failures.append(f"rows at distances {far} were locked, {arguments}")
            self.found += len(rows)
        else:
            by_scan, oracle = rng.choice(ANSWERS)
            answers = connection.execute(f"SELECT ({by_scan}), ({oracle})", arguments, prepare=True)
            ((found, expected),) = answers.fetchall()
            if found != expected:
                self.failures.append(f"{by_scan}, {arguments}: {found}, not {expected}")
            self.found += len(found or ())
        self.done += 1
