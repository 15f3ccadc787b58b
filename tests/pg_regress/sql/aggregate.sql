-- simhash_agg(feature, weight): the sum of simhash_of_features(features, weights) over rows.
CREATE TABLE terms AS
SELECT n, n % 101 AS document, CASE WHEN n % 11 <> 0 THEN 'term' || n * 7919 % 3001 END AS term,
    CASE WHEN n % 13 <> 0 THEN n % 17 / 10.0::float8 END AS weight FROM generate_series(1, 50000) n;
ANALYZE terms;

-- NULL rows are ignored. A group without features or without weights has no fingerprint, nor has an empty input.
SELECT simhash_agg(feature, weight) = simhash_of_features(ARRAY['a', 'b', 'c'], ARRAY[1, 2, 1]) AS nulls_left_out
FROM (VALUES ('a', 1), (NULL, 5), ('b', 2), ('d', NULL), (NULL, NULL), ('c', 1)) AS rows (feature, weight);
SELECT simhash_agg(NULL, 1) IS NULL AS no_feature, simhash_agg('a', NULL) IS NULL AS no_weight,
    simhash_agg('a', 0) IS NULL AS weightless, simhash_agg('a', 1) FILTER (WHERE false) IS NULL AS filtered;
SELECT simhash_agg('a', 1) IS NULL AS no_rows WHERE false;

-- Serial: the same fingerprint as the array form, group by group.
CREATE TEMP TABLE serial AS SELECT document, simhash_agg(term, weight) AS fingerprint,
    simhash_of_features(array_agg(term) FILTER (WHERE term IS NOT NULL AND weight IS NOT NULL),
        array_agg(weight) FILTER (WHERE term IS NOT NULL AND weight IS NOT NULL)) AS expected
FROM terms GROUP BY document;
SELECT count(*), bool_and(fingerprint = expected) AS same FROM serial;

-- Parallel: each worker's partial sums are sent to the leader as bytes.
SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0; SET parallel_leader_participation = off;
EXPLAIN (COSTS OFF) SELECT document, simhash_agg(term, weight) FROM terms GROUP BY document;
CREATE TEMP TABLE parallel AS SELECT document, simhash_agg(term, weight) AS fingerprint FROM terms GROUP BY document;
SELECT count(*), bool_and(serial.fingerprint = parallel.fingerprint) AS same FROM serial JOIN parallel USING (document);
-- Workers are launched; a plan alone does not show whether any was free.
SELECT count(*) > 0 AS launched
FROM plan_lines('SELECT document, simhash_agg(term, weight) FROM terms GROUP BY document', 'Workers Launched: [1-9]',
    'ANALYZE');
-- The result is NULL if no worker sees a feature.
SELECT simhash_agg(term, weight) IS NULL AS only_nulls FROM terms WHERE n % 11 = 0;
-- A worker's error reaches the client.
\set VERBOSITY sqlstate
SELECT simhash_agg(term, weight - 1.6) FROM terms;
\set VERBOSITY default

-- An aggregate's DISTINCT, ORDER BY and FILTER apply.
SELECT simhash_agg(DISTINCT feature, 1) = simhash_of_features(ARRAY['a', 'b']) AS "distinct",
    simhash_agg(feature, 2 ORDER BY feature DESC) = simhash_of_features(ARRAY['a', 'b', 'a']) AS ordered,
    simhash_agg(feature, 1) FILTER (WHERE feature < 'b') = simhash_of_features(ARRAY['a']) AS filtered
FROM unnest(ARRAY['a', 'b', 'a']) AS feature;

-- Used as a window function, it gives a running fingerprint: the final function does not change the state.
SELECT n, fingerprint = simhash_of_features((array_agg(feature) OVER (ORDER BY n))::text[]) AS running
FROM (SELECT n, feature, simhash_agg(feature, 1) OVER (ORDER BY n)
      FROM unnest(ARRAY['a', 'b', 'c', 'd', 'e']) WITH ORDINALITY AS features (feature, n))
    AS windows (n, feature, fingerprint);
