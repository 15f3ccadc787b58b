"""Times searches and orders by distance, beside primary-key lookups, in tables of several sizes."""

from exact import check, check_nearest
from layouts import near, probes
from server import Way, measure
from tables import QUERIES

ANSWER, LOOKUP, NEAR = "an empty answer", "lookup", "simhash_near"
NEAREST, FAR, SORT = "nearest 10 of near ones", "nearest 10, nothing near", "scan and sort"
LIMIT = 10


def scan(enabled):
    """A command that lets the next plan use the scan, or not. A generic plan is made once, and kept."""
    return f"SELECT set_config('pg_simhash.enable_scan', '{enabled}', false) AS scan \\gset"


def lookup(table, rows):
    return Way(f"SELECT simhash FROM {table} WHERE id = :row", f"\\set row random(1, {rows})")


def choose(table, k, of_another=False):
    """Commands that choose one of the table's queries at random, or one of those that are of another text."""
    choice = f"3 * random(0, {QUERIES // 3 - 1}) + 2" if of_another else f"random(1, {QUERIES})"
    return f"\\set i {choice}", f"SELECT simhash AS q FROM queries_{table} WHERE k = {k} AND id = :i \\gset"


def nearest(table, query, *setup, enabled="on"):
    return Way(f"SELECT id FROM {table} ORDER BY simhash <~> {query} LIMIT {LIMIT}", *setup, scan(enabled))


def report(sizes, blocks, distances, runs):
    """Prints a line for each distance and table (`sizes` has its number of rows); returns the times of the ways by
    distance, and the number of wrong rows."""
    print(f"{'k':>2} {'rows':>11} {'probes':>7} {'found':>6} {'wrong':>6} {'lookup, ms':>11} {'near, ms':>9} {'x lookup':>9}")
    times, wrong = {}, 0
    for k in distances:
        ways = {ANSWER: Way("SELECT 1")}
        for table, rows in sizes.items():
            ways[LOOKUP, table] = lookup(table, rows)
            ways[NEAR, table] = Way(f"SELECT t.id FROM {table} AS t WHERE {near(k, ':q')}", *choose(table, k))
        times[k] = measure(ways, runs, sizes)
        for table, rows in sizes.items():
            found, differing = check(table, k, near(k, "q.simhash"))
            wrong += differing
            print(
                f"{k:>2} {rows:>11,} {probes(blocks, k):>7,} {found:>6} {differing:>6} {line(times[k], table)}", flush=True
            )
    return times, wrong


def line(times, table, form=NEAR):
    way, other = (form, table), (LOOKUP, table)
    return f"{times.ms(other):>11.3f} {times.ms(way):>9.3f} {times.ratio(way, other):>9.1f}"


def report_nearest(sizes, runs):
    """Orders by distance; returns the times and the number of wrong distances. The near ones are ten copies of a row of
    each table, with at most three bits flipped."""
    ways = {ANSWER: Way("SELECT 1")}
    for table, rows in sizes.items():
        ways[LOOKUP, table] = lookup(table, rows)
        ways[NEAREST, table] = nearest(table, ":q", "\\set i random(0, 99)", f"SELECT simhash AS q FROM copied_{table} WHERE id = :i \\gset")
        ways[FAR, table] = nearest(table, ":q", *choose(table, 0, of_another=True))
    times = measure(ways, runs, sizes, least=5)
    sorts = measure(
        {ANSWER: Way("SELECT 1")} | {(SORT, table): nearest(table, ":q", *choose(table, 0, of_another=True), enabled="off") for table in sizes},
        min(runs, 3), sizes, least=2,
    )
    wrong = 0
    for table, rows in sizes.items():
        differing = check_nearest(table, LIMIT)
        wrong += differing
        for form in (NEAREST, FAR):
            print(f"{form}, {rows:,} rows: {line(times, table, form)} x lookup; wrong distances: {differing}", flush=True)
        print(f"{SORT}, {rows:,} rows: {sorts.ms((SORT, table)):.1f} ms, {sorts.ms((SORT, table)) / times.ms((FAR, table)):.0f} times as long as {FAR}")
    return times, sorts, wrong
