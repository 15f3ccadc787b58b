-- A guard depends on the schemas and types that its conditions name, on indexes, and on a partitioned table's guard.
CREATE SCHEMA app;
CREATE TYPE app.state AS ENUM ('live', 'old');
CREATE TABLE docs (id integer PRIMARY KEY, body text, state app.state DEFAULT 'live');
GRANT INSERT ON docs TO regress_writer;
SELECT simhash_index('docs', 'body');

-- Writers need USAGE on the schema of an enum.
SELECT simhash_guard('docs', among => $$state = 'live'$$);
PREPARE insert_as_writer AS SELECT errors_as('regress_writer', $$INSERT INTO docs VALUES (1, 'The text of a letter')$$);
EXECUTE insert_as_writer;
GRANT USAGE ON SCHEMA app TO regress_writer;
EXECUTE insert_as_writer;
-- If a label of an enum gets another name, writes fail until the guard is made anew.
ALTER TYPE app.state RENAME VALUE 'live' TO 'current';
EXECUTE insert_as_writer;
SELECT simhash_guard('docs', among => $$state = 'current'$$);
EXECUTE insert_as_writer;

-- A field of a composite type that is dropped.
CREATE TYPE meta AS (live boolean, n integer);
CREATE TABLE tagged (id integer PRIMARY KEY, f bigint, meta meta DEFAULT '(t,1)');
SELECT simhash_attach('tagged', 'f'), simhash_guard('tagged', source => 'f', among => '(meta).live');
INSERT INTO tagged VALUES (1, 0);
ALTER TYPE meta DROP ATTRIBUTE live;
SELECT errors('INSERT INTO tagged (id, f, meta) VALUES (2, 1, ''(1)'')');

-- An index that was dropped, also the first one.
SELECT simhash_guard('docs', among => '');
DROP INDEX docs_simhash_band3_idx;
SELECT errors($$INSERT INTO docs VALUES (9, 'A text')$$);
DROP INDEX docs_simhash_band0_idx;
SELECT errors($$INSERT INTO docs VALUES (9, 'A text')$$);

-- A partition's own guard, and the guard of its table.
CREATE TABLE parted (id integer, f bigint, confirmed boolean) PARTITION BY LIST (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
SELECT simhash_attach('parted', 'f');
SELECT simhash_guard('parted_1', 'skip', source => 'f', unless => 'confirmed');
SET client_min_messages = notice;
SELECT simhash_guard('parted', source => 'f');
RESET client_min_messages;
SELECT errors($$SELECT simhash_guard('parted_1', 'skip', source => 'f')$$);
