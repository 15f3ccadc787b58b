-- Covering indexes, which include the fingerprint: simhash_attach and simhash_index_commands make them by default.
CREATE TABLE covering_docs (id integer PRIMARY KEY, body text);
INSERT INTO covering_docs SELECT n, md5(n::text) || ' ' || md5((-n)::text) FROM generate_series(1, 500) AS n;
CREATE VIEW indexes AS
SELECT indrelid::regclass AS relation, indexrelid::regclass AS index, regexp_replace(pg_get_indexdef(indexrelid), '.* USING ', '')
    AS definition, obj_description(indexrelid, 'pg_class') AS comment
FROM pg_index WHERE NOT indisprimary;

SELECT simhash_attach('covering_docs', 'body');
SELECT index, definition, comment FROM indexes WHERE relation = 'covering_docs'::regclass ORDER BY index::text;
-- Nothing is missing, whether covering indexes are asked for or not.
SELECT simhash_attach('covering_docs', 'body');
SELECT simhash_attach('covering_docs', 'body', covering => false);
SELECT simhash_attach('covering_docs', 'body');
-- Searches use them like plain indexes, and the guard filters rows in the index.
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM covering_docs WHERE simhash_near(simhash, 42, 1);
RESET enable_seqscan;
SELECT simhash_guard('covering_docs');
\set VERBOSITY terse
INSERT INTO covering_docs SELECT 0, body FROM covering_docs WHERE id = 7;
\set VERBOSITY default
INSERT INTO covering_docs VALUES (0, 'Something else that nobody has written before');
SELECT simhash_unguard('covering_docs');
SELECT simhash_detach('covering_docs');
SELECT count(*) FROM indexes WHERE relation = 'covering_docs'::regclass;

-- A guard that fetches many rows reports it, with a remedy.
SET client_min_messages = warning;
SELECT simhash_attach('covering_docs', 'body', covering => false);
RESET client_min_messages;
SELECT simhash_guard('covering_docs', max_distance => 14, radii => '{}');
SELECT simhash_guard('covering_docs', max_distance => 15, radii => '{}');
SET client_min_messages = warning;
SELECT simhash_attach('covering_docs', 'body');
RESET client_min_messages;
SELECT simhash_guard('covering_docs', 'skip', 15, radii => '{}');
SET client_min_messages = warning;
SELECT simhash_unguard('covering_docs'), simhash_detach('covering_docs');
RESET client_min_messages;

-- Plain indexes stay until covering ones are asked for: then those that attach made are replaced, and others stay.
SELECT simhash_attach('covering_docs', 'body', blocks => 2, covering => false);
SELECT simhash_attach('covering_docs', 'body', blocks => 2);
COMMENT ON INDEX covering_docs_simhash_block1_idx IS 'my own';
SELECT simhash_attach('covering_docs', 'body', blocks => 2);
SELECT index, definition, comment FROM indexes WHERE relation = 'covering_docs'::regclass ORDER BY index::text;
DROP INDEX covering_docs_simhash_block1_idx;
SELECT simhash_detach('covering_docs');

-- If the source is a column of fingerprints, the indexes include that column.
CREATE TABLE covering_fingerprints ("My fp" bigint);
SELECT simhash_attach('covering_fingerprints', 'My fp', blocks => 2, prefix => 'fp');
SELECT index, definition FROM indexes WHERE relation = 'covering_fingerprints'::regclass ORDER BY index::text;

-- An index on a partitioned table covers all its partitions.
CREATE TABLE covering_parts (id integer, body text) PARTITION BY HASH (id);
CREATE TABLE covering_parts_0 PARTITION OF covering_parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE covering_parts_1 PARTITION OF covering_parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
SET client_min_messages = warning;
SELECT simhash_attach('covering_parts', 'body', blocks => 2, covering => false);
SELECT simhash_attach('covering_parts', 'body', blocks => 2);
RESET client_min_messages;
SELECT index, definition FROM indexes
WHERE relation IN ('covering_parts'::regclass, 'covering_parts_0'::regclass) ORDER BY index::text;

-- Online, without a rewrite.
CREATE TABLE covering_online AS SELECT * FROM covering_docs;
SET client_min_messages = warning;
SELECT simhash_attach_online('covering_online', 'body');
CALL simhash_fill('covering_online');
SELECT simhash_index_commands('covering_online', 2, covering => false) \gexec
SELECT simhash_index_commands('covering_online', 2);
RESET client_min_messages;
SELECT simhash_index_commands('covering_online', 2);
SELECT simhash_index_commands('covering_online', 2) \gexec
SELECT simhash_index_commands('covering_online', 2);
SELECT index, definition FROM indexes WHERE relation = 'covering_online'::regclass ORDER BY index::text;
SET client_min_messages = warning;
SELECT simhash_detach('covering_online');
RESET client_min_messages;
SELECT count(*) FROM indexes WHERE relation = 'covering_online'::regclass;

DROP VIEW indexes;
DROP TABLE covering_docs, covering_fingerprints, covering_parts, covering_online;
