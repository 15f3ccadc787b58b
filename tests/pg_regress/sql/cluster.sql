-- simhash_cluster: the cluster of near-duplicates to which a row of a window belongs.
CREATE TABLE docs (id integer PRIMARY KEY, tenant text, fp bigint);
INSERT INTO docs VALUES
    (1, 'a', 0), (2, 'a', -1), (3, 'b', 1), (4, 'a', NULL), (5, 'a', 63), (6, 'b', 7), (7, 'a', -2), (8, 'b', NULL),
    (9, NULL, 5), (10, NULL, 5);
-- 0, 1, 5, 7 and 63 are a chain of steps of at most 3, though 0 and 63 are at distance 6.
-- A cluster is named after its first row: another order gives the same clusters other names. Each partition is
-- clustered by itself, and NULL is a partition too. Frames make no difference.
SELECT *, simhash_cluster(id, fp) OVER w AS cluster, simhash_cluster(id, fp, 0) OVER w AS same,
    simhash_cluster(id, fp, max_distance => 1) OVER w AS one, simhash_cluster(id, fp, 64) OVER w AS all,
    simhash_cluster(id, fp) OVER (ORDER BY id DESC) AS descending,
    simhash_cluster(id, fp) OVER (PARTITION BY tenant ORDER BY id) AS of_tenant,
    simhash_cluster(id, fp) OVER (ORDER BY id RANGE BETWEEN 1 PRECEDING AND 1 PRECEDING EXCLUDE CURRENT ROW) AS range
FROM docs WINDOW w AS (ORDER BY id) ORDER BY id;
-- The distance is the one given by the partition's first row; if that is NULL, all clusters are NULL.
SELECT id, simhash_cluster(id, fp, id - 1) OVER w AS first, simhash_cluster(id, fp, NULL) OVER w AS unknown
FROM docs WINDOW w AS (ORDER BY id) ORDER BY id LIMIT 3;
-- The window function starts anew each time that a correlated sub-select is evaluated.
SELECT n, (SELECT string_agg(cluster::text, ' ' ORDER BY id) FROM
    (SELECT id, simhash_cluster(id, fp, n) OVER (ORDER BY id) AS cluster FROM docs WHERE id > n) AS clusters)
FROM generate_series(0, 3) AS n;

SELECT errors($$SELECT simhash_cluster(1, 1)$$, $$SELECT simhash_cluster(id, fp, -1) OVER () FROM docs$$,
    $$SELECT simhash_cluster(id, fp, 65) OVER () FROM docs$$, $$SELECT max(simhash_cluster(id, fp)) FROM docs$$,
    $$SELECT id FROM docs WHERE simhash_cluster(id, fp) OVER () = 1$$);
