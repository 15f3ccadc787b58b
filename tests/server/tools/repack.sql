-- pg_repack copies an attached, indexed and guarded table, and its triggers and indexes stay.
SET client_min_messages = warning;
CREATE EXTENSION pg_repack;
CREATE TABLE docs (id integer PRIMARY KEY, body text);
SELECT simhash_attach('docs', 'body', blocks => 2), simhash_index('docs', 'body', bands => 2);
INSERT INTO docs SELECT n, text_of(n) FROM generate_series(1, 100) AS n;
SELECT simhash_guard('docs', 'skip', '{"bands": 2}', source => 'body');
SELECT relfilenode AS file FROM pg_class WHERE oid = 'docs'::regclass \gset
\! pg_repack --table=docs repack
SELECT relfilenode <> :file AS is_copied FROM pg_class WHERE oid = 'docs'::regclass;
SELECT count(*), bool_and(simhash = simhash(body)) AS is_right FROM docs;
INSERT INTO docs VALUES (101, text_of(1));
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE simhash_near(simhash, 42);
SELECT id FROM docs WHERE simhash_near(simhash, simhash(text_of(42)));
SELECT id FROM docs WHERE simhash_near(body, text_of(42), '{"bands": 2}');
SELECT simhash_unguard('docs');
SELECT simhash_detach('docs');
SELECT described('docs');
SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'docs'::regclass;
