-- PgBouncer in transaction mode: another session of the server may run each statement.
CREATE TABLE docs (id integer PRIMARY KEY, body text);
INSERT INTO docs SELECT n, text_of(n) FROM generate_series(1, 100) AS n;
SELECT simhash_index_commands('docs', 'body', bands => 1) \gexec
SELECT simhash_attach('docs', 'body', blocks => 2);
SELECT simhash_guard('docs', 'skip', '{"resemblance": null}');
INSERT INTO docs VALUES (101, text_of(1)), (102, text_of(102));
SELECT id FROM docs WHERE id > 100;
SELECT id FROM docs WHERE simhash_near(simhash, simhash(text_of(42)));
BEGIN;
SET LOCAL enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE simhash_near(simhash, 42);
SET LOCAL pg_simhash.enable_scan = off;
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE simhash_near(simhash, 42);
COMMIT;
SELECT simhash_unguard('docs');
SELECT simhash_detach('docs');
-- Another session of the server, which has not loaded the library, plans a query that calls no function of pg_simhash.
CREATE TABLE hashes AS SELECT n AS id, hashint8extended(n, 0) AS hash FROM generate_series(1, 2000) AS n;
SELECT simhash_attach('hashes', 'hash');
SELECT pg_backend_pid() AS pid \gset
\setenv PGPORT :PORT
\! psql -Xq -c 'RECONNECT pooler' pgbouncer
SELECT pg_backend_pid() <> :pid AS is_another;
BEGIN;
SET LOCAL enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM hashes WHERE bit_count((hash # 42)::bit(64)) <= 3;
COMMIT;
