-- Finds groups of duplicates, and the near-duplicates of one document.
\pset footer off
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;

-- The first paths of a group.
CREATE FUNCTION pg_temp.some(paths text[]) RETURNS text
    LANGUAGE sql
    RETURN array_to_string(paths[1:3], ', ')
        || CASE WHEN cardinality(paths) > 3 THEN format(' and %s more', cardinality(paths) - 3) ELSE '' END;

\echo
\echo 'Exact duplicates: the same text, hence the same fingerprint. The largest groups:'
SELECT count(*) AS documents, pg_size_pretty(octet_length(min(body))::bigint) AS size, simhash,
    pg_temp.some(array_agg(path ORDER BY path)) AS paths
FROM docs
GROUP BY simhash, md5(body)
HAVING count(*) > 1
ORDER BY 1 DESC, 3
LIMIT 5;

-- From here on, near-duplicates among different fingerprints.
CREATE TEMP TABLE fingerprints AS SELECT DISTINCT simhash FROM docs WHERE simhash IS NOT NULL;
SELECT simhash_attach('fingerprints', 'simhash') \g /dev/null

SELECT clock_timestamp() AS start \gset
CREATE TEMP TABLE pairs AS
SELECT a, b FROM (SELECT array_agg(simhash) FROM fingerprints) AS x (f), simhash_pairs(f, f);
ANALYZE pairs;
SELECT format('Near-duplicates among %2$s different fingerprints, pairs at most 3 bits apart: %1$s (found in %3$s ms).',
    (SELECT count(*) FROM pairs), (SELECT count(*) FROM fingerprints),
    round(extract(epoch FROM clock_timestamp() - :'start') * 1000)) AS near_duplicates \gset

-- A group consists of documents that pairs connect. A document could go if its text is like one that stays.
SELECT clock_timestamp() AS start \gset
CREATE TEMP TABLE members AS
SELECT id, simhash_cluster(simhash) OVER kept AS name, simhash_duplicate_of(simhash, body) OVER kept AS duplicate_of
FROM docs WINDOW kept AS (ORDER BY id);
ANALYZE members;
SELECT format('Documents with a near-duplicate: %s; clusters of them: %s; documents that could go: %s (found in %s ms).',
    coalesce(sum(documents), 0), count(*), (SELECT count(duplicate_of) FROM members),
    round(extract(epoch FROM clock_timestamp() - :'start') * 1000)) AS clusters
FROM (SELECT count(*) AS documents FROM members WHERE name IS NOT NULL GROUP BY name HAVING count(*) > 1) AS sizes \gset

CREATE TEMP TABLE groups AS
SELECT name, count(*) AS documents, count(DISTINCT simhash) AS fingerprints, sum(octet_length(body)) AS bytes,
    array_agg(DISTINCT simhash) AS members, array_agg(path ORDER BY path) AS paths
FROM docs JOIN members USING (id)
WHERE name IS NOT NULL
GROUP BY name
HAVING count(DISTINCT simhash) > 1
ORDER BY documents DESC, name
LIMIT 5;

\echo
\echo :near_duplicates
\echo :clusters
SELECT EXISTS (SELECT FROM pairs) AS found, (SELECT count(*) < 2000 FROM docs) AS small \gset
\if :found
\echo 'The largest groups that such pairs connect:'
SELECT documents, pg_size_pretty(bytes) AS size, fingerprints, min(a <~> b) AS "nearest", max(a <~> b) AS "farthest",
    pg_temp.some(paths) AS paths
FROM groups, unnest(members) AS a, unnest(members) AS b
WHERE a < b
GROUP BY documents, bytes, fingerprints, name, paths
ORDER BY documents DESC, name;
\else
\echo 'The nearest pairs:'
SELECT a.simhash <~> b.simhash AS distance, (SELECT min(path) FROM docs WHERE simhash = a.simhash) AS path,
    (SELECT min(path) FROM docs WHERE simhash = b.simhash) AS other_path
FROM fingerprints a JOIN fingerprints b ON simhash_near(a.simhash, b.simhash, 7) AND a.simhash < b.simhash
ORDER BY distance, path
LIMIT 5;
\endif

-- The document to search for is one of the largest group of near-duplicates, or else of exact duplicates.
SELECT path, coalesce(docs.simhash, 0) AS simhash
FROM docs LEFT JOIN groups ON simhash = ANY (members)
ORDER BY groups.documents DESC NULLS LAST, docs.simhash IS NULL, count(*) OVER (PARTITION BY docs.simhash) DESC, docs.id
LIMIT 1 \gset lookup_

\echo
\echo 'A search for documents like' :lookup_path
\set ECHO queries
PREPARE search(bigint) AS
SELECT id, path, simhash <~> $1 AS distance
FROM docs
WHERE simhash_near(simhash, $1)
ORDER BY distance, id
LIMIT 10;
EXECUTE search(:lookup_simhash);
\if :small
\echo '-- PostgreSQL reads such a small table whole, which is faster. A large table is searched like this:'
SET enable_seqscan = off;
\endif
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) EXECUTE search(:lookup_simhash);

\set ECHO none
\echo
\echo 'The nearest of the documents with another fingerprint, however far:'
\set ECHO queries
SELECT path, simhash <~> :lookup_simhash AS distance
FROM docs
WHERE simhash <> :lookup_simhash
ORDER BY simhash <~> :lookup_simhash, id
LIMIT 5;
