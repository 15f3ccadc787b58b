"""Whether searches find what a scan of the whole table finds."""

from statements import psql
from tables import DISTANCES

# Queries of each distance that are checked.
QUERIES = 6


def store_truth(table):
    """Stores the rows that are near each checked query, by a scan of the whole table, with their distances."""
    psql(
        f"DROP TABLE IF EXISTS truth_{table}",
        f"""CREATE UNLOGGED TABLE truth_{table} AS
        SELECT q.k, q.id AS query, t.id, hamming(t.simhash, q.simhash) AS distance
        FROM {table} AS t JOIN queries_{table} AS q ON hamming(t.simhash, q.simhash) <= {max(DISTANCES)}
        WHERE q.id <= {QUERIES}""",
        max_parallel_workers_per_gather=4,
    )


def compare_with_scan(table, k, condition):
    """How many rows a search by this condition on `t` and `q.simhash` finds, and how many differ from the scan."""
    ((found, differing),) = psql(
        f"""WITH found AS MATERIALIZED (
            SELECT q.k, q.id AS query, t.id FROM queries_{table} AS q JOIN {table} AS t ON {condition}
            WHERE q.id <= {QUERIES}
        ), truth AS MATERIALIZED (SELECT k, query, id FROM truth_{table} WHERE distance <= {k})
        SELECT (SELECT count(*) FROM found), (SELECT count(*) FROM (
            (TABLE found EXCEPT ALL TABLE truth) UNION ALL (TABLE truth EXCEPT ALL TABLE found)) AS difference)""",
    )
    return int(found), int(differing)


def compare_nearest_with_sort(table, limit):
    """How many distances differ from those of a scan and a sort, of some queries with and some without near rows."""
    statement = (
        f"SELECT q.k, q.id, d FROM queries_{table} AS q, LATERAL (SELECT simhash <~> q.simhash AS d FROM {table}"
        f" ORDER BY d LIMIT {limit}) AS t WHERE q.id <= 3 AND q.k < 2 ORDER BY 1, 2, 3"
    )
    found = psql(statement)
    truth = psql(statement, **{"pg_simhash.enable_scan": "off"})
    return sum(a != b for a, b in zip(found, truth, strict=True))
