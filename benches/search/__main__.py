"""What searches cost by the layout of the blocks, the distance k and the number of rows.

    python benches/search RUNS ROWS FINGERPRINTS CURVE.svg

Tables of ROWS rows and of a tenth of them, of uniform fingerprints and of those of texts (the file FINGERPRINTS, from
fingerprints.rs, has a thousand more than ROWS), are searched by hand and with simhash_near; uniform ones of other sizes
too, for the curve. Needs PYTHONPATH=benches, and psql's environment (PGHOST and so on) pointing to a server with
pg_simhash.

Everything is warm and in shared buffers, and all tables of a kind take turns: medians of RUNS runs, and of the runs'
ratios to a primary-key lookup in the same table. Whatever is found is compared with a scan of the whole table.
"""

import sys
from statistics import median

import curve
import exact
import inserts
import joins
import searches
import skew
import tables
from layouts import create_indexes, drop_indexes, indexes
from searches import HAND, LOOKUP, NEAR
from server import warm
from statements import psql, seconds, value

# The distances that a layout suits: beyond, four blocks have too many candidates, and two halves too many probes.
DISTANCES = {4: range(6), 3: range(9), 2: range(6)}
CURVE_DISTANCE = 3
FULL = 10_000_000


def main():
    runs, rows, file, svg = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
    buffers, work_mem = value("SHOW shared_buffers"), value("SHOW work_mem")
    print(
        f"PostgreSQL: shared_buffers {buffers}, work_mem {work_mem}, no JIT, no parallel workers; pgbench -M prepared,"
        f" one client, on the server's CPU; medians of {runs} runs. Generic plans unless said."
    )
    judge = Judge(rows)
    points = curve.Points()
    for distribution in ("uniform", "text"):
        measure_distribution(distribution, runs, rows, file, judge, points)
    many_blocks(runs, rows, judge)
    inserts.report(runs, rows)
    skew.report(min(runs, 3), rows)
    curve.draw(points, svg)
    judge.print()


def measure_distribution(distribution, runs, rows, file, judge, points):
    judged = rows // 10, rows
    drawn = (rows // 1000, rows // 100, rows * 3 // 10) if distribution == "uniform" else ()
    everything = tables.prepare(distribution, (*judged, *drawn), file)
    sizes = {table: size for table, size in everything.items() if size in judged}
    for table in sizes:
        exact.scan(table)

    for blocks, distances in DISTANCES.items():
        print(f"\n{distribution} fingerprints, {blocks} blocks")
        for table, size in everything.items():
            built = seconds(*create_indexes(table, blocks))
            warm(*indexes(table, blocks))
            if table in sizes:
                stored = tables.index_bytes(indexes(table, blocks)) / size
                print(
                    f"{size:,} rows: indexes built in {built:.2f} s, {stored:.1f} bytes a row;"
                    f" commonest value of a block: {tables.commonest(table, blocks):.4%} of the rows"
                )
        times, wrong = searches.report(sizes, blocks, distances, runs)
        judge.wrong += wrong
        judge.add(distribution, blocks, times, sizes)
        searches.report_plans(sizes, blocks, CURVE_DISTANCE, runs)
        searches.report_kinds(sizes, blocks, CURVE_DISTANCE, runs)
        joins.report(sizes, blocks, (3, 5) if blocks == 3 else (3,), runs)
        if distribution == "uniform":
            found = searches.time_searches(everything, blocks, CURVE_DISTANCE, runs, "force_generic_plan")
            points.add(blocks, {size: found.ms((NEAR, table)) for table, size in everything.items()})
            points.add_lookups({size: found.ms((LOOKUP, table)) for table, size in everything.items()})
        for table in everything:
            psql(drop_indexes(table, blocks))


def many_blocks(runs, rows, judge):
    """Five to eight blocks are for small tables: they, beside three and four, in one of a hundredth of the rows."""
    size = rows // 100
    table = f"many_blocks_{size}"
    layouts = range(3, 9)
    tables.create(table, layouts)
    tables.fill_uniform(table, size)
    tables.finish(table)
    tables.queries(table, size, "others_uniform")
    exact.scan(table)
    for blocks in layouts:
        psql(*create_indexes(table, blocks))
        stored = tables.index_bytes(indexes(table, blocks)) / size
        print(f"\nuniform fingerprints, {blocks} blocks, {size:,} rows, {stored:.1f} bytes a row in indexes")
        _, wrong = searches.report({table: size}, blocks, range(4, 9), min(runs, 3))
        judge.wrong += wrong
        psql(drop_indexes(table, blocks))
    psql(f"DROP TABLE {table}, queries_{table}")


class Judge:
    """Holds the measurements against what was promised."""

    def __init__(self, rows):
        self.rows = rows
        self.wrong = 0
        self.times = {}

    def add(self, distribution, blocks, times, sizes):
        for k, measured in times.items():
            for table, size in sizes.items():
                self.times[distribution, blocks, k, size] = measured, table

    def print(self):
        big, small = self.rows, self.rows // 10
        print()
        if big != FULL:
            print(f"The bars are for {FULL:,} rows; here for {big:,}:")
        for distribution in ("uniform", "text"):
            for form in (HAND, NEAR):
                self.lookups(distribution, form, 2, 3, big, 8)
                self.lookups(distribution, form, 4, 3, small, 8)
                self.lookups(distribution, form, 3, 5, big, 40)
                self.growth(distribution, form, 2, 3, small, big, 1.5)
        self.near()
        print(f"wrong rows in all searches: {self.wrong}, bar 0 (recall exactly 1): {verdict(self.wrong == 0)}")
        if self.wrong:
            sys.exit("searches differ from scans")

    def lookups(self, distribution, form, blocks, k, rows, bar):
        times, table = self.times[distribution, blocks, k, rows]
        ratio = times.ratio((form, table), (LOOKUP, table))
        print(
            f"{distribution}, {form}, {blocks} blocks, k = {k}, {rows:,} rows: {ratio:.1f} primary-key lookups,"
            f" bar {bar}: {verdict(ratio <= bar)}"
        )

    def growth(self, distribution, form, blocks, k, small, big, bar):
        times, table = self.times[distribution, blocks, k, big]
        _, other = self.times[distribution, blocks, k, small]
        ratio = times.ratio((form, table), (form, other))
        print(
            f"{distribution}, {form}, {blocks} blocks, k = {k}: {ratio:.2f} times as long in {big:,} rows as in"
            f" {small:,}, bar {bar}: {verdict(ratio <= bar)}"
        )

    def near(self):
        ratios = {
            case: times.ratio((NEAR, table), (HAND, table)) for case, (times, table) in self.times.items()
        }
        (distribution, blocks, k, rows), worst = max(ratios.items(), key=lambda item: item[1])
        print(
            f"simhash_near to the same by hand, worst of {len(ratios)} cases ({distribution}, {blocks} blocks, k = {k},"
            f" {rows:,} rows): {worst:.2f}, bar 1.1: {verdict(worst <= 1.1)}; median {median(ratios.values()):.2f}"
        )


def verdict(reached):
    return "reached" if reached else "MISSED"


if __name__ == "__main__":
    main()
