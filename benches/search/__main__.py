"""The cost of searches by the layout of the blocks, the distance k and the number of rows.

    python benches/search RUNS ROWS FINGERPRINTS

Tables of ROWS rows and of a tenth of them, of uniform fingerprints and of those of texts (the file FINGERPRINTS, from
fingerprints.rs, has a thousand more than ROWS), are searched with simhash_near and ordered by distance. Needs
PYTHONPATH=benches, and psql's environment (PGHOST and so on) pointing to a server with pg_simhash.

Everything is warm and in shared buffers, and all tables of a kind take turns: medians of RUNS runs, and of the runs'
ratios to a primary-key lookup in the same table. Whatever is found is compared with a scan of the whole table.
"""

import sys
from dataclasses import dataclass

import exact
import inserts
import searches
import tables
from bars import verdict
from layouts import create_indexes, drop_indexes, index_names
from searches import FAR, LOOKUP, NEAR, NEAREST, SORT
from statements import psql, seconds, value
from timing import Times, warm

# The distances that a layout suits.
DISTANCES_OF_LAYOUT = {4: range(9), 3: range(9), 2: range(6)}
FULL = 10_000_000
# The most primary-key lookups that a search may take among ten million rows, by the layout and the distance.
SEARCH_BARS = {
    "uniform": {("best", 5): 15, ("best", 8): 105, ("default", 3): 4},
    "text": {("best", 5): 17, ("best", 8): 110, ("default", 3): 5},
}
NEAREST_BARS = {"uniform": 4, "text": 5}


@dataclass
class Measured:
    """The times in the tables of a distribution: of searches by the layout and the distance, of orders by distance, and
    of scans with sorts. `differing` counts the rows and distances that differ from those of scans."""

    searches: dict[tuple[int, int], Times]
    nearest: Times
    sorts: Times
    differing: int


def main():
    runs, rows, fingerprints = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    buffers, work_mem = value("SHOW shared_buffers"), value("SHOW work_mem")
    print(
        f"PostgreSQL: shared_buffers {buffers}, work_mem {work_mem}, no JIT, no parallel workers; pgbench -M prepared,"
        f" one client, on the server's CPU; medians of {runs} runs. Generic plans. Covering indexes."
    )
    results = {distribution: measure_distribution(distribution, runs, rows, fingerprints)
               for distribution in ("uniform", "text")}
    inserts.report(runs, rows)
    judge(results, rows)


def measure_distribution(distribution, runs, rows, fingerprints):
    sizes = tables.prepare(distribution, (rows // 10, rows), fingerprints)
    for table, size in sizes.items():
        tables.make_copies(table, size)
        exact.store_truth(table)
    all_times, all_differing = {}, 0
    for blocks, distances in DISTANCES_OF_LAYOUT.items():
        print(f"\n{distribution} fingerprints, {blocks} blocks")
        for table, size in sizes.items():
            build_indexes(table, blocks, size)
        times, differing = searches.report(sizes, blocks, distances, runs)
        all_times |= {(blocks, k): measured for k, measured in times.items()}
        all_differing += differing
        if blocks == 4:
            nearest, sorts, differing = searches.report_nearest(sizes, runs)
            all_differing += differing
        for table in sizes:
            psql(drop_indexes(table, blocks))
    return Measured(all_times, nearest, sorts, all_differing)


def build_indexes(table, blocks, rows):
    built = seconds(*create_indexes(table, blocks))
    psql(f"VACUUM {table}")
    warm(*index_names(table, blocks))
    stored = tables.index_bytes(index_names(table, blocks)) / rows
    print(
        f"{rows:,} rows: indexes built in {built:.2f} s, {stored:.1f} bytes a row;"
        f" commonest value of a block: {tables.commonest_share(table, blocks):.4%} of the rows"
    )


def judge(results, rows):
    """Holds the measurements against what was promised."""
    print()
    if rows != FULL:
        print(f"The bars are for {FULL:,} rows; here for {rows:,}:")
    for distribution, measured in results.items():
        print_distribution(distribution, measured, rows)
    differing = sum(measured.differing for measured in results.values())
    print(f"wrong rows in all searches: {differing}, bar 0 (recall exactly 1): {verdict(differing == 0)}")
    if differing:
        sys.exit("searches differ from scans")


def print_distribution(distribution, measured, rows):
    table, small = f"{distribution}_{rows}", f"{distribution}_{rows // 10}"
    for (layout, k), bar in SEARCH_BARS[distribution].items():
        layouts = [blocks for blocks, distances in DISTANCES_OF_LAYOUT.items() if k in distances]
        ratio, blocks = min(
            (measured.searches[blocks, k].ratio((NEAR, table), (LOOKUP, table)), blocks)
            for blocks in ([4] if layout == "default" else layouts)
        )
        label = f"{distribution}, {layout} layout ({blocks} blocks), k = {k}"
        print_bar(f"{label}: {ratio:.1f} primary-key lookups", ratio, bar)
    ratio = measured.nearest.ratio((NEAREST, table), (LOOKUP, table))
    print_bar(f"{distribution}, {NEAREST}: {ratio:.1f} primary-key lookups", ratio, NEAREST_BARS[distribution])
    faster = measured.sorts.ms((SORT, table)) / measured.nearest.ms((FAR, table))
    print(f"{distribution}, {FAR}: {faster:.0f} times as fast as scan and sort, bar 50: {verdict(faster >= 50)}")
    growth = measured.searches[4, 3].ratio((NEAR, table), (NEAR, small))
    print_bar(f"{distribution}, 4 blocks, k = 3: {growth:.2f} times as long in ten times the rows", growth, 1.5)


def print_bar(label, figure, bar):
    print(f"{label}, bar {bar}: {verdict(figure <= bar)}")


if __name__ == "__main__":
    main()
