"""Searches during the writes. A statement computes each answer twice, by the scan and by a sequential scan. It has one
snapshot, so both must be the same. Rows that a statement locks or changes, maybe after it has waited for a writer, must
be near."""

import random
import threading
import time

import psycopg

import database
from pool import BANDS, MAX_DISTANCE_OF_TEXTS, MIN_RESEMBLANCE

SESSIONS = 2
# These plans are switched off: an index of a tenant would be as cheap as the scan while the table is empty.
PLANS = "seqscan", "indexscan", "bitmapscan", "sort"
SETTINGS = f"-c jit=off {' '.join(f'-c enable_{plan}=off' for plan in PLANS)}"
DISTANCES = 0, 1, 3, 3, 5, 8, 12
# For each kind of search: a condition that the scan serves, and the same condition for a sequential scan. The scan does
# not recognise a distance plus zero.
BY_DISTANCE = (
    "simhash_near(simhash, %(query)s::bigint, %(max_distance)s::integer)",
    "hamming(simhash, %(query)s::bigint) + 0 <= %(max_distance)s",
)
BY_TEXT = (
    "tenant = %(tenant)s AND simhash_near(body, %(text)s)",
    f"tenant = %(tenant)s AND simhash_resemblance(body, %(text)s) >= {MIN_RESEMBLANCE}"
    f" AND hamming(simhash(body), simhash(%(text)s)) + 0 <= {MAX_DISTANCE_OF_TEXTS} AND EXISTS (SELECT FROM"
    f" generate_series(0, {BANDS - 1}) AS band WHERE simhash_band(body, band) = simhash_band(%(text)s, band))",
)
# From PostgreSQL 16 on, ORDER BY id would make the planner read the rows in the order of the primary key.
SEARCHES = (
    *(
        tuple(f"SELECT array_agg(id ORDER BY -id) FROM soak WHERE {condition}" for condition in pair)
        for pair in (BY_DISTANCE, [f"tenant = 0 AND {condition}" for condition in BY_DISTANCE], BY_TEXT)
    ),
    tuple(
        f"SELECT array_agg(distance) FROM (SELECT {distance} AS distance FROM soak ORDER BY distance"
        " LIMIT %(max_distance)s * 9) AS nearest"
        for distance in ("simhash <~> %(query)s::bigint", "hamming(simhash, %(query)s) + 0")
    ),
)
LOCKING = tuple(
    template.format(near=near, by_scan=by_scan)
    for near, by_scan in (BY_DISTANCE, BY_TEXT)
    for template in (
        "SELECT {by_scan} FROM soak WHERE {near} FOR UPDATE",
        "SELECT {by_scan} FROM soak WHERE {near} FOR SHARE SKIP LOCKED",
        "UPDATE soak SET note = -1 WHERE {near} RETURNING {by_scan}",
    )
)


class Searches:
    def __init__(self, texts, fingerprints, tenants, seed):
        self.texts, self.fingerprints, self.tenants, self.seed = texts, fingerprints, tenants, seed
        self.failures, self.hung, self.done, self.found = [], [], 0, 0
        self.all_done = threading.Event()
        self.threads = [threading.Thread(target=self.run, args=(number,)) for number in range(SESSIONS)]

    def __enter__(self):
        with database.connect(SETTINGS) as connection:
            for pair in SEARCHES:
                for statement, is_search in zip(pair, (True, False)):
                    arguments = {"query": 42, "max_distance": 3, "text": "some words", "tenant": 0}
                    plan = connection.execute(f"EXPLAIN {statement}", arguments).fetchall()
                    if database.has_scan(plan) != is_search:
                        raise RuntimeError(f"not the plan that is needed: {statement}: {plan}")
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.all_done.set()
        for thread in self.threads:
            thread.join()

    def run(self, number):
        rng, connection = random.Random(f"{self.seed} searches {number}"), None
        while not self.all_done.is_set() and not self.failures:
            try:
                if connection is None or connection.closed:
                    connection = database.connect(SETTINGS, application_name="soak")
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
        arguments = {"query": query, "max_distance": rng.choice(DISTANCES), "text": rng.choice(self.texts),
                     "tenant": rng.randrange(self.tenants)}
        # Prepared statements come to generic plans too.
        if rng.random() < 0.2:
            rows = connection.execute(rng.choice(LOCKING), arguments, prepare=True).fetchall()
            if not all(is_near for (is_near,) in rows):
                self.failures.append(f"rows that are not near were locked, {arguments}")
            self.found += len(rows)
        else:
            search, by_scan = rng.choice(SEARCHES)
            answers = connection.execute(f"SELECT ({search}), ({by_scan})", arguments, prepare=True)
            ((found, expected),) = answers.fetchall()
            if found != expected:
                self.failures.append(f"{search}, {arguments}: {found}, not {expected}")
            self.found += len(found or ())
        self.done += 1
