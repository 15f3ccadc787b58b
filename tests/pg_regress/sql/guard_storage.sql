-- Guards are for tables that PostgreSQL stores as heaps.
CREATE SCHEMA guard_storage;
SET search_path = guard_storage, public;
SET client_min_messages = warning;

-- A heap under another name is still a heap.
CREATE ACCESS METHOD heap_too TYPE TABLE HANDLER heap_tableam_handler;
CREATE TABLE too (id integer PRIMARY KEY, f bigint) USING heap_too;
SELECT simhash_attach('too', 'f'), simhash_guard('too', fingerprint => 'f');
INSERT INTO too VALUES (1, 0);
INSERT INTO too VALUES (2, 1);
DROP TABLE too;
DROP ACCESS METHOD heap_too;

-- Citus lists distributed tables in a catalog of its own, here imitated by a table.
CREATE TABLE docs (id integer PRIMARY KEY, f bigint);
CREATE TABLE parts (id integer, f bigint) PARTITION BY LIST (id);
CREATE TABLE part PARTITION OF parts DEFAULT;
SELECT simhash_attach('docs', 'f'), simhash_attach('parts', 'f');
SELECT simhash_guard('docs', fingerprint => 'f');
SET allow_system_table_mods = on;
CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass NOT NULL, partmethod "char" NOT NULL);
SELECT simhash_guard('docs', fingerprint => 'f');
INSERT INTO pg_catalog.pg_dist_partition VALUES ('docs', 'h'), ('part', 'h');
\pset format unaligned
SELECT errors('SELECT simhash_guard(''docs'', ''skip'', fingerprint => ''f'')',
    'SELECT simhash_guard(''parts'', fingerprint => ''f'')');
\pset format aligned
-- A table that was distributed later; a session that has it in its cache may notice late.
\connect -
SET search_path = guard_storage, public;
SET client_min_messages = warning;
INSERT INTO docs VALUES (1, 0);
\echo :LAST_ERROR_SQLSTATE
DELETE FROM pg_catalog.pg_dist_partition;
INSERT INTO docs VALUES (1, 0);
SELECT simhash_guard('parts', fingerprint => 'f');
SET allow_system_table_mods = on;
DROP TABLE pg_catalog.pg_dist_partition;
DROP SCHEMA guard_storage CASCADE;
