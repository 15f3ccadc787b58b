-- pglogical replicates a table of indexed texts. (It cannot copy a table that has generated columns.)
CREATE EXTENSION pglogical;
CREATE TABLE docs (id integer PRIMARY KEY, body text);
SET client_min_messages = warning;
SELECT simhash_index('docs', 'body');
INSERT INTO docs SELECT n, text_of(n) FROM generate_series(1, 100) AS n;
SELECT format('host=%s port=%s user=postgres dbname=', :'HOST', :'PORT') AS server \gset
SELECT pglogical.create_node('provider', :'server' || 'pglogical') IS NOT NULL AS is_created;
SELECT pglogical.replication_set_add_table('default', 'docs');
CREATE DATABASE subscriber TEMPLATE template0;
\c subscriber
SET client_min_messages = warning;
CREATE EXTENSION pg_simhash;
CREATE EXTENSION pglogical;
CREATE TABLE docs (id integer PRIMARY KEY, body text);
SELECT simhash_index_commands('docs', 'body') \gexec
SELECT simhash_guard('docs');
SELECT pglogical.create_node('subscriber', :'server' || 'subscriber') IS NOT NULL AS is_created;
SELECT pglogical.create_subscription('docs', :'server' || 'pglogical') IS NOT NULL AS is_created;
SELECT pglogical.wait_for_subscription_sync_complete('docs');
-- Replicated rows are not guarded: each tenth row is near the row before it.
SELECT count(*) FROM docs;
\c pglogical
INSERT INTO docs VALUES (101, text_of(101));
UPDATE docs SET body = text_of(102) WHERE id = 1;
DELETE FROM docs WHERE id = 2;
SELECT pglogical.wait_slot_confirm_lsn(NULL, NULL);
SELECT text_of(102) AS text \gset
\c subscriber
SELECT count(*) FROM docs;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE simhash_near(body, 'a text');
SELECT id FROM docs WHERE simhash_near(body, :'text');
SELECT pglogical.drop_subscription('docs');
