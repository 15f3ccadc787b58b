"""Times joins: a thousand searches in one statement."""

from exact import NESTED
from layouts import by_hand, near
from server import Way, measure
from tables import QUERIES


def report(sizes, blocks, distances, runs):
    for k in distances:
        ways = {}
        for table in sizes:
            join = f"FROM queries_{table} AS q JOIN {table} AS t"
            of_k = f"WHERE q.k = {k}"
            ways["lookup", table] = Way(f"SELECT count(t.simhash) {join} ON t.id = q.row {of_k}")
            ways["hand", table] = Way(f"SELECT count(t.id) {join} ON {by_hand(blocks, k, 'q.simhash')} {of_k}")
            ways["near", table] = Way(f"SELECT count(t.id) {join} ON {near(k, 'q.simhash')} {of_k}")
        times = measure(ways, runs, sizes, least=1, **NESTED)
        for table, rows in sizes.items():
            each = {way: times.ms((way, table)) / QUERIES for way in ("lookup", "hand", "near")}
            ratio = times.ratio(("near", table), ("lookup", table))
            print(
                f"join of {QUERIES} queries, k = {k}, {rows:,} rows: ms a query: lookup {each['lookup']:.4f},"
                f" by hand {each['hand']:.4f}, near {each['near']:.4f} ({ratio:.0f} x lookup)",
                flush=True,
            )
