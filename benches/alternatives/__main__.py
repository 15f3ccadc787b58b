"""pg_simhash beside what else finds near-duplicate texts with PostgreSQL: time, memory, size, recall and precision.

    python benches/alternatives QUERIES TEXTS FILE.jsonl...

TEXTS texts are passages of real documents (the FILEs) and edits of them (see documents.py). A pair is a true one if J,
the Jaccard resemblance of the texts' 5-character shingles, is at least .8, or .9. QUERIES of the texts are searched
for: for these, J is that of the query and every text, by brute force. The true pairs of all texts come from an exact
join, which is compared with the brute force.

Each way to search has a limit of its own kind. Of a list of limits, the one with the best F1 for .8 is taken, and the
one for .9; times are those with the limit for .8. Ways take turns, each in a table of its own. WAYS=name measures only
the ways whose classes in ways.py have this in their names. Needs the Python packages datasketch, numpy, psycopg and
rensa, and psql's environment (PGHOST and so on) pointing to a server with pg_simhash. The ways by pgvector and smlar
are measured if the server has them.
"""

import os
import random
import statistics
import sys
import threading
import time
from collections import Counter

import psycopg

import documents
from ways import WAYS

TARGETS = 0.8, 0.9
# Seconds for the searches of a way that find out what it finds, and for those that are timed. At least so many are
# done.
FINDING, TIMING, LEAST = 120, 20, 10
# Seconds that all pairs of a way may be expected to take; beyond, they are not searched for.
PAIRS = 900
SETTINGS = {
    "client_min_messages": "warning", "jit": "off", "max_parallel_workers_per_gather": "0",
    "max_parallel_maintenance_workers": "0", "work_mem": "256MB", "maintenance_work_mem": "1GB",
}
OPTIONS = " ".join(f"-c {name}={value}" for name, value in SETTINGS.items())
MOMENT = 0.05


def main():
    number, count, files = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    texts, sources = documents.make(count, files)
    truth = documents.Truth(texts)
    queries = random.Random(6).sample(range(count), number)
    near = {query: neighbours(truth, query) for query in queries}
    start = time.perf_counter()
    pairs = truth.pairs(TARGETS[0])
    joined = time.perf_counter() - start
    check(near, pairs)
    describe(texts, sources, truth, pairs, joined, near)
    load(texts)
    ways = [way for way in WAYS if os.environ.get("WAYS", "") in way.__name__ and is_available(way.extension)]
    results = [result for way in ways for result in measure(way, texts, near, pairs)]
    report_searches(results)
    report_pairs(results)
    duplicates(pairs, count)


def is_available(extension):
    with connect() as database:
        return value(database, "SELECT count(*) FROM pg_available_extensions WHERE name = %s", extension)


def neighbours(truth, query):
    """J of the texts that are near, by brute force. Ids are numbers from 1."""
    resemblances = truth.resemblances(query)
    resemblances[query] = 0
    return {int(other) + 1: resemblances[other] for other in (resemblances >= TARGETS[0]).nonzero()[0]}


def check(near, pairs):
    """The join has the pairs that brute force has."""
    joined = {query: set() for query in near}
    for a, b in pairs:
        for query, other in ((a, b), (b, a)):
            if query in joined:
                joined[query].add(other + 1)
    if any(joined[query] != set(others) for query, others in near.items()):
        sys.exit("the join of the texts and brute force differ")


def describe(texts, sources, truth, pairs, joined, near):
    with connect() as database:
        versions = [f"PostgreSQL {value(database, 'SHOW server_version')}"]
        for extension in filter(is_available, ("pg_simhash", "pg_trgm", "vector", "smlar")):
            database.execute(f"CREATE EXTENSION {extension}")
            version = value(database, "SELECT extversion FROM pg_extension WHERE extname = %s", extension)
            versions.append(f"{extension} {version}")
        print(", ".join(versions), f"shared_buffers {value(database, 'SHOW shared_buffers')}", sep=", ")
    print(", ".join(f"{name} {setting}" for name, setting in SETTINGS.items() if name != "client_min_messages"))
    print(f"{len(texts):,} texts of {statistics.mean(len(text.encode()) for text in texts):,.0f} bytes;"
          f" {len(near)} searches, for texts of the table")
    edits = sorted(truth.resemblance(number, source) for number, source in enumerate(sources) if source is not None)
    shares = ", ".join(f"{edits[int(len(edits) * share)]:.2f}" for share in (0.05, 0.25, 0.5, 0.75, 0.95))
    print(f"{len(edits):,} are edits of another text; J of both, at 5, 25, 50, 75 and 95 %: {shares}")
    for target in TARGETS:
        true = [pair for pair, j in pairs.items() if j >= target]
        ((_, most),) = Counter(text for pair in true for text in pair).most_common(1)
        print(f"pairs with J >= {target}: {len(true):,}, of one text {most}, of the searched texts"
              f" {sum(j >= target for others in near.values() for j in others.values()):,}")
    print(f"(an exact join outside the server took {joined:.0f} s; the pairs of the searched texts are those of brute"
          " force)", flush=True)


def connect():
    return psycopg.connect(options=OPTIONS, autocommit=True)


def value(database, statement, *parameters):
    return database.execute(statement, parameters).fetchone()[0]


def load(texts):
    with connect() as database:
        database.execute("CREATE TABLE texts (id bigint PRIMARY KEY, body text NOT NULL)")
        with database.cursor().copy("COPY texts FROM STDIN") as copy:
            for number, text in enumerate(texts, 1):
                copy.write_row((number, text))


class Result:
    """What a way takes and finds."""

    # Seconds that all pairs may be expected to take, if they are searched for.
    expected = None


def measure(kind, texts, near, pairs):
    """A result for each variant of the way."""
    results = []
    with connect() as database:
        way = kind(database)
        database.execute("CREATE TABLE docs (LIKE texts INCLUDING ALL)")
        database.execute("INSERT INTO docs SELECT * FROM texts")
        database.execute("VACUUM ANALYZE docs")
        before = space(database)
        start = time.perf_counter()
        way.build()
        built = time.perf_counter() - start
        indexes, added = ((after - bare) / len(texts) for after, bare in zip(space(database), before))
        for (table,) in tables(database):
            database.execute(f"VACUUM ANALYZE {table}")
        for variant in way.variants:
            way.set_variant(variant)
            result = Result()
            result.name, result.built, result.indexes, result.space = way.name, built, indexes, added
            searches(way, result, texts, near)
            if variant == way.variants[0]:
                all_pairs(way, result, len(texts), pairs)
            results.append(result)
            print(f"({result.name}: done)", file=sys.stderr, flush=True)
        for (table,) in tables(database):
            database.execute(f"DROP TABLE {table}")
    return results


def tables(database):
    return database.execute("SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
                            " AND relname <> 'texts'").fetchall()


def space(database):
    """Bytes of the indexes without primary keys, and of everything."""
    return database.execute(
        "SELECT sum(pg_indexes_size(c.oid) - coalesce(pg_relation_size(i.indexrelid), 0)),"
        " sum(pg_total_relation_size(c.oid)) FROM pg_class AS c LEFT JOIN pg_index AS i"
        " ON i.indrelid = c.oid AND i.indisprimary"
        " WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace AND c.relname <> 'texts'"
    ).fetchone()


def searches(way, result, texts, near):
    way.set_limit(way.limits[0])
    found = {}
    with Memory(way.database) as memory:
        start = time.perf_counter()
        for query in near:
            if len(found) >= LEAST and time.perf_counter() - start > FINDING:
                break
            found[query] = [row for row in way.search(texts[query], way.limits[0]) if row[0] != query + 1]
    result.memory, result.queries = memory.most, len(found)
    judged = {}
    result.quality = []
    for target in TARGETS:
        for limit in way.limits:
            judged[limit] = quality(found, near, limit, target)
        best = max(way.limits, key=lambda limit: f1(*judged[limit]))
        result.quality.append((best, *judged[best]))
    result.limit = result.quality[0][0]
    way.set_limit(result.limit)
    times = []
    for query in found:
        start = time.perf_counter()
        way.search(texts[query], result.limit)
        times.append(time.perf_counter() - start)
        if len(times) >= LEAST and sum(times) > TIMING:
            break
    result.mean, result.median, result.most = statistics.mean(times), statistics.median(times), max(times)


def quality(found, near, limit, target):
    """Recall and precision of all searches together."""
    right = rows = true = 0
    for query, others in found.items():
        ids = {other for other, score in others if limit is None or score >= limit}
        near_ids = {other for other, resemblance in near[query].items() if resemblance >= target}
        right, rows, true = right + len(ids & near_ids), rows + len(ids), true + len(near_ids)
    return ratios(right, rows, true)


def ratios(right, rows, true):
    return right / true if true else 1, right / rows if rows else 1


def f1(recall, precision):
    return 2 * recall * precision / (recall + precision) if recall + precision else 0


def all_pairs(way, result, count, pairs):
    result.expected = count * result.mean if way.loops else 0
    if result.expected > PAIRS:
        return
    with Memory(way.database) as memory:
        start = time.perf_counter()
        rows = way.pairs(result.limit)
        result.seconds_of_pairs = time.perf_counter() - start
    result.memory_of_pairs = memory.most
    found = {(min(a, b) - 1, max(a, b) - 1) for a, b in rows}
    result.quality_of_pairs = []
    for target in TARGETS:
        true = {pair for pair, resemblance in pairs.items() if resemblance >= target}
        result.quality_of_pairs.append(ratios(len(found & true), len(found), len(true)))


class Memory:
    """The most private memory that a backend has while it holds, in bytes, as another one sees it now and then."""

    def __init__(self, database):
        self.process = database.info.backend_pid

    def __enter__(self):
        self.most, self.done = 0, threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.done.set()
        self.thread.join()

    def watch(self):
        with connect() as database:
            while True:
                private = value(
                    database,
                    "SELECT substring(pg_read_file(%s, 0, 10000) FROM 'RssAnon:\\s*(\\d+) kB')::bigint * 1024",
                    f"/proc/{self.process}/status",
                )
                self.most = max(self.most, private)
                if self.done.wait(MOMENT):
                    return


def report_searches(results):
    print("\nOne search. Recall / precision are those of all searches together, for J >= .8 and for J >= .9, with the"
          "\nlimit before them. The times are in ms. Sizes are bytes a text: of the indexes, and of all that is added."
          "\nMemory is the backend's own, in MB.")
    print(f"{'':<58} {'median':>8} {'mean':>8} {'most':>8} {'searches':>8} {'for J >= .8':>20} {'for J >= .9':>20}"
          f" {'built, s':>8} {'indexes':>8} {'all':>8} {'memory':>7}")
    for result in results:
        limits = "".join(
            f" {'' if limit is None else f'{limit:.2f}':>5}: {recall:.3f} / {precision:.3f}"
            for limit, recall, precision in result.quality
        )
        print(f"{result.name:<58} {result.median * 1e3:>8.2f} {result.mean * 1e3:>8.2f} {result.most * 1e3:>8.2f}"
              f" {result.queries:>8} {limits} {result.built:>8.1f} {result.indexes:>8.0f} {result.space:>8.0f}"
              f" {result.memory / 1e6:>7.1f}")


def report_pairs(results):
    print("\nAll pairs, with the limit for J >= .8. In brackets: not done, but as many searches as there are texts.")
    print(f"{'':<58} {'seconds':>9} {'for J >= .8':>14} {'for J >= .9':>14} {'memory, MB':>11}")
    for result in results:
        if result.expected is None:
            continue
        if result.expected > PAIRS:
            print(f"{result.name:<58} {f'({result.expected:,.0f})':>9}")
            continue
        shown = " ".join(f"{recall:.3f} / {precision:.3f}" for recall, precision in result.quality_of_pairs)
        print(f"{result.name:<58} {result.seconds_of_pairs:>9.1f} {shown} {result.memory_of_pairs / 1e6:>11.1f}")


def duplicates(pairs, count):
    """The rows of which simhash_duplicate_of names an earlier one."""
    with connect() as database:
        database.execute("CREATE TABLE docs AS SELECT id, body, simhash(body) FROM texts")
        with Memory(database) as memory:
            start = time.perf_counter()
            rows = database.execute(
                "SELECT id, simhash_duplicate_of(simhash, body) OVER (ORDER BY id) FROM docs"
            ).fetchall()
            seconds = time.perf_counter() - start
    # The window's numbers are the ids.
    found = {(earlier - 1, row - 1) for row, earlier in rows if earlier is not None}
    print(f"\nsimhash_duplicate_of, by its defaults: {seconds:.1f} s, {memory.most / 1e6:.1f} MB;"
          f" {len(found):,} of {count:,} texts duplicate an earlier one that stays")
    for target in TARGETS:
        true = {pair for pair, resemblance in pairs.items() if resemblance >= target}
        later = {b for _, b in true}
        print(f"J >= {target}: {len(found & true) / len(found):.3f} of these pairs are true; of the texts that have an"
              f" earlier near-duplicate, {len(later & {b for _, b in found}) / len(later):.3f} are found")


if __name__ == "__main__":
    main()
