"""Whether searches find what a scan of the whole table finds."""

from search.layouts import near_condition
from search.tables import DISTANCES, NEAREST_ROWS, QUERY_KINDS
from server import psql

# Queries of each distance that are checked.
CHECKED_QUERIES = 6


def store_expected(table):
    """Stores the rows that are near each checked query, by a scan of the whole table, with their distances."""
    psql(f"DROP TABLE IF EXISTS expected_{table}", f"""CREATE UNLOGGED TABLE expected_{table} AS
        SELECT query.distance AS query_distance, query.id AS query_id, searched.id,
            hamming(searched.fingerprint, query.fingerprint) AS distance
        FROM {table} AS searched JOIN queries_{table} AS query
            ON hamming(searched.fingerprint, query.fingerprint) <= {max(DISTANCES)}
        WHERE query.id <= {CHECKED_QUERIES}""", max_parallel_workers_per_gather=4)


def compare_with_scan(table, distance):
    """How many rows the checked queries find within a distance; and how many rows are only found, or only stored."""
    condition = near_condition(distance, "query.fingerprint")
    ((found, differing),) = psql(f"""
        WITH found AS MATERIALIZED (
            SELECT query.distance AS query_distance, query.id AS query_id, searched.id
            FROM queries_{table} AS query JOIN {table} AS searched ON {condition} WHERE query.id <= {CHECKED_QUERIES}
        ), expected AS MATERIALIZED (
            SELECT query_distance, query_id, id FROM expected_{table} WHERE distance <= {distance}
        )
        SELECT (SELECT count(*) FROM found), (SELECT count(*) FROM (
            (TABLE found EXCEPT ALL TABLE expected) UNION ALL (TABLE expected EXCEPT ALL TABLE found)) AS differing)""")
    return int(found), int(differing)


def compare_nearest_with_sort(table):
    """How many of the nearest distances differ from those of a scan and a sort, for some queries of each kind."""
    # They are few: each one sorts the table.
    statement = f"""SELECT query.distance, query.id, nearest.distance FROM queries_{table} AS query, LATERAL (
            SELECT fingerprint <~> query.fingerprint AS distance FROM {table} ORDER BY distance LIMIT {NEAREST_ROWS}
        ) AS nearest WHERE query.id <= {QUERY_KINDS} AND query.distance < 2 ORDER BY 1, 2, 3"""
    found = psql(statement)
    expected = psql(statement, **{"pg_simhash.enable_scan": "off"})
    return sum(one != other for one, other in zip(found, expected, strict=True))
