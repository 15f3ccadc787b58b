-- Dropping the extension while a database needs it, in a database of its own.
CREATE DATABASE regress_simhash_drop;
\set database :DBNAME
\c regress_simhash_drop
SET client_min_messages = warning;
CREATE EXTENSION pg_simhash;

-- Generated columns and their indexes need it.
CREATE TABLE docs (id integer PRIMARY KEY, body text);
INSERT INTO docs VALUES (1, 'a text'), (2, 'another');
SELECT simhash_attach('docs', 'body', 2);
DROP EXTENSION pg_simhash;
SELECT attname FROM pg_attribute WHERE attrelid = 'docs'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum;
SELECT indexrelid::regclass AS index FROM pg_index WHERE indrelid = 'docs'::regclass ORDER BY 1;
DROP TABLE docs;
CREATE EXTENSION IF NOT EXISTS pg_simhash;

-- A guard, the trigger of the online way, an index on an expression and a view need it too.
CREATE TABLE docs (id integer PRIMARY KEY, body text);
INSERT INTO docs VALUES (1, 'a text'), (2, 'another');
SELECT simhash_attach_online('docs', 'body');
CALL simhash_fill('docs');
CREATE INDEX docs_block0 ON docs (simhash_block(simhash, 0, 2));
CREATE INDEX docs_block1 ON docs (simhash_block(simhash, 1, 2));
SELECT simhash_guard('docs', max_distance => 1);
CREATE VIEW near AS SELECT id FROM docs WHERE simhash_near(simhash, 1);
RESET client_min_messages;
DROP EXTENSION pg_simhash;
DROP EXTENSION pg_simhash CASCADE;
-- All rows and fingerprints stay.
SELECT id, simhash IS NOT NULL AS filled FROM docs ORDER BY id;
\d docs
SELECT to_regclass('near') AS near;

\c :database
DROP DATABASE regress_simhash_drop;
