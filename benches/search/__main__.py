"""The cost of searches by the layout of the blocks, the distance and the number of rows.

    python benches/search RUNS ROWS FINGERPRINTS

Tables of ROWS rows and of a tenth of them, of uniform fingerprints and of those of texts (the file FINGERPRINTS, from
fingerprints.rs, has a thousand more than ROWS), are searched with simhash_near and ordered by distance.

Everything is warm and in shared buffers, and all tables of a kind take turns: medians of RUNS runs, and of the runs'
ratios to a look-up by primary key in the same table. Whatever is found is compared with a scan of the whole table.
"""

import sys
from dataclasses import dataclass

from bars import print_bars
from search import exact, inserts, searches, tables
from search.layouts import drop_index_statement
from search.searches import FAR, LOOKUP, NEAR, NEAREST, SORT
from search.timing import Times
from server import print_conditions, psql

# The distances that a layout suits.
DISTANCES_OF_LAYOUT = {4: range(9), 3: range(9), 2: range(6)}
# The most look-ups by primary key that a search may take, by the layout and the distance.
SEARCH_BARS = {
    "uniform": {("best", 5): 15, ("best", 8): 105, ("default", 3): 4},
    "text": {("best", 5): 17, ("best", 8): 110, ("default", 3): 5},
}
# The most look-ups that the nearest of near rows may take.
NEAREST_BARS = {"uniform": 4, "text": 5}
# How many times as fast as a scan and a sort an order by distance must be, and the most that a search may take in ten
# times the rows.
MIN_TIMES_AS_FAST, MAX_GROWTH = 50, 1.5


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
    print_conditions(["shared_buffers", "work_mem"], runs, "; no JIT, no parallel workers; pgbench -M prepared, one"
                     " client, on the server's CPU; generic plans; covering indexes")
    results = {name: measure_distribution(name, runs, rows, fingerprints) for name in SEARCH_BARS}
    inserts.report_inserts(runs, rows)
    print_bars_of_all(results, rows)


def measure_distribution(distribution, runs, rows, fingerprints):
    rows_by_table = tables.make_tables(distribution, (rows // 10, rows), fingerprints)
    for table, table_rows in rows_by_table.items():
        tables.make_copies(table, table_rows)
        exact.store_expected(table)
    all_times, all_differing = {}, 0  # differing rows and distances
    for blocks, distances in DISTANCES_OF_LAYOUT.items():
        print(f"\n{distribution} fingerprints, {blocks} blocks")
        for table, table_rows in rows_by_table.items():
            tables.build_indexes(table, table_rows, blocks)
            psql(f"VACUUM {table}")
            print(f"commonest value of a block: {tables.commonest_share(table, blocks):.4%} of the rows")
        times, differing = searches.report_near(rows_by_table, blocks, distances, runs)
        all_times |= {(blocks, distance): measured for distance, measured in times.items()}
        all_differing += differing
        if blocks == 4:
            nearest, sorts, differing = searches.report_nearest(rows_by_table, runs)
            all_differing += differing
        for table in rows_by_table:
            psql(drop_index_statement(table, blocks))
    return Measured(all_times, nearest, sorts, all_differing)


def print_bars_of_all(results, rows):
    """Prints all bars. Exits with an error if anything wrong has been found."""
    bars = [bar for distribution, measured in results.items() for bar in bars_of(distribution, measured, rows)]
    differing = sum(measured.differing for measured in results.values())
    print_bars([*bars, (f"wrong rows in all searches: {differing}, bar 0 (recall exactly 1)", differing == 0)], rows)
    if differing:
        sys.exit("searches differ from scans")


def bars_of(distribution, measured, rows):
    """The lines of the bars of a distribution, each with whether it is reached."""
    table, small = f"{distribution}_{rows}", f"{distribution}_{rows // 10}"
    for (layout, distance), bar in SEARCH_BARS[distribution].items():
        layouts = [blocks for blocks, distances in DISTANCES_OF_LAYOUT.items() if distance in distances]
        ratio, blocks = min(
            (measured.searches[blocks, distance].ratio((NEAR, table), (LOOKUP, table)), blocks)
            for blocks in ([4] if layout == "default" else layouts)
        )
        label = f"{distribution}, {layout} layout ({blocks} blocks), distance {distance}"
        yield f"{label}: {ratio:.1f} look-ups by primary key, bar {bar}", ratio <= bar
    ratio, bar = measured.nearest.ratio((NEAREST, table), (LOOKUP, table)), NEAREST_BARS[distribution]
    yield f"{distribution}, {NEAREST}: {ratio:.1f} look-ups by primary key, bar {bar}", ratio <= bar
    faster, bar = measured.sorts.median_ms((SORT, table)) / measured.nearest.median_ms((FAR, table)), MIN_TIMES_AS_FAST
    yield f"{distribution}, {FAR}: {faster:.0f} times as fast as scan and sort, bar {bar}", faster >= bar
    growth, bar = measured.searches[4, 3].ratio((NEAR, table), (NEAR, small)), MAX_GROWTH
    yield (f"{distribution}, 4 blocks, distance 3: {growth:.2f} times as long in ten times the rows, bar {bar}",
           growth <= bar)


if __name__ == "__main__":
    main()
