-- simhash_detach removes what simhash_attach made, and only that.
CREATE TABLE detach_docs (id integer PRIMARY KEY, body text, title text);
INSERT INTO detach_docs VALUES (1, 'a text', 'a title');
SELECT simhash_attach('detach_docs', 'body', blocks => 2);
SELECT simhash_attach('detach_docs', 'title', blocks => 2, prefix => 't');
CREATE TABLE detach_half (body text,
    simhash bigint GENERATED ALWAYS AS (simhash(body)) STORED,
    simhash_block0 integer GENERATED ALWAYS AS (simhash_block(simhash(body), 0)) STORED);
CREATE INDEX my_own ON detach_half (simhash_block0);
SELECT simhash_attach('detach_half', 'body');
CREATE TABLE detach_index (body text);
SELECT simhash_attach('detach_index', 'body', blocks => 2);
CREATE TABLE detach_original (body text);
SELECT simhash_attach('detach_original', 'body', blocks => 2);
CREATE TABLE detach_kept (body text);
INSERT INTO detach_kept VALUES ('a text of some words');
SELECT simhash_attach('detach_kept', 'body', blocks => 3);
CREATE TABLE detach_comments (body text);
SELECT simhash_attach('detach_comments', 'body', blocks => 2);
CREATE TABLE detach_parts (id integer, body text) PARTITION BY LIST (id);
CREATE TABLE detach_part PARTITION OF detach_parts FOR VALUES IN (1);
SELECT simhash_attach('detach_parts', 'body', blocks => 2);
SET client_min_messages = notice;
-- First one prefix, then the other; then nothing is attached.
SELECT relfilenode AS file FROM pg_class WHERE oid = 'detach_docs'::regclass \gset
SELECT simhash_detach('detach_docs');
\d detach_docs
SELECT simhash_detach('detach_docs', prefix => 't');
SELECT relfilenode = :file AS not_rewritten FROM pg_class WHERE oid = 'detach_docs'::regclass;
TABLE detach_docs;
CREATE VIEW detach_view AS SELECT 1 AS simhash;
SELECT errors($$SELECT simhash_detach('detach_docs')$$, $$SELECT simhash_detach('detach_docs', 'title')$$,
    $$SELECT simhash_detach('detach_view')$$, $$SELECT simhash_detach(NULL)$$,
    $$SELECT simhash_detach('detach_docs', NULL)$$, $$SELECT simhash_detach('detach_docs', '')$$,
    $$SELECT simhash_detach('no_such_table')$$, $$SELECT simhash_detach('pg_class')$$);
DROP VIEW detach_view;

-- What existed before stays, and so does what has lost its comment or its expression.
COMMENT ON COLUMN detach_half.simhash_block1 IS 'mine now';
DROP INDEX detach_half_simhash_block2_idx;
ALTER TABLE detach_half ALTER simhash_block3 DROP EXPRESSION;
SELECT simhash_detach('detach_half');
\d+ detach_half
SELECT simhash_detach('detach_half');
-- An index without our comment belongs to the user, so its column stays too.
COMMENT ON INDEX detach_index_simhash_block1_idx IS 'I like this one';
SELECT simhash_detach('detach_index');
DROP INDEX detach_index_simhash_block1_idx;

-- Objects that others built on the columns block detaching, whether PostgreSQL would refuse or drop them silently.
CREATE FUNCTION pg_temp.obstacle(kind text, definition text, undo text DEFAULT 'DROP %s mine ON detach_index')
RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE definition;
    RETURN NEXT definition;
    RETURN QUERY SELECT errors('SELECT simhash_detach(''detach_index'')');
    EXECUTE format(undo, kind);
END $$;
SELECT pg_temp.obstacle(kind, definition, 'DROP %s mine') FROM (VALUES
    ('VIEW', 'CREATE VIEW mine AS SELECT simhash FROM detach_index'),
    ('INDEX', 'CREATE INDEX mine ON detach_index (simhash, body)'),
    ('INDEX', 'CREATE INDEX mine ON detach_index (body) WHERE simhash_block0 > 0'),
    ('INDEX', 'CREATE INDEX mine ON detach_index ((simhash + 1))'),
    ('STATISTICS', 'CREATE STATISTICS mine ON simhash, body FROM detach_index')) AS v (kind, definition);
SELECT pg_temp.obstacle('CONSTRAINT', format('ALTER TABLE detach_index ADD CONSTRAINT mine %s', definition),
    'ALTER TABLE detach_index DROP %s mine')
FROM unnest('{CHECK (simhash <> 0),UNIQUE (simhash)}'::text[]) AS definition;
SELECT pg_temp.obstacle('TRIGGER', 'CREATE TRIGGER mine BEFORE UPDATE OF simhash ON detach_index
    EXECUTE FUNCTION suppress_redundant_updates_trigger()');
SELECT pg_temp.obstacle('POLICY', 'CREATE POLICY mine ON detach_index USING (simhash <> 0)');
CREATE TABLE detach_child (PRIMARY KEY (body)) INHERITS (detach_index);
SELECT pg_temp.obstacle('INDEX', 'CREATE INDEX mine ON detach_child (simhash_block1, body)', 'DROP %s mine');
DROP TABLE detach_child;
-- No obstacle: a not-null constraint, statistics targets, privileges.
ALTER TABLE detach_index ALTER simhash SET NOT NULL, ALTER simhash SET STATISTICS 1000;
GRANT SELECT (simhash) ON detach_index TO PUBLIC;
SELECT simhash_detach('detach_index');
\d detach_index

-- A copy of the table with its comments, as a dump makes it, can be detached too.
CREATE TABLE detach_copy (LIKE detach_original INCLUDING ALL);
SELECT simhash_detach('detach_copy');
\d detach_copy

-- A fingerprint that is no longer generated is kept with its values.
ALTER TABLE detach_kept ALTER simhash DROP EXPRESSION, ALTER simhash_block1 DROP EXPRESSION;
SELECT simhash_detach('detach_kept');
SELECT body, simhash = simhash(body) AS kept, simhash_block1 = simhash_block(simhash, 1, 3) AS block_kept
FROM detach_kept;
\d detach_kept

-- Comments of other tools, such as PostGraphile's, can have the mark of simhash_attach as a line.
SELECT run(format('COMMENT ON COLUMN detach_comments.%I IS %L', attname, '@omit'))
FROM pg_attribute WHERE attrelid = 'detach_comments'::regclass AND attname LIKE 'simhash%';
SELECT simhash_detach('detach_comments');
COMMENT ON COLUMN detach_comments.simhash IS E'@omit\nmade by simhash_attach, prefix simhash: fingerprint of body';
COMMENT ON COLUMN detach_comments.simhash_block1 IS E'\n\nmade by simhash_attach, prefix simhash: \nmore';
SELECT simhash_detach('detach_comments');

-- A partition that was detached from its table is a table of its own.
ALTER TABLE detach_parts DETACH PARTITION detach_part;
SELECT simhash_detach('detach_part');
\d detach_part
