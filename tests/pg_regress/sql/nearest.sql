-- ORDER BY fingerprint <~> query: the nearest rows first.
CREATE TABLE prints (id integer PRIMARY KEY, tag integer, fp bigint);
-- Random fingerprints; each fourth is in a group of near ones, and each fiftieth is NULL.
INSERT INTO prints
SELECT n, n % 10, CASE
    WHEN n % 50 = 0 THEN NULL
    WHEN n % 4 = 0 THEN random_fingerprint(n % 40) # (1::bigint << n % 64) # (1::bigint << n % 7)
    ELSE random_fingerprint(n) END FROM generate_series(1, 20000) n;
SELECT simhash_attach('prints', 'fp', prefix => 'b');
VACUUM ANALYZE prints;

-- Whether a query gives the same distances in the same order as without the scan, and whether its plan has the scan.
CREATE FUNCTION compare_order(query text) RETURNS text LANGUAGE sql AS $$
    SELECT CASE WHEN same_rows(format('SELECT array_agg(d) FROM (%s) AS s', query)) THEN 'same' ELSE 'DIFFERENT' END
        || coalesce((SELECT ', by the scan' FROM plan_lines(query, 'Order By:') LIMIT 1), '')
        || coalesce((SELECT CASE WHEN line ~ 'Incremental' THEN ', sorted in groups' ELSE ', sorted' END
            FROM plan_lines(query, '(^|->  )(Incremental )?Sort') AS line ORDER BY line DESC LIMIT 1), '')
$$;
SELECT fp AS q FROM prints WHERE id = 404 \gset

SELECT id, fp <~> :q AS distance FROM prints ORDER BY fp <~> :q LIMIT 1;
-- If nothing is near (42), the search grows, and in the end reads an index once.
SELECT compare_order(format('SELECT fp <~> %s AS d FROM prints ORDER BY d LIMIT 10', q)) FROM unnest(ARRAY[:q, 42]) q;
-- All rows. The rows without a fingerprint come last.
SET enable_sort = off;
SELECT compare_order('SELECT fp <~> 42 AS d FROM prints ORDER BY d');
SELECT count(*), count(fp) FROM (SELECT fp FROM prints ORDER BY fp <~> (SELECT NULL::bigint)) AS s;
RESET enable_sort;

-- With conditions: on the distance, on other columns, on both.
SELECT compare_order(format('SELECT fp <~> %s AS d FROM prints WHERE fp <~> %1$s < 3 AND tag = 4 ORDER BY d LIMIT 5', :q));
SELECT compare_order(format('SELECT fp <~> %s AS d FROM prints WHERE tag = 3 ORDER BY d LIMIT 5', :q));
-- Further keys sort the rows at each distance.
SELECT compare_order(format('SELECT fp <~> %s AS d FROM prints ORDER BY d, id LIMIT 10', :q));
SELECT array_agg(id) FROM (SELECT id FROM prints WHERE simhash_near(fp, :q, 2) ORDER BY fp <~> :q, id LIMIT 5) AS s;
-- Orders that the scan does not have.
SELECT compare_order(format('SELECT fp <~> %s AS d FROM prints ORDER BY d %s', :q, rest))
FROM unnest('{DESC LIMIT 5,NULLS FIRST LIMIT 500}'::text[]) AS rest;

-- min() and LATERAL find the nearest rows, too.
SELECT compare_order(format('SELECT min(fp <~> %s) AS d FROM prints', :q));
SELECT json_object_agg(a.id, b.d ORDER BY a.id)
FROM prints a, LATERAL (SELECT fp <~> a.fp AS d FROM prints WHERE id <> a.id ORDER BY d LIMIT 1) b
WHERE a.id IN (4, 8, 44, 50);
-- With little memory, the farthest rows are dropped and found again; rows at a single distance need no memory.
SET work_mem = '64kB'; SET enable_sort = off;
SELECT compare_order('SELECT fp <~> 42 AS d FROM prints ORDER BY d');
INSERT INTO prints SELECT 20000 + n, 1, 42 FROM generate_series(1, 10000) n;
SELECT compare_order('SELECT fp <~> 42 AS d FROM prints ORDER BY d'),
    compare_order('SELECT fp <~> 43 AS d FROM prints WHERE simhash_near(fp, 43, 20) ORDER BY d');
DELETE FROM prints WHERE id > 20000; RESET enable_sort; RESET work_mem;

-- Partitions are merged in order; one has other columns, one has indexes without the fingerprint, and one none.
CREATE TABLE parts (id integer, tag integer, fp bigint) PARTITION BY LIST (tag);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES IN (0, 1, 2);
CREATE TABLE parts_1 (fp bigint, gone text, tag integer, id integer);
ALTER TABLE parts_1 DROP COLUMN gone;
ALTER TABLE parts ATTACH PARTITION parts_1 FOR VALUES IN (3, 4, 5);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES IN (6, 7);
CREATE TABLE parts_3 PARTITION OF parts DEFAULT;
INSERT INTO parts SELECT id, tag, fp FROM prints;
SELECT run(format('CREATE INDEX ON %s (simhash_block(fp, %s)) %s', partition, block,
    CASE WHEN partition <> 'parts_2' THEN 'INCLUDE (fp)' END))
FROM unnest('{parts_0,parts_1,parts_2}'::text[]) AS partition, generate_series(0, 3) AS block;
VACUUM ANALYZE parts;
EXPLAIN (COSTS OFF) SELECT id FROM parts ORDER BY fp <~> :q LIMIT 3;
SELECT compare_order(format('SELECT fp <~> %s AS d FROM parts ORDER BY d LIMIT 20', :q));

-- Fingerprints that are computed in the query.
CREATE TABLE texts AS SELECT n AS id, 'text ' || n || ' of ' || n % 7 AS body FROM generate_series(1, 3000) n;
SELECT index_by_hand('texts', 'simhash(body)', 2);
SELECT compare_order($$SELECT simhash(body) <~> simhash('text 5 of 5') AS d FROM texts ORDER BY d LIMIT 5$$);

-- More rows at one distance than LIMIT asks for: the probes that find them suffice.
CREATE TABLE copies AS SELECT n AS id, CASE WHEN n <= 5000 THEN 42 ELSE hashint8extended(n, 0) END AS fp
FROM generate_series(1, 20000) n;
SELECT simhash_attach('copies', 'fp'); VACUUM ANALYZE copies;
SELECT run_lines('SELECT id FROM copies ORDER BY fp <~> 42 LIMIT 10', 'Blocks:|Descents:|Full Scans:');
SELECT count(*) FROM (SELECT fp FROM copies ORDER BY fp <~> 42 LIMIT 10) AS nearest WHERE fp = 42;

-- Parallel workers evaluate neither parameters of an outer query nor functions that are restricted to the leader.
CREATE FUNCTION restricted() RETURNS bigint STABLE PARALLEL RESTRICTED LANGUAGE plpgsql AS $$ BEGIN RETURN 42; END $$;
SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0; SET cpu_tuple_cost = 1; SET enable_seqscan = off;
SELECT DISTINCT plan_lines(query, 'Append') FROM unnest(ARRAY[
    'SELECT id FROM parts WHERE tag IN (1, 4) ORDER BY fp <~> restricted()',
    'SELECT ARRAY(SELECT id FROM parts WHERE tag IN (1, 4) ORDER BY fp <~> texts.id) FROM texts']) AS query;

-- No scan has the order of a value that is computed of several rows, or of which each row has several.
SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off;
SELECT DISTINCT compare_order(format('SELECT fp <~> %s AS d FROM copies WHERE fp = 42 GROUP BY fp ORDER BY d', query))
FROM unnest('{count(*),row_number() OVER (),"generate_series(1, 2)::bigint"}'::text[]) AS query;
