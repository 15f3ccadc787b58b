-- pglogical replicates a table with indexes on bands. (It cannot copy a table that has generated columns.)
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
SELECT pglogical.create_node('subscriber', :'server' || 'subscriber') IS NOT NULL AS is_created;
SELECT pglogical.create_subscription('docs', :'server' || 'pglogical') IS NOT NULL AS is_created;
SELECT pglogical.wait_for_subscription_sync_complete('docs');
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
SELECT id FROM docs WHERE simhash_band(body, 5) = simhash_band(:'text', 5) AND simhash_size(body) > 0;
SELECT pglogical.drop_subscription('docs');
