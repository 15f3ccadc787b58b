"""How searches grow from a hundred thousand to a hundred million rows.

    python benches/search/scale.py RUNS ROWS CURVE.svg

Narrow tables (an id and a uniform fingerprint), the largest of ROWS rows, with covering indexes on the blocks as
expressions. Each layout is built, read into memory, measured and dropped by itself, so that the largest one fits.
Needs what `benches/search` needs.
"""

import sys

import curve
from layouts import near, probes
from searches import ANSWER, LOOKUP, NEAR, lookup, nearest
from statements import psql, seconds, value
from timing import Statement, measure, warm

LAYOUTS = 4, 3
DISTANCES = 3, 5, 8
CURVE_DISTANCE = 3
NEAREST = "nearest 10, of which one is near"


def main():
    runs, rows, svg = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    print(f"PostgreSQL: shared_buffers {value('SHOW shared_buffers')}; medians of {runs} runs;"
          " covering indexes on expressions")
    sizes = [rows // 10**power for power in (3, 2, 1, 0)]
    times = {blocks: {size: measure_layout(size, blocks, runs) for size in sizes} for blocks in LAYOUTS}
    lines = {
        f"{blocks} blocks": {size: measured.ms((NEAR, CURVE_DISTANCE)) for size, measured in by_size.items()}
        for blocks, by_size in times.items()
    }
    lookups = {size: min(by_size[size].ms(LOOKUP) for by_size in times.values()) for size in sizes}
    label = f"ms per search, distance at most {CURVE_DISTANCE}"
    curve.draw(lines | {"primary-key lookup": lookups}, label, "{:.2f} ms", svg)


def measure_layout(rows, blocks, runs):
    """Measures searches by one layout; prints and returns their times."""
    table = f"scale_{rows}"
    load(table, rows)
    indexes = build_indexes(table, rows, blocks)
    warm(f"{table}_pkey", *indexes)
    # The largest table does not fit into shared buffers: it comes from the system's cache.
    psql(f"SELECT pg_prewarm('{table}', 'read')")
    draw_query = f"\\set id random(1, {rows})", "SELECT hashint8extended(:id, 0) # 257 AS q \\gset"
    statements = {ANSWER: Statement("SELECT 1"), LOOKUP: lookup(table, rows)}
    for distance in DISTANCES:
        search = f"SELECT t.id FROM {table} AS t WHERE {near(distance, ':q')}"
        statements[NEAR, distance] = Statement(search, *draw_query)
    statements[NEAREST] = nearest(table, ":q", *draw_query)
    times = measure(statements, runs, [], min_transactions=50)
    report(table, blocks, times)
    psql("DROP INDEX " + ", ".join(indexes))
    return times


def build_indexes(table, rows, blocks):
    """Prints how long the indexes of a layout take to build, and their size; returns their names."""
    indexes = [f"{table}_{blocks}_{block}" for block in range(blocks)]
    built = seconds(*(
        f"CREATE INDEX IF NOT EXISTS {index} ON {table} (simhash_block(simhash, {block}, {blocks}), simhash)"
        for block, index in enumerate(indexes)
    ), maintenance_work_mem="2GB")
    stored = sum(int(value(f"SELECT pg_relation_size('{index}')")) for index in indexes) / rows
    print(f"{rows:,} rows, {blocks} blocks: built in {built:.1f} s, {stored:.1f} bytes a row")
    return indexes


def report(table, blocks, times):
    print(f"  lookup {times.ms(LOOKUP):.3f} ms")
    for distance in DISTANCES:
        ms, ratio = times.ms((NEAR, distance)), times.ratio((NEAR, distance), LOOKUP)
        query = "hashint8extended(7, 0) # 257"
        found = value(f"SELECT count(*) FROM {table} AS t WHERE {near(distance, query)}")
        print(f"  distance {distance}: {probes(blocks, distance):,} probes, {ms:.3f} ms, {ratio:.1f} x lookup"
              f" (finds {found})", flush=True)
    print(f"  {NEAREST}: {times.ms(NEAREST):.3f} ms, {times.ratio(NEAREST, LOOKUP):.1f} x lookup", flush=True)


def load(table, rows):
    """Makes the table, unless it exists."""
    if value(f"SELECT to_regclass('{table}') IS NULL") == "t":
        loaded = seconds(
            f"CREATE UNLOGGED TABLE {table} (id bigint NOT NULL, simhash bigint NOT NULL)",
            f"INSERT INTO {table} SELECT i, hashint8extended(i, 0) FROM generate_series(1, {rows}) AS i",
            f"ALTER TABLE {table} ADD PRIMARY KEY (id)",
        )
        psql(f"VACUUM ANALYZE {table}")
        print(f"\n{rows:,} rows: loaded in {loaded:.1f} s")


if __name__ == "__main__":
    main()
