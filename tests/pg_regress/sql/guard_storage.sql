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
DROP SCHEMA guard_storage CASCADE;
