-- How conditions on the distance are planned: as a scan of block indexes wherever they stand in a query, and as a plain
-- filter if no block is indexed.

-- A plan without the differences between versions of PostgreSQL: the names of sub-plans and of their results, which
-- become parameters here, and the marks on disabled and replaced nodes.
CREATE FUNCTION portable_plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        line = regexp_replace(line, '(InitPlan|SubPlan) \w+( \(returns \$\d+\))?', '\1');
        line = regexp_replace(line, '\$\d+|\(InitPlan\)\.col1', '$n', 'g');
        IF line !~ '^ *(Disabled: true|Replaces: .*)$' THEN
            RETURN NEXT line;
        END IF;
    END LOOP;
END $$;

-- Gives a table the columns b<blocks>_<block>, with their indexes.
CREATE PROCEDURE add_columns(target regclass, blocks integer) LANGUAGE plpgsql AS $$
BEGIN
    FOR block IN 0 .. blocks - 1 LOOP
        EXECUTE format('ALTER TABLE %1$s ADD b%2$s_%3$s integer
            GENERATED ALWAYS AS (simhash_block(fp, %3$s, %2$s)) STORED', target, blocks, block);
        EXECUTE format('CREATE INDEX %1$s_b%2$s_%3$s ON %1$s (b%2$s_%3$s, fp)', target, blocks, block);
    END LOOP;
END $$;

CREATE TABLE prints (id integer PRIMARY KEY, tag integer, fp bigint);
INSERT INTO prints SELECT n, n % 10, random_fingerprint(n) FROM generate_series(1, 20000) n;
CALL add_columns('prints', 4);
VACUUM ANALYZE prints;

-- With default settings ---------------------------------------------------------

SELECT portable_plan('SELECT aliased.id FROM prints AS aliased WHERE aliased.tag = 1 AND simhash_near(aliased.fp, 42)
    ORDER BY aliased.fp <~> 42 LIMIT 10');
-- Nothing is within a negative distance. Within a large distance, a sequential scan is cheaper.
SELECT portable_plan('SELECT id FROM prints WHERE simhash_near(fp, 42, -1)');
SELECT portable_plan('SELECT id FROM prints WHERE simhash_near(fp, 42, 25)');

-- Few rows are expected, so the plan does not scan the table for the first near row.
SELECT plan_lines('SELECT EXISTS (SELECT FROM prints WHERE simhash_near(fp, 42, 5))', 'Scan');
-- All parts of a UNION ALL are searched.
SELECT plan_lines('SELECT id FROM (SELECT id, fp FROM prints UNION ALL SELECT -id, fp FROM prints) AS u
    WHERE simhash_near(fp, 42, 0)', 'Scan');

-- Conditions on the distance are searched like simhash_near, whichever way they are written.
SELECT portable_plan('SELECT id FROM prints WHERE fp <~> 42 = 5');
SELECT portable_plan('SELECT id FROM prints WHERE fp <~> 42 >= 5');

-- Each layout ---------------------------------------------------------------------

SET enable_seqscan = off;
CREATE TABLE three_layouts (id integer, fp bigint);
INSERT INTO three_layouts SELECT n, random_fingerprint(n) FROM generate_series(1, 2000) n;
-- The lines of the plan of a query that is run, which say what has been read of the layouts.
CREATE FUNCTION layouts_used(query text) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(substring(line FROM '^[^(]*[^( ]'), '; ')
    FROM run_lines(query, 'Blocks|Radii|Descents|Full Scans|Seq Scan') AS line
$$;

-- A search uses the cheapest of several layouts for the distance. It is chosen when the query runs.
CALL add_columns('three_layouts', 2);
CALL add_columns('three_layouts', 3);
CALL add_columns('three_layouts', 4);
INSERT INTO three_layouts SELECT n, random_fingerprint(n) FROM generate_series(2001, 40000) n;
ANALYZE three_layouts; SET plan_cache_mode = force_generic_plan;
PREPARE within (integer) AS SELECT id FROM three_layouts WHERE simhash_near(fp, 42, $1);
SELECT portable_plan('EXECUTE within (3)');
-- If the distance takes too many probes, all entries of an index are read.
SELECT distance, layouts_used(format('EXECUTE within (%s)', distance))
FROM unnest('{-1,0,1,2,3,5,7,9,12,24,64,1000}'::integer[]) AS distance;
RESET plan_cache_mode;

-- A search that finds very many rows with one value of a block gives the block up, and goes on with the others.
CREATE TABLE hot (id integer, fp bigint);
INSERT INTO hot SELECT n, CASE WHEN n % 2 = 0 THEN random_fingerprint(n) & x'0000ffffffffffff'::bigint
    ELSE random_fingerprint(n) END FROM generate_series(1, 40000) n;
CALL add_columns('hot', 4);
VACUUM ANALYZE hot;
SELECT layouts_used(format('SELECT id FROM hot WHERE simhash_near(fp, %s)', query))
FROM unnest(ARRAY[42, random_fingerprint(1)]) AS query;

-- In any query ----------------------------------------------------------------------

-- A view. The limit of a sub-query applies first: all rows are read.
CREATE VIEW under_other_names (number, print) AS SELECT id, fp FROM prints WHERE tag < 5;
SELECT portable_plan('SELECT number FROM under_other_names WHERE simhash_near(print, 42, 0)');
SELECT portable_plan('SELECT id FROM (SELECT id, fp FROM prints ORDER BY id LIMIT 5) AS few WHERE simhash_near(fp, 42, 0)');
-- The query fingerprint comes from a sub-select, which runs once.
SELECT portable_plan('SELECT id FROM prints WHERE simhash_near(fp, (SELECT fp FROM prints AS one WHERE id = 42), 1)');

-- Joins. The second table, of two rows, has no index of its own.
CREATE TABLE queries (id integer, fp bigint);
INSERT INTO queries SELECT id, fp FROM prints WHERE id IN (7, 42);
ANALYZE queries;
SELECT plan_lines('SELECT prints.id FROM queries LEFT JOIN prints ON simhash_near(queries.fp, prints.fp, 1)',
    'Join|Scan');
SELECT portable_plan('SELECT queries.id FROM queries
    WHERE NOT EXISTS (SELECT FROM prints WHERE simhash_near(prints.fp, queries.fp, 0) AND prints.id <> queries.id)');

-- Statements that change or lock rows search by the indexes too.
SELECT plan_lines('UPDATE prints SET tag = 0 WHERE simhash_near(fp, 42, 0)', 'Update|Scan');
SELECT is_searched('SELECT id FROM prints WHERE simhash_near(fp, 42) FOR UPDATE SKIP LOCKED'),
    is_searched('SELECT id FROM prints ORDER BY fp <~> 42 LIMIT 1 FOR UPDATE');

-- Any table -------------------------------------------------------------------------

-- Indexes on the expression of a generated fingerprint. A search of the column does not recompute it; only a search for
-- the expression itself does.
CREATE TABLE texts (id integer, body text, fp bigint GENERATED ALWAYS AS (simhash(body)) STORED);
INSERT INTO texts (id, body) SELECT n, 'text ' || n FROM generate_series(1, 1000) n;
SELECT index_by_hand('texts', 'simhash(body)');
SELECT portable_plan('SELECT id FROM texts WHERE simhash_near(fp, 42, 1)');
SELECT portable_plan('SELECT id FROM texts WHERE simhash_near(simhash(body), 42, 1)');

-- Partitions, one of which has its columns in another order.
CREATE TABLE hashed (id integer, fp bigint) PARTITION BY HASH (id);
CREATE TABLE hashed0 PARTITION OF hashed FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE hashed1 (gone text, fp bigint, id integer);
ALTER TABLE hashed1 DROP COLUMN gone;
ALTER TABLE hashed ATTACH PARTITION hashed1 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO hashed SELECT id, fp FROM prints WHERE id <= 2000;
CALL add_columns('hashed', 4);
ANALYZE hashed;
SELECT plan_lines('SELECT id FROM hashed WHERE simhash_near(fp, 42, 1)', 'Scan');
-- A partition is searched by its own indexes. Block 0 is indexed in hashed0 only, so hashed1 is searched by block 1.
DROP INDEX hashed_b4_0;
CREATE INDEX hashed0_b4_0 ON hashed0 (b4_0, fp);
SELECT layouts_used('SELECT id FROM hashed WHERE simhash_near(fp, 42, 0)');
-- A join neither locks nor waits for a partition that the planner prunes, or an index of one. (From version 16 on,
-- PostgreSQL itself locks the indexes of the partitioned table.)
CREATE TABLE by_tag (id integer, tag integer, fp bigint) PARTITION BY LIST (tag);
SELECT run(format('CREATE TABLE by_tag%s PARTITION OF by_tag FOR VALUES IN (%1$s)', tag))
FROM generate_series(0, 9) tag;
INSERT INTO by_tag SELECT id, tag, fp FROM prints;
CALL add_columns('by_tag', 4);
ANALYZE by_tag;
BEGIN;
SELECT plan_lines('SELECT by_tag.id FROM queries JOIN by_tag ON simhash_near(by_tag.fp, queries.fp) AND by_tag.tag = 5',
    'Loop|Scan');
SELECT DISTINCT c.relname FROM pg_locks JOIN pg_class c ON c.oid = relation
WHERE pid = pg_backend_pid() AND c.relname ~ '^by_tag\d?(_|$)' AND c.relkind <> 'I' ORDER BY relname;
ROLLBACK;
-- A foreign partition, which may return anything for a generated column, does not keep others from being searched.
CREATE FOREIGN DATA WRAPPER elsewhere;
CREATE SERVER elsewhere FOREIGN DATA WRAPPER elsewhere;
CREATE FOREIGN TABLE by_tag_foreign PARTITION OF by_tag FOR VALUES IN (99) SERVER elsewhere;
SELECT count(*) FROM portable_plan('SELECT by_tag.id FROM queries JOIN by_tag
    ON simhash_near(by_tag.fp, queries.fp) AND by_tag.tag = 5') line WHERE line ~ 'SimhashScan';
DROP FOREIGN TABLE by_tag_foreign;

-- Tables that inherit are searched by indexes of their own.
CREATE TABLE parent (id integer, fp bigint);
CREATE TABLE child (more text) INHERITS (parent);
CALL add_columns('parent', 2);
CREATE INDEX child_b2_0 ON child (b2_0, fp);
CREATE INDEX child_b2_1 ON child (b2_1, fp);
INSERT INTO parent SELECT id, fp FROM prints WHERE id <= 1000;
INSERT INTO child SELECT id, fp FROM prints WHERE id BETWEEN 1001 AND 2000;
ANALYZE parent; ANALYZE child;
SELECT plan_lines('SELECT id FROM parent WHERE simhash_near(fp, 42, 0)', 'Scan');
-- The index of the child has another expression, which only looks alike: the child is not searched by blocks.
DROP INDEX parent_b2_0, child_b2_0, parent_b2_1, child_b2_1;
CREATE INDEX parent_b2_0 ON parent (simhash_block(fp, 0, 2), fp);
CREATE INDEX child_b2_0 ON child (simhash_block(fp + 1, 0, 2), fp);
SELECT plan_lines('SELECT id FROM parent WHERE simhash_near(fp, 42, 0)', 'Scan');

-- Not by an index -------------------------------------------------------------------

-- Nothing is indexed.
SELECT portable_plan('SELECT id FROM queries WHERE simhash_near(fp, 42)');
-- How many blocks of the layout of four a search looks at, and how closely. One block is not indexed: another one
-- takes more probes, unless the distance is so small that three blocks suffice.
CREATE TABLE partly_indexed (id integer, fp bigint, other bigint);
INSERT INTO partly_indexed SELECT id, fp, fp FROM prints WHERE id <= 1000;
CALL add_columns('partly_indexed', 4);
ANALYZE partly_indexed;
CREATE FUNCTION layouts_used_by_partly_indexed() RETURNS text LANGUAGE sql RETURN
    layouts_used('SELECT id FROM partly_indexed WHERE simhash_near(fp, 42)');
DROP INDEX partly_indexed_b4_3;
SELECT layouts_used_by_partly_indexed();
SELECT layouts_used('SELECT id FROM partly_indexed WHERE simhash_near(fp, 42, 2)');
-- In its place, an index with another operator class.
CREATE OPERATOR CLASS backwards FOR TYPE integer USING btree AS
    OPERATOR 1 >, OPERATOR 2 >=, OPERATOR 3 =, OPERATOR 4 <=, OPERATOR 5 <, FUNCTION 1 btint4cmp(integer, integer);
CREATE INDEX partly_indexed_b4_3 ON partly_indexed (b4_3 backwards, fp);
SELECT layouts_used_by_partly_indexed();
DROP INDEX partly_indexed_b4_3;
-- An index without the fingerprint does not serve.
CREATE INDEX partly_indexed_b4_3 ON partly_indexed (b4_3);
SELECT layouts_used_by_partly_indexed();
DROP INDEX partly_indexed_b4_3;
-- Any sort order of the index serves, and further keys do not matter.
CREATE INDEX partly_indexed_b4_3 ON partly_indexed (b4_3 DESC NULLS LAST, id) INCLUDE (fp);
SELECT layouts_used_by_partly_indexed();
-- If there are only partial indexes, they serve queries that imply their predicate.
DROP INDEX partly_indexed_b4_0, partly_indexed_b4_1, partly_indexed_b4_2, partly_indexed_b4_3;
CREATE INDEX partly_indexed_partial0 ON partly_indexed (simhash_block(fp, 0, 2), fp) WHERE id > 500;
CREATE INDEX partly_indexed_partial1 ON partly_indexed (simhash_block(fp, 1, 2), fp) WHERE id > 500;
ANALYZE partly_indexed;
SELECT portable_plan('SELECT id FROM partly_indexed WHERE simhash_near(fp, 42, 1)');
SELECT portable_plan('SELECT id FROM partly_indexed WHERE simhash_near(fp, 42, 1) AND id > 600');
-- Arguments that may change with each evaluation.
SELECT portable_plan('SELECT id FROM prints WHERE simhash_near(fp, (random() * 9)::bigint)');
-- Above grouping sets, where a column that is left out is NULL.
SET enable_hashagg = off;
SELECT portable_plan('SELECT fp, count(*) FROM prints GROUP BY ROLLUP (fp) HAVING simhash_near(fp, 42)');

-- The fingerprint of a generated column is searched by its name and by both of its expressions; others are not.
CREATE TABLE posts (id integer, html text, part text GENERATED ALWAYS AS (substr(html, 5)) STORED);
INSERT INTO posts SELECT n, md5(n::text) FROM generate_series(1, 1000) AS n;
SELECT simhash_attach('posts', 'part');
SELECT fingerprint, is_searched(format('SELECT FROM posts WHERE simhash_near(%s, 7)', fingerprint))
FROM unnest('{simhash,simhash(part),"simhash(substr(html, 5))",simhash(html),simhash(posts::text || part)}'::text[])
    AS fingerprint;
