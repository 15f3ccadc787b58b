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
-- Beside other window functions, in one window and in several.
SELECT id, row_number() OVER w AS row, simhash_cluster(id, fp) OVER w AS near, simhash_cluster(id, fp, 64) OVER w AS far,
    lag(fp) OVER w AS before, sum(id) OVER w AS sum, simhash_cluster(id, fp) OVER (PARTITION BY id % 2 ORDER BY id) AS odd
FROM cluster_docs WINDOW w AS (ORDER BY id) ORDER BY id;
-- The distance is the one given by the partition's first row; if that is NULL, all clusters are NULL.
SELECT id, simhash_cluster(id, fp, id - 1) OVER (ORDER BY id) AS first, simhash_cluster(id, fp, NULL) OVER (ORDER BY id) AS unknown
FROM cluster_docs ORDER BY id LIMIT 3;
SELECT id, simhash_cluster(id, fp, 3, NULL) OVER (ORDER BY id) AS cluster FROM cluster_docs ORDER BY id LIMIT 3;
-- No rows, only NULLs, one row.
SELECT simhash_cluster(id, fp) OVER () FROM cluster_docs WHERE false;
SELECT simhash_cluster(id, fp) OVER () FROM cluster_docs WHERE fp IS NULL;
SELECT simhash_cluster(id, fp) OVER () FROM cluster_docs WHERE id = 5;
-- Evaluated repeatedly: in a correlated sub-select, and by a cursor that moves back.
SELECT n, (SELECT string_agg(cluster::text, ' ' ORDER BY id) FROM
    (SELECT id, simhash_cluster(id, fp, n) OVER (ORDER BY id) AS cluster FROM cluster_docs WHERE id > n) AS clusters)
FROM generate_series(0, 3) AS n;
BEGIN;
DECLARE clusters SCROLL CURSOR FOR SELECT id, simhash_cluster(id, fp) OVER (ORDER BY id) FROM cluster_docs ORDER BY id;
FETCH 2 FROM clusters;
FETCH BACKWARD 1 FROM clusters;
FETCH LAST FROM clusters;
FETCH FIRST FROM clusters;
ROLLBACK;

-- The same as from the pairs: each cluster is a connected component; with more rows than fit in memory.
SET work_mem = '64kB';
-- Chains of up to six rows, two bits a step; a row without a fingerprint breaks its chain in two.
CREATE TEMP TABLE cluster_many AS
SELECT n AS id, CASE WHEN n % 11 <> 0 THEN
    ('x' || left(md5((n % 900)::text), 16))::bit(64)::bigint # ((1::bigint << n / 900 * 2) - 1 << n % 9 * 6) END AS fp
FROM generate_series(1, 5000) AS n;
CREATE TEMP TABLE cluster_found AS SELECT id, fp, simhash_cluster(id, fp) OVER (ORDER BY id) AS cluster FROM cluster_many;
CREATE TEMP TABLE cluster_pairs AS
SELECT p.* FROM (SELECT array_agg(id) AS ids, array_agg(fp) AS fps FROM cluster_many) AS docs, simhash_pairs(ids, fps) AS p;
CREATE TEMP TABLE cluster_true AS SELECT id, id AS cluster FROM cluster_many WHERE fp IS NOT NULL;
CALL connect('cluster_true', 'cluster_pairs');
SELECT count(*) AS rows, count(cluster) AS fingerprints, count(DISTINCT cluster) AS clusters FROM cluster_found;
SELECT hamming(a.fp, b.fp) AS distance, count(*) AS in_one_cluster
FROM cluster_found AS a JOIN cluster_found AS b ON a.cluster = b.cluster AND a.id < b.id GROUP BY 1 ORDER BY 1;
SELECT count(*) AS differences FROM cluster_found AS f LEFT JOIN cluster_true AS t USING (id)
WHERE f.cluster IS DISTINCT FROM t.cluster;
RESET work_mem;

-- The fingerprint may be any expression.
SELECT id, simhash_cluster(id, simhash(body)) OVER (ORDER BY id) AS cluster
FROM (VALUES (1, 'one two three'), (2, 'something else'), (3, ''), (4, 'One, two, three!')) AS docs (id, body) ORDER BY id;

SELECT errors($$SELECT simhash_cluster(1, 1)$$, $$SELECT simhash_cluster(id, fp, -1) OVER () FROM cluster_docs$$,
    $$SELECT simhash_cluster(id, fp, 65) OVER () FROM cluster_docs$$, $$SELECT max(simhash_cluster(id, fp)) FROM cluster_docs$$,
    $$SELECT id FROM cluster_docs WHERE simhash_cluster(id, fp) OVER () = 1$$);
DROP TABLE cluster_docs;
