"""How long PostgreSQL plans a query while pg_simhash is loaded, beside the same query without it.

    python benches/search/planning.py RUNS

The queries without a condition of pg_simhash are planned in a session that has not loaded the library, and in one that
has; those of a table of fingerprints, with the statistics by which PostgreSQL loads the library, and without them.
Those with a condition are planned with pg_simhash.enable_scan off, and on. Needs PYTHONPATH=benches, and psql's
environment (PGHOST and so on) pointing to a server with pg_simhash.

Times are medians of RUNS plans, of EXPLAIN (SUMMARY), after a plan that fills the caches. Both ways take turns.
"""

import re
import statistics
import sys

from statements import psql, value

TABLES, PARTITIONS = 20, 400
LOADED = ("", "LOAD 'pg_simhash'")
# Only the table in the second schema still has the statistics.
LOADS = tuple(f"SET search_path = {schema}" for schema in ("bare, public", "attached, public"))
ENABLED = tuple(f"LOAD 'pg_simhash'; SET pg_simhash.enable_scan = {value}" for value in ("off", "on"))
JOINS = " ".join(f"JOIN joined_{n} USING (id)" for n in range(1, TABLES))
NEAR = "simhash_near(simhash, 42, 3)"
# Each with a name, the query, what a session without and one with the library runs before it, and the bar for the ratio.
QUERIES = (
    ("one table", "SELECT body FROM joined_0 WHERE id = 1", LOADED, 1.1),
    ("one table of fingerprints", "SELECT id FROM fingerprints WHERE id = 1", LOADS, 1.1),
    (f"{TABLES} tables joined", f"SELECT count(*) FROM joined_0 {JOINS} WHERE id < 9", LOADED, 1.1),
    (f"{PARTITIONS} partitions", "SELECT count(*) FROM partitioned WHERE body = 'a'", LOADED, 1.1),
    ("a search of one table", f"SELECT id FROM searched WHERE {NEAR}", ENABLED, None),
    (f"a search, {TABLES} tables joined", f"SELECT id FROM searched JOIN joined_0 USING (id) {JOINS} WHERE {NEAR}",
     ENABLED, None),
    (f"a search of {PARTITIONS} partitions", f"SELECT id FROM partitioned WHERE {NEAR}", ENABLED, 2),
)


def main():
    runs = int(sys.argv[1])
    make()
    print(f"Milliseconds to plan a query, medians of {runs} plans\n")
    print(f"{'query':<34} {'without':>9} {'with':>9} {'ratio':>6}")
    for name, query, ways, bar in QUERIES:
        without, with_it = planned(query, ways, runs)
        ratio = with_it / without
        verdict = f"  bar {bar}: {'reached' if ratio <= bar else 'MISSED'}" if bar else ""
        print(f"{name:<34} {without:>9.3f} {with_it:>9.3f} {ratio:>6.2f}{verdict}", flush=True)


def make():
    psql("CREATE TABLE searched (id bigint PRIMARY KEY, body text)",
         "CREATE TABLE partitioned (id bigint, body text, PRIMARY KEY (id)) PARTITION BY RANGE (id)",
         "SELECT simhash_attach('searched', 'body'), simhash_attach('partitioned', 'body')",
         *(f"CREATE TABLE joined_{n} AS SELECT id, 'text'::text AS body FROM generate_series(1, 1000) AS id"
           for n in range(TABLES)),
         *(f"ALTER TABLE joined_{n} ADD PRIMARY KEY (id)" for n in range(TABLES)),
         *(f"CREATE TABLE part_{n} PARTITION OF partitioned FOR VALUES FROM ({n}) TO ({n + 1})"
           for n in range(PARTITIONS)),
         "INSERT INTO partitioned (id, body) SELECT n, 'some words ' || n FROM generate_series(0, 399) AS n",
         "INSERT INTO searched (id, body) SELECT n, 'some words ' || n FROM generate_series(1, 1000) AS n")
    for schema in ("attached", "bare"):
        table = f"{schema}.fingerprints"
        psql(f"CREATE SCHEMA {schema}",
             f"CREATE TABLE {table} AS SELECT id, hashint8extended(id, 0) AS hash FROM generate_series(1, 1000) AS id",
             f"ALTER TABLE {table} ADD PRIMARY KEY (id)", f"SELECT simhash_attach('{table}', 'hash')")
    names = value("SELECT string_agg(stxname, ',') FROM pg_statistic_ext WHERE stxnamespace = 'bare'::regnamespace",
                  search_path="bare")
    psql(f"DROP STATISTICS {names}", search_path="bare")
    psql("VACUUM ANALYZE")


def planned(query, ways, runs):
    """The medians of the times in each way."""
    turns = 5
    times = ([], [])
    for _ in range(turns):
        for way, found in zip(ways, times):
            rows = psql(*way.split("; ") if way else (), *([f"EXPLAIN (SUMMARY) {query}"] * (runs // turns + 1)))
            lines = (re.fullmatch(r"Planning Time: (\S+) ms", row[0]) for row in rows)
            found += [float(line[1]) for line in lines if line][1:]
    return map(statistics.median, times)


if __name__ == "__main__":
    main()
