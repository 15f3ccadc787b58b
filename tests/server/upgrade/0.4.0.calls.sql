-- Calls of all functions of 0.4.0. Their results are 0.4.0.calls.out.
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
SELECT hamming(1, 2), 7 <~> 0 AS operator, simhash_resemblance('a b c', 'a b d'),
    simhash_resemblance('a b c', 'A b d', '{"case_fold": false}') AS with_options;

\echo blocks
SELECT simhash_block(-1, 0), simhash_block(-1, 4, 5) AS of_five, simhash_probes(0, 3, 4, 4) = ARRAY(
    SELECT probe FROM unnest(simhash_probes(0, 3, 4, 4)) AS probe ORDER BY probe) AS ascending,
    cardinality(simhash_probes(0, 3, 4, 4)), simhash_near(0, 7), simhash_near(0, 15), simhash_near(0, 15, 4) AS wider;
-- the support function of blocks
SELECT simhash_block(0, 9);

\echo attach
CREATE TABLE docs (id bigint PRIMARY KEY, body text NOT NULL);
INSERT INTO docs
SELECT doc, string_agg(substr(md5(doc || ' ' || word), 1, 8), ' ' ORDER BY word)
FROM generate_series(1, 2000) AS doc, generate_series(1, 20) AS word GROUP BY doc;
SELECT simhash_attach('docs', 'body');
-- the support function of searches
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE simhash_near(simhash, 42);
SELECT near.id FROM docs AS near JOIN docs ON simhash_near(near.simhash, docs.simhash) WHERE docs.id = 42;
SELECT blocks, indexed, best FROM simhash_layouts('docs');
SELECT simhash_detach('docs');

\echo indexes alone
SELECT simhash_index_commands('docs', 'body') \gexec
SELECT near.id FROM docs AS near JOIN docs ON simhash_near(simhash(near.body), simhash(docs.body)) WHERE docs.id = 42;
SELECT simhash_detach('docs');
SELECT simhash_attach('docs', 'body');
INSERT INTO docs (id, body) VALUES (2001, 'The quick brown fox jumps over the lazy dog');
SELECT id, simhash FROM docs WHERE id IN (42, 2001) ORDER BY id;

\echo guard
SELECT simhash_guard('docs');
\set VERBOSITY terse
INSERT INTO docs (id, body) VALUES (2002, 'The quick brown fox jumps over the lazy dog');
\set VERBOSITY default
SELECT simhash_guard('docs', 'skip', '{"max_distance": 2}');
INSERT INTO docs (id, body) VALUES (2002, 'The quick brown fox jumps over the lazy dog') RETURNING id;
SELECT simhash_unguard('docs');
INSERT INTO docs (id, body) VALUES (2002, 'The quick brown fox jumps over the lazy dog') RETURNING id, simhash;

\echo batch
SELECT * FROM simhash_pairs(ARRAY['a', 'b', 'c'], ARRAY[0, 1, -1]);
SELECT id, simhash_cluster(id, simhash) OVER (ORDER BY id) AS cluster FROM docs ORDER BY id DESC LIMIT 3;

DROP TABLE terms, docs;

CREATE TABLE docs (id integer PRIMARY KEY, body text);
INSERT INTO docs VALUES (1, 'the first text'), (2, 'The first text!'), (3, 'the second text');
SELECT simhash_attach('docs', 'body');

\echo guard
SELECT distance, duplicate, rows FROM simhash_preview('docs');
SELECT simhash_guard('docs', criterion => '{"resemblance": 0.9}');
INSERT INTO docs VALUES (4, 'the first text');
DROP TABLE docs;

\echo clusters and duplicates
SELECT id, simhash_cluster(id, body) OVER docs AS cluster, simhash_duplicate_of(id, body) OVER docs AS duplicate_of
FROM (VALUES (1, 'one two three'), (2, 'something else'), (3, 'One, two: three!')) AS docs (id, body)
WINDOW docs AS (ORDER BY id);
SELECT * FROM simhash_components(ARRAY[3, 1], ARRAY[2, 3]);

\echo wide fingerprints
SELECT simhash_wide('The quick brown fox'), simhash_wide('The quick brown fox', 1, '{"seed": 1}') AS second;
SELECT hamming(ARRAY[1, 2]::bigint[], ARRAY[3, 1]::bigint[]), ARRAY[1, 2]::bigint[] <~> ARRAY[3, 1]::bigint[] AS operator;

\echo weights
SELECT simhash_weights(body, '{}'), simhash_weights(body, '{"ngram": 2}') AS pairs
FROM (SELECT 'the text ' || n FROM generate_series(1, 20) AS n) AS texts (body);

\echo scopes and blocks without columns
CREATE TABLE tenants (tenant integer, body text);
INSERT INTO tenants SELECT n % 3, 'the text ' || n FROM generate_series(1, 30) AS n;
SET client_min_messages = warning;
SELECT simhash_attach('tenants', 'body', blocks => 2, scope => '{tenant}', columns => false);
SELECT simhash_index_commands('tenants', 'body', blocks => 2, scope => '{tenant}');
SELECT blocks, indexed FROM simhash_layouts('tenants', scope => '{tenant}') WHERE blocks = 2;
SELECT simhash_detach('tenants');
RESET client_min_messages;
DROP TABLE tenants;

\echo near texts
SELECT simhash_near('one two three', 'One, two: three!') AS same, simhash_near('one two', 'three'::text, '{"radii": []}') AS other;
\echo passages
SELECT simhash_passages('one two three four five'), simhash_clue('two three four five') AS clue,
    simhash_coverage('two three four six', 'one two three four five') AS coverage;
-- A clue from a subquery is not inlined, so that the call is counted.
SELECT simhash_contains('one two three four five', (SELECT 'two three four five six seven eight'), .4);
\echo near by radii
SELECT simhash_near(0, 7, 10, '{0,0,0,0}') AS equal_blocks, simhash_near(-1, 0, 64, '{1,1,1,1}') AS none;
\echo searches by radii
CREATE TEMP TABLE fingerprints (f bigint);
SELECT blocks, probes, within, radii, flips, found FROM simhash_layouts('fingerprints', 'f', NULL);
\echo fingerprints in digits
SELECT simhash_from_hex('ffFF000000000000') AS digits, simhash_from_hex('f') AS one, simhash_from_hex('no') AS none;
\echo what texts have in common, and what not
SELECT simhash_resemblance('4,000 tonnes', '5,000 tonnes', '{"same": ["numbers"]}') AS resemblance,
    simhash_containment('tonnes', '5,000 tonnes') AS containment, simhash_size('5,000 tonnes') AS size,
    simhash_flips('5,000 tonnes', '{"flips": [2, 1]}') AS flips;
SELECT * FROM simhash_difference('4,000 tonnes', '5,000 tonnes');
\echo the guards of the database
SET client_min_messages = warning;
CREATE TEMP TABLE guarded (id integer PRIMARY KEY, body text);
SELECT simhash_attach('guarded', 'body'), simhash_guard('guarded');
SELECT action, criterion - 'resemblance' AS criterion, fingerprint, scope, enabled, error
FROM (SELECT (simhash_guards()).*) AS of_database WHERE target = 'guarded'::regclass;
