-- simhash_index on every kind of table that can have indexes.
CREATE VIEW indexes AS
SELECT relname AS index, indisvalid AS is_valid, inhparent::regclass AS parent
FROM pg_index JOIN pg_class ON oid = indexrelid LEFT JOIN pg_inherits ON inhrelid = indexrelid
WHERE relnamespace = 'public'::regnamespace ORDER BY relname COLLATE "C";

-- Partitions at two levels, with columns in another order; later ones get the indexes too.
CREATE TABLE parts (id integer, body text) PARTITION BY RANGE (id);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES FROM (0) TO (10);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (10) TO (20) PARTITION BY RANGE (id);
CREATE TABLE parts_1a (gone integer, body text, id integer);
ALTER TABLE parts_1a DROP COLUMN gone;
ALTER TABLE parts_1 ATTACH PARTITION parts_1a FOR VALUES FROM (10) TO (15);
CREATE TABLE parts_1b PARTITION OF parts_1 FOR VALUES FROM (15) TO (20);
INSERT INTO parts SELECT n, 'text ' || n FROM generate_series(0, 19) AS n;
-- An index of a partition is not built again.
SELECT simhash_index('parts_1a', 'upper(body)', bands => 1), simhash_index('parts', 'upper(body)', bands => 2);
SELECT simhash_index('parts', 'upper(body)', bands => 2), simhash_index('parts_1', 'upper(body)', bands => 2);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (20) TO (30);
SELECT * FROM indexes;
SELECT tablename, count(*) FROM pg_stats WHERE tablename ~ '^parts.*idx' GROUP BY tablename ORDER BY tablename;
DROP INDEX parts_simhash_band0_idx, parts_simhash_band1_idx;
-- An index on one partition is not an index on all. One that is made by hand is completed.
CREATE INDEX ON parts_1 (id, simhash_band(body, 0), simhash_size(body), simhash(body));
CREATE INDEX by_hand ON ONLY parts (simhash_band(body, 0), simhash_size(body), simhash(body));
CREATE INDEX by_hand_0 ON parts_0 (simhash_band(body, 0), simhash_size(body), simhash(body));
ALTER INDEX by_hand ATTACH PARTITION by_hand_0;
SELECT simhash_index('parts', 'body', bands => 1, scope => '{id}'), simhash_index('parts', 'body', bands => 1);
SELECT * FROM indexes;
DROP TABLE parts;

-- Inheritance: each table has indexes of its own.
CREATE TABLE parent (body text);
CREATE TABLE child (own integer) INHERITS (parent);
CREATE TABLE grandchild (more text, body text) INHERITS (child);
SET client_min_messages = notice;
SELECT simhash_index('child', 'body', bands => 1);
SELECT simhash_index('parent', 'body', bands => 1);
SET client_min_messages = warning;
SELECT * FROM indexes;
DROP TABLE parent CASCADE;

-- Materialized views, which simhash_attach refuses; unlogged and temporary tables; names that must be quoted, or are
-- long.
CREATE SCHEMA "A schema";
CREATE MATERIALIZED VIEW "A schema"."A view" AS SELECT n AS id, 'text ' || n AS "Body" FROM generate_series(1, 10) AS n;
SELECT simhash_index('"A schema"."A view"', 'Body', bands => 1, scope => '{id}');
SELECT simhash_index('"A schema"."A view"', 'lower("Body")', bands => 1);
REFRESH MATERIALIZED VIEW "A schema"."A view";
SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = '"A schema"."A view"'::regclass ORDER BY 1;
SELECT errors($$SELECT simhash_attach('"A schema"."A view"', 'Body')$$);
CREATE UNLOGGED TABLE unlogged (body text);
CREATE TEMP TABLE temporary (body text);
SELECT simhash_index('unlogged', 'body', bands => 1), simhash_index('temporary', 'body', bands => 1);
SET client_min_messages = notice;
SELECT repeat('t', 63) AS long_table \gset
CREATE TABLE :long_table (a_scope_column_with_a_very_long_name integer, body text);
SELECT simhash_index(:'long_table', 'body', bands => 2),
    simhash_index(:'long_table', 'body', bands => 2, scope => '{a_scope_column_with_a_very_long_name}');
DROP TABLE :long_table, unlogged;

-- Indexes that are not valid, as a failed REINDEX, CREATE INDEX or DROP INDEX CONCURRENTLY leaves them, are dropped;
-- but not those of a constraint.
CREATE TABLE docs AS SELECT n AS id, 'text ' || n AS body FROM generate_series(1, 100) AS n;
SELECT simhash_index('docs', 'body', bands => 2);
CREATE INDEX docs_simhash_band0_idx_ccnew ON docs (simhash_band(body, 0), simhash_size(body), simhash(body));
CREATE UNIQUE INDEX constrains ON docs (simhash_band(body, 0), simhash_size(body), simhash(body), id);
CREATE INDEX of_another ON docs (simhash_band(upper(body), 0), simhash_size(upper(body)), simhash(upper(body)));
CREATE INDEX half_dropped ON docs (simhash_band(body, 0), simhash_size(body), simhash(body));
UPDATE pg_index SET indisvalid = false, indislive = indexrelid <> 'half_dropped'::regclass
WHERE indexrelid IN ('docs_simhash_band0_idx_ccnew'::regclass, 'docs_simhash_band1_idx'::regclass,
    'constrains'::regclass, 'of_another'::regclass, 'half_dropped'::regclass);
SELECT simhash_index('docs', 'body', bands => 2);
SELECT simhash_index('docs', 'body', bands => 2);
SELECT * FROM indexes;
-- If a valid index exists too, an invalid one is dropped, and nothing is built.
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'docs_simhash_band1_idx'::regclass;
CREATE INDEX docs_again ON docs (simhash_band(body, 1), simhash_size(body), simhash(body));
SELECT simhash_index('docs', 'body', bands => 2);
-- Missing statistics are collected again.
DELETE FROM pg_statistic WHERE starelid = 'docs_again'::regclass;
SELECT simhash_index('docs', 'body', bands => 1);
SELECT simhash_index('docs', 'body', bands => 2);
SELECT simhash_index('docs', 'body', bands => 2);
