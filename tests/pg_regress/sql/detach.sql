-- simhash_detach removes what simhash_attach made, and only that.
CREATE TABLE docs (id integer PRIMARY KEY, body text, title text);
INSERT INTO docs VALUES (1, 'a text', 'a title');
SELECT simhash_attach('docs', 'body', blocks => 2);
SELECT simhash_attach('docs', 'title', blocks => 2, prefix => 't');
SET client_min_messages = notice;
-- First one prefix, then the other; then nothing is attached.
SELECT relfilenode AS file FROM pg_class WHERE oid = 'docs'::regclass \gset
SELECT simhash_detach('docs');
\d docs
SELECT simhash_detach('docs', prefix => 't');
SELECT relfilenode = :file AS not_rewritten FROM pg_class WHERE oid = 'docs'::regclass;
TABLE docs;
CREATE VIEW a_view AS SELECT 1 AS simhash;
SELECT errors($$SELECT simhash_detach('docs')$$, $$SELECT simhash_detach('docs', 'title')$$,
    $$SELECT simhash_detach('a_view')$$, $$SELECT simhash_detach(NULL)$$,
    $$SELECT simhash_detach('docs', NULL)$$, $$SELECT simhash_detach('docs', '')$$,
    $$SELECT simhash_detach('no_such_table')$$, $$SELECT simhash_detach('pg_class')$$);
DROP VIEW a_view;

-- Objects that existed before stay, and so do objects that have lost their comment or their expression.
CREATE TABLE half_attached (body text,
    simhash bigint GENERATED ALWAYS AS (simhash(body)) STORED,
    simhash_block0 integer GENERATED ALWAYS AS (simhash_block(simhash(body), 0)) STORED);
CREATE INDEX my_own ON half_attached (simhash_block0);
SELECT run_quietly($$SELECT simhash_attach('half_attached', 'body')$$);
COMMENT ON COLUMN half_attached.simhash_block1 IS 'mine now';
DROP INDEX half_attached_simhash_block2_idx;
ALTER TABLE half_attached ALTER simhash_block3 DROP EXPRESSION;
SELECT simhash_detach('half_attached');
\d+ half_attached
SELECT simhash_detach('half_attached');
-- An index without our comment belongs to the user, so its column stays too.
CREATE TABLE depended_on (body text);
SELECT run_quietly($$SELECT simhash_attach('depended_on', 'body', blocks => 2)$$);
COMMENT ON INDEX depended_on_simhash_block1_idx IS 'I like this one';
SELECT simhash_detach('depended_on');
DROP INDEX depended_on_simhash_block1_idx;

-- Objects that others built on the columns block detaching, whether PostgreSQL would refuse or drop them silently.
CREATE FUNCTION pg_temp.detach_beside(kind text, definition text, undo text DEFAULT 'DROP %s mine ON depended_on')
RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE definition;
    RETURN NEXT definition;
    RETURN QUERY SELECT errors('SELECT simhash_detach(''depended_on'')');
    EXECUTE format(undo, kind);
END $$;
SELECT pg_temp.detach_beside(kind, definition, 'DROP %s mine') FROM (VALUES
    ('VIEW', 'CREATE VIEW mine AS SELECT simhash FROM depended_on'),
    ('INDEX', 'CREATE INDEX mine ON depended_on (simhash, body)'),
    ('INDEX', 'CREATE INDEX mine ON depended_on (body) WHERE simhash_block0 > 0'),
    ('INDEX', 'CREATE INDEX mine ON depended_on ((simhash + 1))'),
    ('STATISTICS', 'CREATE STATISTICS mine ON simhash, body FROM depended_on')) AS v (kind, definition);
SELECT pg_temp.detach_beside('CONSTRAINT', format('ALTER TABLE depended_on ADD CONSTRAINT mine %s', definition),
    'ALTER TABLE depended_on DROP %s mine')
FROM unnest('{CHECK (simhash <> 0),UNIQUE (simhash)}'::text[]) AS definition;
SELECT pg_temp.detach_beside('TRIGGER', 'CREATE TRIGGER mine BEFORE UPDATE OF simhash ON depended_on
    EXECUTE FUNCTION suppress_redundant_updates_trigger()');
SELECT pg_temp.detach_beside('POLICY', 'CREATE POLICY mine ON depended_on USING (simhash <> 0)');
CREATE TABLE child (PRIMARY KEY (body)) INHERITS (depended_on);
SELECT pg_temp.detach_beside('INDEX', 'CREATE INDEX mine ON child (simhash_block1, body)', 'DROP %s mine');
DROP TABLE child;
-- No obstacle: a not-null constraint, statistics targets, privileges.
ALTER TABLE depended_on ALTER simhash SET NOT NULL, ALTER simhash SET STATISTICS 1000;
GRANT SELECT (simhash) ON depended_on TO PUBLIC;
SELECT simhash_detach('depended_on');
\d depended_on

-- A copy of the table with its comments, as a dump makes it, can be detached too.
CREATE TABLE original (body text);
SELECT run_quietly($$SELECT simhash_attach('original', 'body', blocks => 2)$$);
CREATE TABLE copy_of_original (LIKE original INCLUDING ALL);
SELECT simhash_detach('copy_of_original');
\d copy_of_original

-- A column that is no longer generated stays, with its fingerprints.
CREATE TABLE kept (body text);
INSERT INTO kept VALUES ('a text of some words');
SELECT run_quietly($$SELECT simhash_attach('kept', 'body', blocks => 3)$$);
ALTER TABLE kept ALTER simhash DROP EXPRESSION, ALTER simhash_block1 DROP EXPRESSION;
SELECT simhash_detach('kept');
SELECT body, simhash = simhash(body) AS kept, simhash_block1 = simhash_block(simhash, 1, 3) AS block_kept FROM kept;
\d kept

-- Comments of other tools, such as PostGraphile's, can have the mark of simhash_attach as a line.
CREATE TABLE commented (body text);
SELECT run_quietly($$SELECT simhash_attach('commented', 'body', blocks => 2)$$);
SELECT run(format('COMMENT ON COLUMN commented.%I IS %L', attname, '@omit'))
FROM pg_attribute WHERE attrelid = 'commented'::regclass AND attname LIKE 'simhash%';
SELECT simhash_detach('commented');
COMMENT ON COLUMN commented.simhash IS E'@omit\nmade by simhash_attach, prefix simhash: fingerprint of body';
COMMENT ON COLUMN commented.simhash_block1 IS E'\n\nmade by simhash_attach, prefix simhash: \nmore';
SELECT simhash_detach('commented');

-- A partition that was detached from its table is a table of its own.
CREATE TABLE parts (id integer, body text) PARTITION BY LIST (id);
CREATE TABLE part_1 PARTITION OF parts FOR VALUES IN (1);
SELECT run_quietly($$SELECT simhash_attach('parts', 'body', blocks => 2)$$);
ALTER TABLE parts DETACH PARTITION part_1;
SELECT simhash_detach('part_1');
\d part_1

-- A column that another parent also gives stays, with its index, and so it does in what inherits from there.
SET client_min_messages = warning;
CREATE TABLE parent_1 (body text);
CREATE TABLE parent_2 (body text);
CREATE TABLE child_of_both () INHERITS (parent_1, parent_2);
CREATE TABLE grandchild () INHERITS (child_of_both, parent_2);
SELECT simhash_attach('parent_1', 'body', blocks => 2), simhash_attach('parent_2', 'body', blocks => 2);
SELECT simhash_detach('parent_1');
SELECT indrelid::regclass, count(*) FROM pg_index WHERE indrelid::regclass::text IN ('child_of_both', 'grandchild')
GROUP BY 1 ORDER BY 1;
CREATE INDEX mine ON grandchild (simhash_block1, body);
SELECT simhash_detach('parent_2');
