"""Times searches and orders by distance, and primary-key lookups, in tables of several sizes."""

from exact import compare_nearest_with_sort, compare_with_scan
from layouts import near, probes
from tables import QUERIES
from timing import Statement, measure

ANSWER, LOOKUP, NEAR = "an empty answer", "lookup", "simhash_near"
NEAREST, FAR, SORT = "nearest 10 of near ones", "nearest 10, nothing near", "scan and sort"
LIMIT = 10


def report(sizes, blocks, distances, runs):
    """Prints a line for each distance and table (`sizes` has its number of rows); returns the times by distance, and
    the number of differing rows."""
    print(f"{'k':>2} {'rows':>11} {'probes':>7} {'found':>6} {'wrong':>6} {'lookup, ms':>11} {'near, ms':>9}"
          f" {'x lookup':>9}")
    times, all_differing = {}, 0
    for k in distances:
        timed = {ANSWER: Statement("SELECT 1")}
        for table, rows in sizes.items():
            timed[LOOKUP, table] = lookup(table, rows)
            timed[NEAR, table] = Statement(f"SELECT t.id FROM {table} AS t WHERE {near(k, ':q')}", *choose(table, k))
        times[k] = measure(timed, runs, sizes)
        for table, rows in sizes.items():
            found, differing = compare_with_scan(table, k, near(k, "q.simhash"))
            all_differing += differing
            print(f"{k:>2} {rows:>11,} {probes(blocks, k):>7,} {found:>6} {differing:>6}"
                  f" {figures(times[k], table)}", flush=True)
    return times, all_differing


def report_nearest(sizes, runs):
    """Orders by distance; returns the times, those of sorts, and the number of differing distances. The near ones are
    ten copies of a row of each table, with at most three bits flipped."""
    timed, sorting = {ANSWER: Statement("SELECT 1")}, {ANSWER: Statement("SELECT 1")}
    for table, rows in sizes.items():
        timed[LOOKUP, table] = lookup(table, rows)
        timed[NEAREST, table] = nearest(table, ":q", *choose_copied(table))
        timed[FAR, table] = nearest(table, ":q", *choose(table, 0, of_another=True))
        sorting[SORT, table] = nearest(table, ":q", *choose(table, 0, of_another=True), enabled="off")
    times = measure(timed, runs, sizes, min_transactions=5)
    sorts = measure(sorting, min(runs, 3), sizes, min_transactions=2)
    all_differing = 0
    for table, rows in sizes.items():
        differing = compare_nearest_with_sort(table, LIMIT)
        all_differing += differing
        for form in (NEAREST, FAR):
            print(f"{form}, {rows:,} rows: {figures(times, table, form)} x lookup", flush=True)
        print(f"nearest {LIMIT} of all queries, {rows:,} rows: wrong distances: {differing}")
        sort, far = sorts.ms((SORT, table)), times.ms((FAR, table))
        print(f"{SORT}, {rows:,} rows: {sort:.1f} ms, {sort / far:.0f} times as long as {FAR}")
    return times, sorts, all_differing


def figures(times, table, form=NEAR):
    """The times of a look-up and of a search, in ms, and their ratio."""
    statement, other = (form, table), (LOOKUP, table)
    return f"{times.ms(other):>11.3f} {times.ms(statement):>9.3f} {times.ratio(statement, other):>9.1f}"


def lookup(table, rows):
    return Statement(f"SELECT simhash FROM {table} WHERE id = :row", f"\\set row random(1, {rows})")


def nearest(table, query, *setup, enabled="on"):
    return Statement(f"SELECT id FROM {table} ORDER BY simhash <~> {query} LIMIT {LIMIT}", *setup, set_scan(enabled))


def choose(table, k, of_another=False):
    """Commands that choose one of the table's queries at random, or one of those that are of another text: every third
    one (tables.make_queries)."""
    choice = f"3 * random(0, {QUERIES // 3 - 1}) + 2" if of_another else f"random(1, {QUERIES})"
    return f"\\set i {choice}", f"SELECT simhash AS q FROM queries_{table} WHERE k = {k} AND id = :i \\gset"


def choose_copied(table):
    """Commands that choose one of the table's rows that have near copies."""
    return "\\set i random(0, 99)", f"SELECT simhash AS q FROM copied_{table} WHERE id = :i \\gset"


def set_scan(enabled):
    """A command that lets the next plan use the scan, or not."""
    return f"SELECT set_config('pg_simhash.enable_scan', '{enabled}', false) AS scan \\gset"
