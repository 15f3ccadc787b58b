-- Finds groups of near-duplicates, what differs between two of them, and the near-duplicates of one document.
\pset footer off
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;

-- The first paths of a group.
CREATE FUNCTION pg_temp.some(paths text[]) RETURNS text
    LANGUAGE sql
    RETURN array_to_string(paths[1:3], ', ')
        || CASE WHEN cardinality(paths) > 3 THEN format(' and %s more', cardinality(paths) - 3) ELSE '' END;

SELECT clock_timestamp() AS start \gset
\set ECHO queries
CREATE TEMP TABLE clustered AS
SELECT id, simhash_cluster(id, body) OVER (ORDER BY id) AS cluster FROM docs;
\set ECHO none
SELECT format('Documents with a near-duplicate: %s; clusters of them: %s (found in %s ms).',
    coalesce(sum(documents), 0), count(*), round(extract(epoch FROM clock_timestamp() - :'start') * 1000)) AS clusters
FROM (SELECT count(*) AS documents FROM clustered WHERE cluster IS NOT NULL GROUP BY cluster HAVING count(*) > 1) AS sizes
\gset

SELECT clock_timestamp() AS start \gset
\set ECHO queries
CREATE TEMP TABLE deduplicated AS
SELECT id, simhash_duplicate_of(id, body) OVER (ORDER BY id) AS duplicate_of FROM docs;
\set ECHO none
SELECT format('Documents that could go: %s of %s (found in %s ms).', count(duplicate_of), count(*),
    round(extract(epoch FROM clock_timestamp() - :'start') * 1000)) AS duplicates
FROM deduplicated \gset

\echo
\echo :clusters
\echo :duplicates
\echo 'The largest clusters of different texts:'
SELECT count(*) AS documents, count(DISTINCT md5(body)) AS texts, pg_size_pretty(sum(octet_length(body))) AS size,
    pg_temp.some(array_agg(path ORDER BY path)) AS paths
FROM docs JOIN clustered USING (id)
GROUP BY cluster
HAVING count(DISTINCT md5(body)) > 1
ORDER BY documents DESC, cluster
LIMIT 5;

-- The duplicate that is least like the document that stays. The LEFT JOIN makes a row even if there is none: \gset fails
-- without a row, and leaves the variables of NULLs unset.
SELECT pair.* FROM (VALUES (1)) AS one LEFT JOIN (
    SELECT original.id AS original, duplicate.id AS duplicate FROM deduplicated
    JOIN docs AS duplicate ON duplicate.id = deduplicated.id
    JOIN docs AS original ON original.id = deduplicated.duplicate_of
    WHERE original.body <> duplicate.body
    ORDER BY simhash_resemblance(original.body, duplicate.body), original.id, duplicate.id
    LIMIT 1
) AS pair ON true \gset
\if :{?original}
\echo 'Of the documents that could go, this one is least like the one that stays. What differs:'
-- Each of the two is `a` once, with what only it has.
SELECT a.path, left((SELECT string_agg(feature, ' ' ORDER BY feature)
        FROM simhash_difference(a.body, b.body) WHERE side = 'a'), 200) AS "only here",
    round(simhash_resemblance(a.body, b.body)::numeric, 3) AS resemblance
FROM docs AS a, docs AS b
WHERE (a.id, b.id) IN ((:original, :duplicate), (:duplicate, :original))
ORDER BY a.id;
\endif

-- The document to search for is the first of the cluster with most texts.
SELECT min(id) AS id FROM docs JOIN clustered USING (id)
WHERE cluster IS NOT NULL
GROUP BY cluster ORDER BY count(DISTINCT md5(body)) DESC, count(*) DESC, min(id) LIMIT 1 \gset
SELECT path, body FROM docs WHERE id = :id \gset
SELECT count(*) < 2000 AS small FROM docs \gset

\echo
\echo 'A search for documents like' :path
\set ECHO queries
PREPARE search(text) AS SELECT id, path FROM docs WHERE simhash_near(body, $1) ORDER BY path LIMIT 10;
\set ECHO none
EXECUTE search(:'body');
\if :small
\echo '-- A small table may be read whole, which is faster. This is the plan by the indexes:'
SET enable_seqscan = off;
\endif
-- A generic plan shows a parameter in place of the text.
SET plan_cache_mode = force_generic_plan;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) EXECUTE search(:'body');

\echo
SELECT pg_size_pretty(sum(octet_length(body))) AS texts, pg_size_pretty(pg_table_size('docs')) AS "table",
    pg_size_pretty(pg_indexes_size('docs')) AS indexes
FROM docs;
