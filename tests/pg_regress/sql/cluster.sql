-- simhash_cluster: the cluster of near-duplicates to which a row of a window belongs.
CREATE TABLE cluster_docs (id integer PRIMARY KEY, tenant text, fp bigint);
INSERT INTO cluster_docs VALUES
    (1, 'a', 0), (2, 'a', -1), (3, 'b', 1), (4, 'a', NULL), (5, 'a', 63), (6, 'b', 7), (7, 'a', -2), (8, 'b', NULL),
    (9, NULL, 5), (10, NULL, 5);
-- 0, 1, 5, 7 and 63 are a chain of steps of at most 3, though 0 and 63 are at distance 6.
SELECT *, simhash_cluster(id, fp) OVER (ORDER BY id) AS cluster FROM cluster_docs ORDER BY id;
SELECT *, simhash_cluster(id, fp, 0) OVER (ORDER BY id) AS same, simhash_cluster(id, fp, max_distance => 1) OVER (ORDER BY id) AS one,
    simhash_cluster(id, fp, 64) OVER (ORDER BY id) AS all FROM cluster_docs ORDER BY id;
-- A cluster is named after its first row: another order gives the same clusters other names.
SELECT *, simhash_cluster(id, fp) OVER (ORDER BY id DESC) AS cluster FROM cluster_docs ORDER BY id;
-- Each partition is clustered by itself; NULL is a partition too.
SELECT *, simhash_cluster(id, fp) OVER (PARTITION BY tenant ORDER BY id) AS cluster FROM cluster_docs ORDER BY tenant, id;
-- Frames make no difference.
SELECT id, simhash_cluster(id, fp) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND CURRENT ROW) AS rows,
    simhash_cluster(id, fp) OVER (ORDER BY id RANGE BETWEEN 1 PRECEDING AND 1 PRECEDING EXCLUDE CURRENT ROW) AS range,
    simhash_cluster(id, fp) OVER (ORDER BY id GROUPS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE GROUP) AS groups
FROM cluster_docs ORDER BY id;
-- The distance is the one given by the partition's first row; if that is NULL, all clusters are NULL.
SELECT id, simhash_cluster(id, fp, id - 1) OVER (ORDER BY id) AS first, simhash_cluster(id, fp, NULL) OVER (ORDER BY id) AS unknown
FROM cluster_docs ORDER BY id LIMIT 3;
SELECT id, simhash_cluster(id, fp, 3, NULL) OVER (ORDER BY id) AS cluster FROM cluster_docs ORDER BY id LIMIT 3;
-- Only NULLs.
SELECT simhash_cluster(id, fp) OVER () FROM cluster_docs WHERE fp IS NULL;
-- Evaluated repeatedly, in a correlated sub-select.
SELECT n, (SELECT string_agg(cluster::text, ' ' ORDER BY id) FROM
    (SELECT id, simhash_cluster(id, fp, n) OVER (ORDER BY id) AS cluster FROM cluster_docs WHERE id > n) AS clusters)
FROM generate_series(0, 3) AS n;

SELECT errors($$SELECT simhash_cluster(1, 1)$$, $$SELECT simhash_cluster(id, fp, -1) OVER () FROM cluster_docs$$,
    $$SELECT simhash_cluster(id, fp, 65) OVER () FROM cluster_docs$$, $$SELECT max(simhash_cluster(id, fp)) FROM cluster_docs$$,
    $$SELECT id FROM cluster_docs WHERE simhash_cluster(id, fp) OVER () = 1$$);
