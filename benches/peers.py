"""pg_simhash beside what one would otherwise run: ClickHouse's SimHash functions (PyPI: chdb, ClickHouse in the
process) and PyPI's simhash, on the same documents and one core.

    python peers.py RUNS FILE.jsonl ...

Needs the packages of python-requirements.txt, and psql's environment (PGHOST and so on) pointing to a server with pg_simhash
and, for each FILE, the tables that sql/store.sql makes of its documents. The ways take turns; medians.

Both databases store the documents compressed with LZ4 (ClickHouse: a MergeTree) and uncompressed (PostgreSQL: STORAGE
EXTERNAL, ClickHouse: a Memory table), PostgreSQL also with its own default, pglz. All of it is in memory.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import chdb.session
import simhash

PGLZ, LZ4, PLAIN = "pglz", "lz4", "uncompressed"
# Expression and storage. A shingle of one word is the closest to a set of words.
CLICKHOUSE = [
    ("wordShingleSimHash(body, 1)", LZ4),
    ("wordShingleSimHash(body, 1)", PLAIN),
    ("wordShingleSimHashUTF8(body, 1)", PLAIN),
    ("wordShingleSimHashCaseInsensitive(body, 1)", PLAIN),
    ("ngramSimHash(body)", PLAIN),
    ("ngramSimHashUTF8(body)", PLAIN),
    ("cityHash64(body)", LZ4),
    ("cityHash64(body)", PLAIN),
]
POSTGRES = [
    ("simhash(body)", PGLZ),
    ("simhash(body)", LZ4),
    ("simhash(body)", PLAIN),
    ("ascii(body)", PGLZ),  # detoasting alone
    ("ascii(body)", LZ4),
    ("ascii(body)", PLAIN),
]
BAR = "wordShingleSimHash(body, 1)"

# PyPI's simhash is so slow that a part of the documents must do.
PYTHON_BYTES = 1_000_000


def main():
    runs = int(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="pg_simhash_chdb.") as folder:
        session = chdb.session.Session(folder)
        version = session.query("SELECT version()", "TabSeparated").bytes().decode().strip()
        print(f"ClickHouse {version}, max_threads = 1; PostgreSQL: one process; medians of {runs} runs")
        for path in sys.argv[2:]:
            compare(session, path, runs)
        session.close()


def compare(session, path, runs):
    name = os.path.basename(path).removesuffix(".jsonl")
    with open(path, encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    size = sum(len(text.encode()) for text in texts)
    megabytes = size / 1e6
    load_clickhouse(session, path, name, len(texts), size)
    stored = psql("SELECT relname FROM pg_class").split()

    ways = {
        f"PostgreSQL {e}, {s}": (lambda e=e, s=s: time_postgres(e, f"{name}_{s}"))
        for e, s in POSTGRES
        if f"{name}_{s}" in stored
    }
    ways |= {f"ClickHouse {e}, {s}": (lambda e=e, s=s: time_clickhouse(session, e, f"{name}_{s}")) for e, s in CLICKHOUSE}
    times = {way: [] for way in ways}
    for run in range(runs + 1):
        for way, measure in ways.items():
            seconds = measure()
            if run > 0:  # the first warms up
                times[way].append(seconds)
    medians = {way: statistics.median(seconds) for way, seconds in times.items()}
    fastest = {way: min(seconds) for way, seconds in times.items()}

    print(f"\n{name}: {len(texts)} documents, {megabytes:.1f} MB")
    print(f"{'SELECT sum(<way>)':<66} {'ms':>9} {'documents/s':>12} {'MB/s':>8} {'to simhash(body)':>17}")
    ours = medians[f"PostgreSQL simhash(body), {PGLZ}"]
    for way, seconds in medians.items():
        print(
            f"{way:<66} {seconds * 1e3:>9.1f} {len(texts) / seconds:>12.0f} {megabytes / seconds:>8.1f}"
            f" {seconds / ours:>17.2f}"
        )
    part = first(texts, PYTHON_BYTES)
    part_megabytes = sum(len(text.encode()) for text in part) / 1e6
    for way, fingerprint in PYTHON.items():
        seconds = statistics.median(time_python(fingerprint, part) for _ in range(3))
        speed = part_megabytes / seconds
        print(
            f"{way:<66} {'':>9} {len(part) / seconds:>12.0f} {speed:>8.2f} {megabytes / speed / ours:>17.2f}"
            f"  (on {part_megabytes:.1f} MB)"
        )
    if name == "chinese":
        return  # for wordShingleSimHash a whole clause of Chinese is one word: it does much less
    for storage, clickhouse_storage in ((PGLZ, LZ4), (LZ4, LZ4), (PLAIN, PLAIN)):
        if f"{name}_{storage}" not in stored:
            continue
        ours, theirs = f"PostgreSQL simhash(body), {storage}", f"ClickHouse {BAR}, {clickhouse_storage}"
        ratio = medians[theirs] / medians[ours]
        print(
            f"faster than ClickHouse's {BAR}, {name}, {storage} against {clickhouse_storage}: {ratio:.2f} times as fast"
            f" (fastest runs: {fastest[theirs] / fastest[ours]:.2f}): {'reached' if ratio > 1 else 'MISSED'}"
        )


def load_clickhouse(session, path, name, documents, size):
    engines = {LZ4: "MergeTree ORDER BY tuple()", PLAIN: "Memory"}
    for storage, engine in engines.items():
        table = f"{name}_{storage}"
        session.query(f"CREATE TABLE {table} (body String) ENGINE = {engine}")
        session.query(f"INSERT INTO {table} SELECT text FROM file('{path}', JSONEachRow, 'id String, text String')")
        loaded = session.query(f"SELECT count(), sum(length(body)) FROM {table}", "TabSeparated").bytes().decode()
        if loaded.split() != [str(documents), str(size)]:
            sys.exit(f"{path}: ClickHouse has read other documents: {loaded}")


def psql(*commands):
    arguments = [argument for command in commands for argument in ("-c", command)]
    settings = "-c jit=off -c max_parallel_workers_per_gather=0"
    environment = {**os.environ, "PGOPTIONS": settings, "LC_ALL": "C"}
    return subprocess.run(
        ["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", *arguments], check=True, stdout=subprocess.PIPE, text=True,
        env=environment,
    ).stdout


def first(texts, size):
    """The first texts, of so many bytes together, and one at least."""
    part = []
    for text in texts:
        part.append(text)
        size -= len(text.encode())
        if size <= 0:
            break
    return part


def time_postgres(expression, table):
    query = f"SELECT sum({expression}) FROM {table}"
    # The first warms up the new backend, as ClickHouse is from the run before.
    output = psql(query, "\\timing on", query)
    (line,) = [line for line in output.splitlines() if line.startswith("Time: ")]
    return float(line.split()[1]) / 1e3


def time_clickhouse(session, expression, table):
    start = time.perf_counter()
    session.query(f"SELECT sum({expression}) FROM {table} SETTINGS max_threads = 1", "TabSeparated")
    return time.perf_counter() - start


def by_default(text):
    return simhash.Simhash(text).value  # 4-character shingles, with their frequency, hashed with MD5


def of_words(text):
    return simhash.Simhash(set(text.lower().split())).value


PYTHON = {"PyPI simhash, Simhash(text)": by_default, "PyPI simhash, Simhash(set of words)": of_words}


def time_python(fingerprint, texts):
    start = time.perf_counter()
    for text in texts:
        fingerprint(text)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
