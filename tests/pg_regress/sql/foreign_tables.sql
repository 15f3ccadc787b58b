-- Tables with foreign partitions, as far as this shows without another server: tests/server/postgres_fdw has the rest.
SET client_min_messages = notice;
CREATE FOREIGN DATA WRAPPER nowhere;
CREATE SERVER nowhere FOREIGN DATA WRAPPER nowhere;
CREATE TABLE hub (id integer, part integer, f bigint, body text) PARTITION BY LIST (part);
CREATE TABLE hub_1 PARTITION OF hub FOR VALUES IN (1);
CREATE FOREIGN TABLE hub_2 PARTITION OF hub FOR VALUES IN (2) SERVER nowhere;
INSERT INTO hub SELECT n, 1, hashint8extended(n, 0), 'text ' || n FROM generate_series(1, 1000) AS n;

-- Indexes and statistics are made of the partitions that are here.
SELECT simhash_attach('hub', 'f');
SELECT simhash_attach('hub', 'f');
SELECT id FROM hub_1 WHERE simhash_near(f, hashint8extended(42, 0));
SELECT simhash_index('hub', 'body', bands => 1);
SELECT simhash_index('hub', 'body', bands => 1);
SELECT simhash_index_commands('hub', 'body', bands => 2) \gexec
-- The index of the partitioned table stays invalid. Nothing is left to be done.
SELECT indexrelid::regclass AS index, indisvalid FROM pg_index
WHERE pg_get_indexdef(indexrelid) ~ 'band' ORDER BY indexrelid::regclass::text;
SELECT simhash_index_commands('hub', 'body', bands => 2);
SELECT simhash_index('hub', 'body', bands => 2);
-- A column is added only if it can be read in the foreign table.
SELECT simhash_attach('hub', 'body');
SELECT attname FROM pg_attribute WHERE attrelid = 'hub'::regclass AND attnum > 0 ORDER BY attnum;

SET client_min_messages = warning;

-- Calls that are refused here: they work only on the server of the foreign table.
SELECT errors($$SELECT simhash_guard('hub', source => 'f')$$,
    $$SELECT * FROM simhash_preview('hub', source => 'f')$$, $$SELECT * FROM simhash_layouts('hub', 'f')$$);

-- A guard whose table gets a foreign partition later.
DROP FOREIGN TABLE hub_2;
SELECT simhash_guard('hub', source => 'f');
CREATE FOREIGN TABLE hub_2 PARTITION OF hub FOR VALUES IN (2) SERVER nowhere;
SELECT errors($$INSERT INTO hub VALUES (1001, 1, 42, '')$$);

SELECT simhash_detach('hub');
