"""How searches grow from a hundred thousand to a hundred million rows.

    python benches/search/scale.py RUNS ROWS CURVE.svg

Narrow tables (an id and a uniform fingerprint), the largest of ROWS rows, with covering indexes on the blocks as
expressions. Each layout is built, read into memory, measured and dropped by itself, so that the largest one fits.
"""

import sys

import curve
from search.layouts import block_expression, count_probes, drop_index_statement, near_condition
from search.searches import LOOKUP, NEAR, SPACER, look_up_statement, near_statement, nearest_statement
from search.tables import build_indexes, exists
from search.timing import measure_statements, warm
from server import print_conditions, psql, seconds, uniform_rows, value

LAYOUTS = 4, 3
DISTANCES = 3, 5, 8
CURVE_DISTANCE = 3
NEAREST = "nearest 10, of which one is near"


def main():
    runs, most_rows, svg = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    print_conditions(["shared_buffers"], runs, "; covering indexes on expressions")
    row_counts = [most_rows // 10**power for power in (3, 2, 1, 0)]
    times = {blocks: {rows: measure_layout(rows, blocks, runs) for rows in row_counts} for blocks in LAYOUTS}
    key = NEAR, CURVE_DISTANCE
    curves = {f"{blocks} blocks": {rows: measured.median_ms(key) for rows, measured in by_rows.items()}
              for blocks, by_rows in times.items()}
    look_ups = {rows: min(by_rows[rows].median_ms(LOOKUP) for by_rows in times.values()) for rows in row_counts}
    label = f"ms per search, distance at most {CURVE_DISTANCE}"
    curve.draw(curves | {"look-up by primary key": look_ups}, label, "{:.2f} ms", svg)


def measure_layout(rows, blocks, runs):
    """Builds a layout, prints and returns the times of searches by it, and drops it."""
    table = f"scale_{rows}"
    load(table, rows)
    build_indexes(table, rows, blocks, block_expression, maintenance_work_mem="2GB")
    warm(f"{table}_pkey")
    # The largest table does not fit into shared buffers: it comes from the system's cache.
    psql(f"SELECT pg_prewarm('{table}', 'read')")
    choose_query = f"\\set id random(1, {rows})", "SELECT hashint8extended(:id, 0) # 257 AS query \\gset"
    statements = {**SPACER, LOOKUP: look_up_statement(table, rows)}
    for distance in DISTANCES:
        statements[NEAR, distance] = near_statement(table, distance, *choose_query)
    statements[NEAREST] = nearest_statement(table, *choose_query)
    times = measure_statements(statements, runs, [], min_transactions=50)
    report_layout(table, blocks, times)
    psql(drop_index_statement(table, blocks))
    return times


def report_layout(table, blocks, times):
    print(f"  look-up {times.median_ms(LOOKUP):.3f} ms")
    for distance in DISTANCES:
        ms, ratio = times.median_ms((NEAR, distance)), times.ratio((NEAR, distance), LOOKUP)
        condition = near_condition(distance, "hashint8extended(7, 0) # 257")
        found = value(f"SELECT count(*) FROM {table} AS searched WHERE {condition}")
        print(f"  distance {distance}: {count_probes(blocks, distance):,} probes, {ms:.3f} ms, {ratio:.1f} x look-up"
              f" (finds {found})", flush=True)
    print(f"  {NEAREST}: {times.median_ms(NEAREST):.3f} ms, {times.ratio(NEAREST, LOOKUP):.1f} x look-up", flush=True)


def load(table, rows):
    """Makes the table, unless it exists."""
    if not exists(table):
        loaded = seconds(f"CREATE UNLOGGED TABLE {table} (id bigint NOT NULL, fingerprint bigint NOT NULL)",
                         f"INSERT INTO {table} {uniform_rows(1, rows)}", f"ALTER TABLE {table} ADD PRIMARY KEY (id)")
        psql(f"VACUUM ANALYZE {table}")
        print(f"\n{rows:,} rows: loaded in {loaded:.1f} s")


if __name__ == "__main__":
    main()
