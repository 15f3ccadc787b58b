"""Times searches by hand and with simhash_near, beside primary-key lookups, in tables of several sizes."""

from exact import candidates_per_search, check
from layouts import by_hand, near, probes
from server import Way, measure
from tables import KINDS, QUERIES

ANSWER, LOOKUP, HAND, NEAR = "an empty answer", "lookup", "by hand", "simhash_near"
FORMS = {HAND: by_hand, NEAR: lambda blocks, k, query: near(k, query)}


def lookup(table, rows):
    return Way(f"SELECT simhash FROM {table} WHERE id = :row", f"\\set row random(1, {rows})")


def search(table, k, condition, kind=None):
    """A search for one of the table's queries, chosen at random, of a kind (an index of KINDS) or of all."""
    choice = f"random(1, {QUERIES})" if kind is None else f"3 * random({kind == 0:d}, {QUERIES // 3 - 1}) + {kind}"
    return Way(
        f"SELECT t.id FROM {table} AS t WHERE {condition}",
        f"\\set i {choice}",
        f"SELECT simhash AS q FROM queries_{table} WHERE k = {k} AND id = :i \\gset",
    )


def time_searches(sizes, blocks, k, runs, plans):
    """Times of the empty answer, and of (LOOKUP, HAND or NEAR, table), all in turns. `sizes`: rows by table."""
    ways = {ANSWER: Way("SELECT 1")}
    for table, rows in sizes.items():
        ways[LOOKUP, table] = lookup(table, rows)
        for form, condition in FORMS.items():
            ways[form, table] = search(table, k, condition(blocks, k, ":q"))
    return measure(ways, runs, sizes, plans)


def report(sizes, blocks, distances, runs):
    """Prints a line for each distance and table; returns the times by distance and the number of wrong rows."""
    print(
        f"{'k':>2} {'rows':>11} {'probes':>7} {'candidates':>11} {'found':>6} {'wrong':>6} {'lookup, ms':>11}"
        f" {'by hand, ms':>12} {'x lookup':>9} {'near, ms':>9} {'x lookup':>9} {'near : hand':>12}"
    )
    times = {}
    wrong = 0
    for k in distances:
        times[k] = time_searches(sizes, blocks, k, runs, "force_generic_plan")
        for table, rows in sizes.items():
            found, differing = compare(table, blocks, k)
            wrong += differing
            candidates = candidates_per_search(table, blocks, k)
            print(
                f"{k:>2} {rows:>11,} {probes(blocks, k):>7,} {candidates:>11,.1f} {found:>6} {differing:>6}"
                f" {line(times[k], table)}",
                flush=True,
            )
    return times, wrong


def line(times, table):
    of = {name: (name, table) for name in (LOOKUP, HAND, NEAR)}
    return (
        f"{times.ms(of[LOOKUP]):>11.3f}"
        f" {times.ms(of[HAND]):>12.3f} {times.ratio(of[HAND], of[LOOKUP]):>9.1f}"
        f" {times.ms(of[NEAR]):>9.3f} {times.ratio(of[NEAR], of[LOOKUP]):>9.1f}"
        f" {times.ratio(of[NEAR], of[HAND]):>12.2f}"
    )


def compare(table, blocks, k):
    """Rows found by hand, and those that either way finds wrongly or misses."""
    (found, wrong_by_hand), (_, wrong_near) = (
        check(table, k, condition(blocks, k, "q.simhash")) for condition in FORMS.values()
    )
    return found, wrong_by_hand + wrong_near


def report_plans(sizes, blocks, k, runs):
    """The same searches where each execution is planned anew."""
    times = time_searches(sizes, blocks, k, runs, "force_custom_plan")
    for table, rows in sizes.items():
        print(f"planned anew {k:>2} {rows:>11,} {'':>14} {line(times, table):>65}", flush=True)


def report_kinds(sizes, blocks, k, runs):
    """What the kinds of queries cost by themselves."""
    ways = {}
    for table, rows in sizes.items():
        ways[LOOKUP, table] = lookup(table, rows)
        for kind in range(len(KINDS)):
            ways[kind, table] = search(table, k, near(k, ":q"), kind)
    times = measure(ways, runs, sizes)
    for table, rows in sizes.items():
        print(f"simhash_near, k = {k}, {rows:,} rows, queries", end="")
        for kind, name in enumerate(KINDS):
            ms, ratio = times.ms((kind, table)), times.ratio((kind, table), (LOOKUP, table))
            print(f"{',' if kind else ''} {name} {ms:.3f} ms ({ratio:.1f} x lookup)", end="")
        print(flush=True)
