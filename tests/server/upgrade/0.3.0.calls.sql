-- Calls of all functions that 0.3.0 has added. Their results are 0.3.0.calls.out.
CREATE TABLE docs (id integer PRIMARY KEY, body text);
INSERT INTO docs VALUES (1, 'the first text'), (2, 'The first text!'), (3, 'the second text');
SET client_min_messages = warning;
SELECT simhash_attach('docs', 'body');

\echo guard
SELECT distance, duplicate, rows FROM simhash_preview('docs');
SELECT simhash_guard('docs', resemblance => 0.9);
INSERT INTO docs VALUES (4, 'the first text');
CREATE TABLE log (logged_at timestamptz, target text, action text, key jsonb, distance integer,
    resemblance double precision, new_row jsonb);
SELECT simhash_guard('docs', 'skip', log_to => 'log', log_columns => '{id}');
INSERT INTO docs VALUES (5, 'the first text');
SELECT target, action, key, distance, resemblance, new_row FROM log;
SELECT * FROM simhash_guard_counts() WHERE target = 'docs'::regclass;
DROP TABLE docs, log;

\echo clusters and duplicates
SELECT id, simhash_cluster(simhash(body), body) OVER docs AS cluster,
    simhash_duplicate_of(simhash(body), body) OVER docs AS duplicate_of
FROM (VALUES (1, 'one two three'), (2, 'something else'), (3, 'Three, two: one!')) AS docs (id, body)
WINDOW docs AS (ORDER BY id);
SELECT * FROM simhash_components(ARRAY[3, 1], ARRAY[2, 3]);

\echo wide fingerprints
SELECT simhash_wide('The quick brown fox'), simhash_wide('The quick brown fox', 1, '{"seed": 1}') AS second;
SELECT hamming(ARRAY[1, 2]::bigint[], ARRAY[3, 1]::bigint[]), ARRAY[1, 2]::bigint[] <~> ARRAY[3, 1]::bigint[] AS operator;

\echo weights
SELECT simhash_weights(body), simhash_weights(body, '{"ngram": 2}') AS pairs,
    simhash_weights(body, '{}', 1, 300) AS one
FROM (SELECT 'the text ' || n FROM generate_series(1, 20) AS n) AS texts (body);

\echo scopes and blocks without columns
CREATE TABLE tenants (tenant integer, body text);
INSERT INTO tenants SELECT n % 3, 'the text ' || n FROM generate_series(1, 30) AS n;
SET client_min_messages = warning;
SELECT simhash_attach('tenants', 'body', 2, scope => '{tenant}', columns => false);
SELECT simhash_index_commands('tenants', 2, scope => '{tenant}');
SELECT blocks, indexed FROM simhash_skew('tenants', scope => '{tenant}') WHERE blocks = 2;
SELECT simhash_detach('tenants');
RESET client_min_messages;
DROP TABLE tenants;
