"""What searches cost by the layout of the blocks, the distance k and the number of rows.

    python benches/search RUNS ROWS FINGERPRINTS

Tables of ROWS rows and of a tenth of them, of uniform fingerprints and of those of texts (the file FINGERPRINTS, from
fingerprints.rs, has a thousand more than ROWS), are searched with simhash_near and ordered by distance. Needs
PYTHONPATH=benches, and psql's environment (PGHOST and so on) pointing to a server with pg_simhash.

Everything is warm and in shared buffers, and all tables of a kind take turns: medians of RUNS runs, and of the runs'
ratios to a primary-key lookup in the same table. Whatever is found is compared with a scan of the whole table.
"""

import sys

import exact
import inserts
import searches
import tables
from layouts import create_indexes, drop_indexes, indexes
from searches import FAR, LOOKUP, NEAR, NEAREST, SORT
from server import warm
from statements import psql, seconds, value

# The distances that a layout suits.
DISTANCES = {4: range(9), 3: range(9), 2: range(6)}
FULL = 10_000_000
# The most primary-key lookups that a search may take among ten million rows, by the distribution.
SEARCH_BARS = {("best", 5): (15, 17), ("best", 8): (105, 110), ("default", 3): (4, 5)}
NEAREST_BARS = 4, 5
DISTRIBUTIONS = "uniform", "text"


def main():
    runs, rows, file = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    buffers, work_mem = value("SHOW shared_buffers"), value("SHOW work_mem")
    print(
        f"PostgreSQL: shared_buffers {buffers}, work_mem {work_mem}, no JIT, no parallel workers; pgbench -M prepared,"
        f" one client, on the server's CPU; medians of {runs} runs. Generic plans. Covering indexes."
    )
    judge = Judge(rows)
    for distribution in DISTRIBUTIONS:
        measure_distribution(distribution, runs, rows, file, judge)
    inserts.report(runs, rows)
    judge.print()


def measure_distribution(distribution, runs, rows, file, judge):
    sizes = tables.prepare(distribution, (rows // 10, rows), file)
    for table, size in sizes.items():
        tables.copies(table, size)
        exact.scan(table)
    for blocks, distances in DISTANCES.items():
        print(f"\n{distribution} fingerprints, {blocks} blocks")
        for table, size in sizes.items():
            built = seconds(*create_indexes(table, blocks))
            psql(f"VACUUM {table}")
            warm(*indexes(table, blocks))
            stored = tables.index_bytes(indexes(table, blocks)) / size
            print(
                f"{size:,} rows: indexes built in {built:.2f} s, {stored:.1f} bytes a row;"
                f" commonest value of a block: {tables.commonest(table, blocks):.4%} of the rows"
            )
        times, wrong = searches.report(sizes, blocks, distances, runs)
        judge.wrong += wrong
        judge.times |= {(distribution, blocks, k): measured for k, measured in times.items()}
        if blocks == 4:
            *judge.nearest[distribution], wrong = searches.report_nearest(sizes, runs)
            judge.wrong += wrong
        for table in sizes:
            psql(drop_indexes(table, blocks))


class Judge:
    """Holds the measurements against what was promised."""

    def __init__(self, rows):
        self.rows = rows
        self.wrong = 0
        self.times = {}
        self.nearest = {}

    def print(self):
        print()
        if self.rows != FULL:
            print(f"The bars are for {FULL:,} rows; here for {self.rows:,}:")
        for place, distribution in enumerate(DISTRIBUTIONS):
            self.distribution(place, distribution)
        print(f"wrong rows in all searches: {self.wrong}, bar 0 (recall exactly 1): {verdict(self.wrong == 0)}")
        if self.wrong:
            sys.exit("searches differ from scans")

    def distribution(self, place, distribution):
        table, small = f"{distribution}_{self.rows}", f"{distribution}_{self.rows // 10}"
        for (layout, k), bars in SEARCH_BARS.items():
            layouts = [4] if layout == "default" else [blocks for blocks in DISTANCES if k in DISTANCES[blocks]]
            ratio, blocks = min(
                (self.times[distribution, blocks, k].ratio((NEAR, table), (LOOKUP, table)), blocks) for blocks in layouts
            )
            say(f"{distribution}, {layout} layout ({blocks} blocks), k = {k}: {ratio:.1f} primary-key lookups", ratio, bars[place])
        times, sorts = self.nearest[distribution]
        ratio = times.ratio((NEAREST, table), (LOOKUP, table))
        say(f"{distribution}, {NEAREST}: {ratio:.1f} primary-key lookups", ratio, NEAREST_BARS[place])
        faster = sorts.ms((SORT, table)) / times.ms((FAR, table))
        print(f"{distribution}, {FAR}: {faster:.0f} times as fast as scan and sort, bar 50: {verdict(faster >= 50)}")
        growth = self.times[distribution, 4, 3].ratio((NEAR, table), (NEAR, small))
        say(f"{distribution}, 4 blocks, k = 3: {growth:.2f} times as long in ten times the rows", growth, 1.5)


def say(what, figure, bar):
    print(f"{what}, bar {bar}: {verdict(figure <= bar)}")


def verdict(reached):
    return "reached" if reached else "MISSED"


main()
