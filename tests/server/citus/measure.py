"""Times of searches, samples, pairs and clusters of a table that Citus distributes, beside a copy on the coordinator.

    python tests/server/citus/measure.py ROWS NAME=USER@HOST:PORT...

The arguments after the number of rows are the addresses of the servers coordinator, one and two, on which docs/citus.md
has been run. Needs the packages of tests/requirements.txt.
"""

import statistics
import sys
import time

from cluster import Servers, statements

SHARDS = 8
SEARCHES = 50

# A hundredth of the fingerprints are near the one before.
TABLES = """
CREATE SCHEMA measured;
SET search_path = measured, public;
CREATE TABLE prints_copy (tenant integer NOT NULL, id bigint NOT NULL, fp bigint, PRIMARY KEY (tenant, id));
INSERT INTO prints_copy
SELECT n % 1000, n, CASE WHEN n % 100 = 0 THEN hashint8extended(n - 1, 1) # 5 ELSE hashint8extended(n, 1) END
FROM generate_series(1, {rows}) AS n;
SELECT simhash_attach('prints_copy', 'fp');
CREATE TABLE prints (tenant integer NOT NULL, id bigint NOT NULL, fp bigint, PRIMARY KEY (tenant, id));
SELECT create_distributed_table('prints', 'tenant', shard_count => {shards});
INSERT INTO prints SELECT tenant, id, fp FROM prints_copy;
SELECT simhash_attach('prints', 'fp');
VACUUM ANALYZE prints;
VACUUM ANALYZE prints_copy;
CREATE TABLE keyed (key integer NOT NULL, id bigint NOT NULL, fp bigint NOT NULL);
SELECT create_distributed_table('keyed', 'key', shard_count => {shards}, colocate_with => 'none');
"""
NEAR = "SELECT id FROM {t} WHERE simhash_near(fp, %s)"
# One row of each server; the sub-select is of the same table.
BY_SUB_SELECT = "SELECT id FROM {t} WHERE simhash_near(fp, (SELECT fp FROM {t} WHERE tenant = %s %% 1000 AND id = %s))"
NEAREST = "SELECT id FROM {t} ORDER BY fp <~> %s LIMIT 10"
SKEW = "SELECT count(*) FROM simhash_layouts('{t}', 'fp')"
PAIRS = """
SELECT count(*) FROM (SELECT array_agg(id) AS ids, array_agg(fp) AS prints FROM {t}) AS t, simhash_pairs(ids, prints)"""
CLUSTERS = """
SELECT count(DISTINCT cluster) FROM (SELECT simhash_cluster(fp, fp) OVER () AS cluster FROM {t}) AS t"""
KEYS = "INSERT INTO keyed SELECT i * 16 + (simhash_block(fp, i) >> 12), id, fp FROM prints, generate_series(0, 3) AS i"
KEYED_PAIRS = """
CREATE TABLE pairs AS SELECT DISTINCT a, b
FROM (SELECT array_agg(id ORDER BY id) AS ids, array_agg(fp ORDER BY id) AS prints FROM keyed GROUP BY key) AS groups,
    simhash_pairs(ids, prints)"""
COMPONENTS = """
SELECT count(DISTINCT component) FROM (SELECT array_agg(a) AS a, array_agg(b) AS b FROM pairs) AS p,
    simhash_components(p.a, p.b)"""


def main():
    rows = int(sys.argv.pop(1))
    connection = Servers().connect()
    connection.execute("SET client_min_messages = warning")

    def seconds(sql, *values):
        start = time.perf_counter()
        connection.execute(sql, values or None)
        return time.perf_counter() - start

    for statement in statements(TABLES.format(rows=rows, shards=SHARDS)):
        connection.execute(statement)
    ids = [1 + n * (rows // SEARCHES) for n in range(SEARCHES)]
    prints = [connection.execute("SELECT fp FROM prints_copy WHERE id = %s", [n]).fetchone()[0] for n in ids]
    print(f"{rows} rows, {SHARDS} shards on two servers: distributed, local")
    for name, form, values in (
        ("search", NEAR, [(fp,) for fp in prints]),
        ("search by a sub-select", BY_SUB_SELECT, [(n, n) for n in ids]),
        ("ten nearest", NEAREST, [(fp,) for fp in prints[:10]]),
    ):
        medians = []
        for table in "prints", "prints_copy":
            sql = form.format(t=table)
            times = [seconds(sql, *value) for _ in range(2) for value in values]
            medians.append(statistics.median(times[len(values) :]))
        print(f"{name + ', ms':28} {1000 * medians[0]:8.2f} {1000 * medians[1]:8.2f}")
    for name, sql in ("simhash_layouts, s", SKEW), ("simhash_pairs, s", PAIRS), ("simhash_cluster, s", CLUSTERS):
        times = [seconds(sql.format(t=table)) for table in ("prints", "prints_copy")]
        print(f"{name:28} {times[0]:8.2f} {times[1]:8.2f}")
    for name, sql in ("key table, s", KEYS), ("its pairs, s", KEYED_PAIRS), ("simhash_components, s", COMPONENTS):
        print(f"{name:28} {seconds(sql):8.2f}")
    found = [connection.execute(sql).fetchone()[0] for sql in ("SELECT count(*) FROM pairs", PAIRS.format(t="prints"))]
    print("pairs by the key table, and by one array:", *found)
    sys.exit(found[0] != found[1])


if __name__ == "__main__":
    main()
