"""The same pairs found otherwise: by a join in plain SQL, by FAISS, and by numpy comparing everything."""

import math
import subprocess
import time

import faiss
import numpy

from statements import psql, value

K = 3
# FAISS's range is open: distances below this.
RADIUS = K + 1
CHUNK = 10_000
# Seconds that the join may take; beyond, `inf` is shown.
LONGEST = 180
MEMORY = {"work_mem": "2GB"}


def report(table, rows, few):
    """In the whole table, and in its first `few` rows."""
    print(f"\nother ways, {table}, one core, in seconds; pairs found")
    show(f"simhash_pairs, {rows:,} rows", *timed(lambda: pairs(table, rows)))
    show(f"join of blocks in plain SQL, {rows:,} rows", *join(table))
    fingerprints = read(table)
    show(f"FAISS IndexBinaryMultiHash, {rows:,} rows", *timed(lambda: in_faiss(fingerprints)))
    show(f"simhash_pairs, {few:,} rows", *timed(lambda: pairs(table, few)))
    show(f"numpy {numpy.__version__}, everything with everything, {few:,} rows", *timed(lambda: in_numpy(fingerprints[:few])))


def show(name, seconds_taken, found):
    print(f"  {name:<52} {seconds_taken:>9.3f} {found:>10,}", flush=True)


def timed(function):
    start = time.perf_counter()
    found = function()
    return time.perf_counter() - start, found


def pairs(table, rows):
    return int(value(
        f"SELECT count(*) FROM (SELECT array_agg(id), array_agg(fp) FROM {table} WHERE id <= {rows}) AS x (ids, fps),"
        " simhash_pairs(ids, fps)", **MEMORY,
    ))


def join(table):
    """A hash join on each of four blocks, of pairs that no block before has found."""
    psql("DROP TABLE IF EXISTS blocks")
    psql(
        "CREATE UNLOGGED TABLE blocks AS SELECT id, fp, simhash_block(fp, 0) AS b0, simhash_block(fp, 1) AS b1,"
        f" simhash_block(fp, 2) AS b2, simhash_block(fp, 3) AS b3 FROM {table}",
    )
    psql("VACUUM ANALYZE blocks")
    joins = " UNION ALL ".join(
        f"SELECT a.id FROM blocks AS a JOIN blocks AS b ON a.b{block} = b.b{block} AND a.id < b.id"
        + "".join(f" AND a.b{before} <> b.b{before}" for before in range(block))
        + f" AND a.fp <~> b.fp <= {K}"
        for block in range(4)
    )
    query = f"SELECT count(*) FROM ({joins}) AS x"
    # Where blocks have very common values, it takes as long as comparing everything.
    settings = {**MEMORY, "enable_nestloop": "off", "enable_mergejoin": "off", "statement_timeout": LONGEST * 1000}
    try:
        (found,), (shown,) = psql("\\timing on", query, **settings)
    except subprocess.CalledProcessError:
        return math.inf, 0
    return float(shown.split()[1]) / 1e3, int(found)


def read(table):
    """The fingerprints, in the order of their ids."""
    rows = psql(f"SELECT fp FROM {table} ORDER BY id")
    return numpy.array([int(fp) for (fp,) in rows], dtype=numpy.int64).view(numpy.uint64)


def in_faiss(fingerprints):
    faiss.omp_set_num_threads(1)
    vectors = fingerprints.view(numpy.uint8).reshape(-1, 8)
    index = faiss.IndexBinaryMultiHash(64, 4, 16)
    index.nflip = 0
    index.add(vectors)
    found = 0
    for start in range(0, len(vectors), CHUNK):
        limits, _, _ = index.range_search(vectors[start:start + CHUNK], RADIUS)
        found += int(limits[-1])
    return (found - len(vectors)) // 2


def in_numpy(fingerprints):
    found = 0
    for place, fingerprint in enumerate(fingerprints):
        found += int((numpy.bitwise_count(fingerprints[place + 1:] ^ fingerprint) <= K).sum())
    return found
