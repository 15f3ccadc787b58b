"""Times joins: a thousand searches in one statement."""

from exact import NESTED
from layouts import near
from server import Way, measure
from tables import QUERIES


def report(sizes, distances, runs):
    """Prints a line for each distance and table; returns milliseconds a search by distance and table."""
    found = {}
    for k in distances:
        ways = {}
        for table in sizes:
            join = f"FROM queries_{table} AS q JOIN {table} AS t"
            of_k = f"WHERE q.k = {k}"
            ways["lookup", table] = Way(f"SELECT count(t.simhash) {join} ON t.id = q.row {of_k}")
            ways["near", table] = Way(f"SELECT count(t.id) {join} ON {near(k, 'q.simhash')} {of_k}")
        times = measure(ways, runs, sizes, least=1, **NESTED)
        for table, rows in sizes.items():
            each = {way: times.ms((way, table)) / QUERIES for way in ("lookup", "near")}
            ratio = times.ratio(("near", table), ("lookup", table))
            print(
                f"join of {QUERIES} queries, k = {k}, {rows:,} rows: ms a query: lookup {each['lookup']:.4f},"
                f" near {each['near']:.4f} ({ratio:.0f} x lookup)",
                flush=True,
            )
            found[k, table] = each["near"]
    return found
