-- simhash_attach and simhash_detach on every kind of table that can have generated columns and indexes.
CREATE FUNCTION pg_temp.attached(OUT indexes bigint, OUT valid boolean, OUT columns bigint, target regclass)
    LANGUAGE sql AS $$
    SELECT (SELECT count(*) FROM pg_index WHERE indrelid = target),
        (SELECT bool_and(indisvalid) FROM pg_index WHERE indrelid = target),
        (SELECT count(*) FROM pg_attribute WHERE attrelid = target AND attgenerated = 's' AND NOT attisdropped) $$;

-- (Names that must be quoted: security_quoting.)
-- Long names: PostgreSQL shortens index names, and they remain distinct.
SELECT repeat('t', 63) AS long_table, repeat('p', 56) AS long_prefix \gset
CREATE TABLE :long_table (body text);
SELECT simhash_attach(:'long_table', 'body', prefix => :'long_prefix');
SELECT indexrelid::regclass AS index FROM pg_index WHERE indrelid = :'long_table'::regclass ORDER BY 1;
SELECT simhash_attach(:'long_table', 'body', prefix => 'x'), simhash_detach(:'long_table', prefix => :'long_prefix');
SELECT indexrelid::regclass AS index FROM pg_index WHERE indrelid = :'long_table'::regclass ORDER BY 1;

-- Partitioned at two levels; later partitions are attached too.
CREATE TABLE parts (id integer, body text) PARTITION BY RANGE (id);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES FROM (0) TO (10);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (10) TO (20) PARTITION BY HASH (id);
CREATE TABLE parts_1a PARTITION OF parts_1 FOR VALUES WITH (modulus 2, remainder 0);
CREATE TABLE parts_1b PARTITION OF parts_1 FOR VALUES WITH (modulus 2, remainder 1);
INSERT INTO parts SELECT n, 'text ' || n FROM generate_series(0, 19) AS n;
SET client_min_messages = notice;
SELECT simhash_attach('parts', 'body', blocks => 2);
SELECT simhash_attach('parts', 'body', blocks => 2);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (20) TO (30);
INSERT INTO parts VALUES (20, 'text');
-- An index on one partition is not an index on all.
DROP INDEX parts_simhash_block0_idx;
CREATE INDEX ON parts_0 (simhash_block0);
SELECT simhash_attach('parts', 'body', blocks => 2);
SELECT relid, (pg_temp.attached(relid)).* FROM pg_partition_tree('parts') ORDER BY relid::text;
SELECT simhash_detach('parts');
DROP INDEX parts_0_simhash_block0_idx;
SELECT simhash_detach('parts');
SELECT relid, (pg_temp.attached(relid)).* FROM pg_partition_tree('parts') ORDER BY relid::text;

-- Inheritance: children inherit the columns, and each table has its own indexes.
CREATE TABLE family_parent (body text);
CREATE TABLE family_child (more text) INHERITS (family_parent);
CREATE TABLE family_grandchild () INHERITS (family_child);
CREATE TABLE family_other (body text);
SET client_min_messages = warning;
SELECT simhash_attach('family_other', 'body', blocks => 2);
ALTER TABLE family_other INHERIT family_parent;
INSERT INTO family_grandchild VALUES ('a text', 'more');
SET client_min_messages = notice;
SELECT simhash_attach('family_parent', 'body', blocks => 2);
SELECT simhash_attach('family_parent', 'body', blocks => 2);
SELECT relid, (pg_temp.attached(relid)).*
FROM unnest('{family_parent,family_child,family_grandchild,family_other}'::regclass[]) AS relid;
SELECT described('family_grandchild');
-- A child that inherits the columns cannot be detached.
SELECT simhash_detach('family_child');
SET client_min_messages = warning;
SELECT simhash_detach('family_parent');
-- A child that had its own columns keeps them.
SELECT relid, (pg_temp.attached(relid)).*
FROM unnest('{family_parent,family_child,family_grandchild,family_other}'::regclass[]) AS relid;

-- A dump of a table with a foreign partition leaves the index of the whole table incomplete. Its partitions keep theirs,
-- and one that lacks an index gets it.
CREATE TABLE hub (id integer, part integer, f bigint) PARTITION BY LIST (part);
CREATE TABLE hub_1 PARTITION OF hub FOR VALUES IN (1);
CREATE FOREIGN DATA WRAPPER nowhere;
CREATE SERVER nowhere FOREIGN DATA WRAPPER nowhere;
CREATE FOREIGN TABLE hub_2 PARTITION OF hub FOR VALUES IN (2) SERVER nowhere;
CREATE INDEX whole_0 ON ONLY hub (simhash_block(f, 0, 2), f);
CREATE INDEX whole_1 ON ONLY hub (simhash_block(f, 1, 2), f);
CREATE INDEX part_0 ON hub_1 (simhash_block(f, 0, 2), f);
ALTER INDEX whole_0 ATTACH PARTITION part_0;
SELECT simhash_attach('hub', 'f', blocks => 2);
SELECT simhash_attach('hub', 'f', blocks => 2);
SELECT indexrelid::regclass, inhparent::regclass, pg_get_indexdef(indexrelid)
FROM pg_index LEFT JOIN pg_inherits ON inhrelid = indexrelid WHERE indrelid::regclass::text ~ '^hub' ORDER BY 1;
DROP FOREIGN DATA WRAPPER nowhere CASCADE;
