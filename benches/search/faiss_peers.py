"""Searches beside FAISS's exact ones in memory, over the same fingerprints and on one core.

    python faiss_peers.py RUNS ROWS FINGERPRINTS

In tables of ROWS rows and of a tenth of them, of uniform fingerprints and of those of texts (the file FINGERPRINTS).
Needs the packages of requirements.txt, PYTHONPATH=benches, and psql's environment (PGHOST and so on) pointing to a server
with pg_simhash.

IndexBinaryMultiHash with four hashes of 16 bits is what four blocks are: within distance 3 one of them is equal.
IndexBinaryFlat compares with everything. Both search for a thousand fingerprints in one call, without SQL, a protocol,
transactions or anything on disk.
"""

import ctypes
import os
import statistics
import subprocess
import sys
import time

import faiss
import numpy

import tables
from layouts import create_indexes, drop_indexes, indexes, near
from searches import LOOKUP, NEAR, lookup, search
from server import measure, warm
from statements import environment, psql, value

K = 3
LAYOUTS = 4, 2
# FAISS's range is open: distances below this.
RADIUS = K + 1
# So many of the queries must do for comparing with everything.
FLAT_QUERIES = 100


def main():
    runs, rows, file = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    faiss.omp_set_num_threads(1)
    print(f"FAISS {faiss.__version__}, one thread; k = {K}; medians of {runs} runs")
    for distribution in ("uniform", "text"):
        for table, size in tables.prepare(distribution, (rows // 10, rows), file).items():
            compare(table, size, runs)


def compare(table, rows, runs):
    fingerprints = read(f"SELECT simhash FROM {table} ORDER BY id")
    queries = read(f"SELECT simhash FROM queries_{table} WHERE k = {K} ORDER BY id")
    if len(fingerprints) != int(value(f"SELECT count(*) FROM {table}")):
        sys.exit(f"{len(fingerprints)} rows of {table} were read, which are not all")
    lines = in_postgres(table, rows, runs) + in_faiss(fingerprints, queries, runs)
    lookup_ms = lines[0][1]
    print(f"\n{table}: {rows:,} rows")
    print(f"{'':<34} {'ms a search':>11} {'x lookup':>9} {'bytes a row':>12} {'found':>7}")
    for name, ms, stored, found in lines:
        print(
            f"{name:<34} {ms:>11.3f} {ms / lookup_ms:>9.1f}"
            f" {'' if stored is None else f'{stored:.1f}':>12} {'' if found is None else found:>7}"
        )
    exact = {found for _, _, _, found in lines if found is not None}
    if len(exact) != 1:
        sys.exit("they do not find the same number of rows")


def in_postgres(table, rows, runs):
    """Name, milliseconds, bytes a row and rows found by all queries, of each way."""
    lines = []
    for blocks in LAYOUTS:
        psql(*create_indexes(table, blocks), f"VACUUM {table}")
        warm(*indexes(table, blocks))
        times = measure({LOOKUP: lookup(table, rows), NEAR: search(table, K, near(K, ":q"))}, runs, [table])
        found = int(psql(
            f"SELECT count(*) FROM queries_{table} AS q JOIN {table} AS t ON {near(K, 'q.simhash')} WHERE q.k = {K}",
            enable_seqscan="off",
        )[0][0])
        stored = tables.index_bytes(indexes(table, blocks)) / rows
        if not lines:
            lines.append(("PostgreSQL, primary-key lookup", times.ms(LOOKUP), None, None))
        lines.append((f"PostgreSQL, {blocks} blocks", times.ms(NEAR), stored, found))
        psql(drop_indexes(table, blocks))
    return lines


def in_faiss(fingerprints, queries, runs):
    before = memory()
    start = time.perf_counter()
    hashes = faiss.IndexBinaryMultiHash(64, 4, 16)
    hashes.nflip = 0
    hashes.add(fingerprints)
    built = time.perf_counter() - start
    stored = (memory() - before) / len(fingerprints)
    flat = faiss.IndexBinaryFlat(64)
    flat.add(fingerprints)

    some = queries[:FLAT_QUERIES]
    hashed, (limits, _, ids) = timed(hashes, queries, runs)
    scanned, (some_limits, _, some_ids) = timed(flat, some, 1)
    end = limits[len(some)]
    same = numpy.array_equal(limits[: len(some) + 1], some_limits) and all(
        set(ids[a:b]) == set(some_ids[a:b]) for a, b in zip(some_limits[:-1], some_limits[1:])
    )
    if not same:
        sys.exit(f"IndexBinaryMultiHash is not exact: {end} rows, and {len(some_ids)} by comparing with everything")
    return [
        (f"FAISS IndexBinaryMultiHash ({built:.0f} s)", hashed, stored, int(limits[-1])),
        ("FAISS IndexBinaryFlat", scanned, fingerprints.shape[1], None),
    ]


def timed(index, queries, runs):
    """Milliseconds a search, and what is found."""
    measured = []
    for _ in range(runs):
        start = time.perf_counter()
        result = index.range_search(queries, RADIUS)
        measured.append((time.perf_counter() - start) * 1e3 / len(queries))
    return statistics.median(measured), result


def memory():
    ctypes.CDLL(None).malloc_trim(0)  # gives back what is free
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def read(query):
    """A column of fingerprints, their eight bytes each."""
    copied = subprocess.run(
        ["psql", "-Xq", "-v", "ON_ERROR_STOP=1", "-c", f"COPY ({query}) TO STDOUT (FORMAT binary)"],
        check=True, stdout=subprocess.PIPE, env=environment({}),
    ).stdout
    # A header of 19 bytes; a row is the number of columns, the value's length and the value; -1 ends it.
    row = numpy.dtype([("columns", ">i2"), ("length", ">i4"), ("bytes", "u1", 8)])
    rows = numpy.frombuffer(copied, row, (len(copied) - 19 - 2) // row.itemsize, 19)
    return numpy.ascontiguousarray(rows["bytes"])


if __name__ == "__main__":
    main()
