-- Every function of 0.1.0, called: its objects are all that a database has between the upgrade of the package, which
-- replaces the library, and ALTER EXTENSION UPDATE.
SET client_min_messages = warning;

\echo fingerprints
SELECT simhash('The quick brown fox jumps over the lazy dog') AS text,
    simhash('The quick brown fox', '{"ngram": 2}'::jsonb) AS options,
    simhash('The quick brown fox', '{"ngram": 2}'::text) AS options_text,
    simhash(ARRAY['data', 'base']) AS features,
    simhash(ARRAY['data', 'base'], ARRAY[5, 2.5]) AS weighted,
    simhash(to_tsvector('english', 'The databases were indexed')) AS lexemes,
    simhash_format() AS format;
SELECT * FROM simhash_features('Hello, hello: fox');
SELECT * FROM simhash_features('Hello, hello: fox', '{"weight": "tf", "top": 1}');

\echo fingerprints of rows
SELECT simhash_agg(feature, weight) FROM (VALUES ('data', 5), ('base', 2.5)) AS feature (feature, weight);
CREATE TABLE terms AS SELECT n, 'term ' || n % 97 AS term FROM generate_series(1, 20000) AS n;
ALTER TABLE terms SET (parallel_workers = 2);
BEGIN;
SET LOCAL parallel_setup_cost = 0;
SET LOCAL parallel_tuple_cost = 0;
SET LOCAL min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT simhash_agg(term, n) FROM terms;
SELECT simhash_agg(term, n) AS in_parallel FROM terms;
COMMIT;
SET max_parallel_workers_per_gather = 0;
SELECT simhash_agg(term, n) AS alone FROM terms;
RESET max_parallel_workers_per_gather;

\echo distance
SELECT hamming(1, 2), 7 <~> 0 AS operator, simhash_similarity(0, 1), simhash_resemblance('a b c', 'a b d'),
    simhash_resemblance('a b c', 'A b d', '{"case_fold": false}') AS with_options;

\echo blocks
SELECT simhash_block(-1, 0), simhash_block(-1, 4, 5) AS of_five, simhash_probes(0, 3, 4, 4) = ARRAY(
    SELECT probe FROM unnest(simhash_probes(0, 3, 4, 4)) AS probe ORDER BY probe) AS ascending,
    cardinality(simhash_probes(0, 3, 4, 4)), simhash_near(0, 7), simhash_near(0, 15), simhash_near(0, 15, 4) AS wider;
-- 0.3.0 has dropped this one.
DO $$BEGIN
    IF to_regprocedure('simhash_within(bigint, bigint, integer, integer)') IS NOT NULL THEN
        EXECUTE 'SELECT simhash_within(0, 7, 3, 4)';
    END IF;
END$$;
-- the support function of blocks
SELECT simhash_block(0, 9);

\echo attach
CREATE TABLE docs (id bigint PRIMARY KEY, body text NOT NULL);
INSERT INTO docs
SELECT doc, string_agg(substr(md5(doc || ' ' || word), 1, 8), ' ' ORDER BY word)
FROM generate_series(1, 2000) AS doc, generate_series(1, 20) AS word GROUP BY doc;
SELECT simhash_attach('docs', 'body', covering => false);
-- the support function of searches
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE simhash_near(simhash, 42);
SELECT near.id FROM docs AS near JOIN docs ON simhash_near(near.simhash, docs.simhash) WHERE docs.id = 42;
SELECT blocks, indexed, best FROM simhash_skew('docs');
SELECT simhash_detach('docs');

\echo attach, online
SELECT simhash_attach_online('docs', 'body');
CALL simhash_fill('docs');
SELECT simhash_index_commands('docs', covering => false);
SELECT simhash_index_commands('docs', covering => false) \gexec
INSERT INTO docs (id, body) VALUES (2001, 'The quick brown fox jumps over the lazy dog');
SELECT id, simhash FROM docs WHERE id IN (42, 2001) ORDER BY id;

\echo guard
SELECT simhash_guard('docs');
\set VERBOSITY terse
-- From 0.3.0 on, the detail has the resemblance of the texts.
INSERT INTO docs (id, body) VALUES (2002, 'The quick brown fox jumps over the lazy dog');
\set VERBOSITY default
SELECT simhash_guard('docs', 'skip', 2);
INSERT INTO docs (id, body) VALUES (2002, 'The quick brown fox jumps over the lazy dog') RETURNING id;
SELECT simhash_unguard('docs');
INSERT INTO docs (id, body) VALUES (2002, 'The quick brown fox jumps over the lazy dog') RETURNING id, simhash;

\echo batch
SELECT * FROM simhash_pairs(ARRAY['a', 'b', 'c'], ARRAY[0, 1, -1]);
SELECT id, simhash_cluster(simhash) OVER (ORDER BY id) AS cluster FROM docs ORDER BY id DESC LIMIT 3;

DROP TABLE terms, docs;
