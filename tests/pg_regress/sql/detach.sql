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
CREATE TABLE detach_own (fingerprint bigint);
SELECT simhash_attach('detach_own', 'fingerprint', blocks => 2, prefix => 'fingerprint');
CREATE TABLE detach_original (body text);
SELECT simhash_attach('detach_original', 'body', blocks => 2);
SET client_min_messages = notice;
-- First one prefix, then the other; then nothing is attached.
SELECT relfilenode AS file FROM pg_class WHERE oid = 'detach_docs'::regclass \gset
SELECT simhash_detach('detach_docs');
\d detach_docs
SELECT simhash_detach('detach_docs', prefix => 't');
SELECT relfilenode = :file AS not_rewritten FROM pg_class WHERE oid = 'detach_docs'::regclass;
TABLE detach_docs;
SELECT errors($$SELECT simhash_detach('detach_docs')$$, $$SELECT simhash_detach('detach_docs', 'title')$$,
    $$SELECT simhash_detach(NULL)$$, $$SELECT simhash_detach('detach_docs', NULL)$$,
    $$SELECT simhash_detach('detach_docs', '')$$,
    $$SELECT simhash_detach('no_such_table')$$, $$SELECT simhash_detach('pg_class')$$);
CREATE VIEW detach_view AS SELECT 1 AS simhash;
SELECT errors($$SELECT simhash_detach('detach_view')$$);
DROP VIEW detach_view;

-- What existed before stays, and so does what has lost its comment or its expression.
COMMENT ON COLUMN detach_half.simhash_block1 IS 'mine now';
COMMENT ON INDEX detach_half_simhash_block2_idx IS NULL;
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
CREATE VIEW detach_view AS SELECT simhash FROM detach_index;
SELECT errors($$SELECT simhash_detach('detach_index')$$);
DROP VIEW detach_view;
CREATE FUNCTION pg_temp.obstacle(statement text, undo text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE statement;
    RETURN QUERY SELECT statement;
    RETURN QUERY SELECT errors('SELECT simhash_detach(''detach_index'')');
    EXECUTE undo;
END $$;
SELECT pg_temp.obstacle('CREATE INDEX mine ON detach_index (simhash, body)', 'DROP INDEX mine');
SELECT pg_temp.obstacle('CREATE INDEX mine ON detach_index (body) WHERE simhash_block0 > 0', 'DROP INDEX mine');
SELECT pg_temp.obstacle('CREATE INDEX mine ON detach_index ((simhash + 1))', 'DROP INDEX mine');
SELECT pg_temp.obstacle('CREATE STATISTICS mine ON simhash, body FROM detach_index', 'DROP STATISTICS mine');
SELECT pg_temp.obstacle('ALTER TABLE detach_index ADD CONSTRAINT mine CHECK (simhash <> 0)',
    'ALTER TABLE detach_index DROP CONSTRAINT mine');
SELECT pg_temp.obstacle('ALTER TABLE detach_index ADD CONSTRAINT mine UNIQUE (simhash)',
    'ALTER TABLE detach_index DROP CONSTRAINT mine');
SELECT pg_temp.obstacle('CREATE TRIGGER mine BEFORE UPDATE OF simhash ON detach_index
    EXECUTE FUNCTION suppress_redundant_updates_trigger()',
    'DROP TRIGGER mine ON detach_index');
SELECT pg_temp.obstacle('CREATE POLICY mine ON detach_index USING (simhash <> 0)',
    'DROP POLICY mine ON detach_index');
CREATE TABLE detach_child (PRIMARY KEY (body)) INHERITS (detach_index);
SELECT pg_temp.obstacle('CREATE INDEX mine ON detach_child (simhash_block1, body)', 'DROP INDEX mine');
DROP TABLE detach_child;
-- No obstacle: a not-null constraint, statistics targets, privileges.
ALTER TABLE detach_index ALTER simhash SET NOT NULL, ALTER simhash SET STATISTICS 1000;
GRANT SELECT (simhash) ON detach_index TO PUBLIC;
SELECT simhash_detach('detach_index');
\d detach_index

-- If the application fills the fingerprint column, only the block columns are dropped.
SELECT simhash_detach('detach_own', 'fingerprint');
\d detach_own

-- A copy of the table with its comments, as a dump makes it, can be detached too.
CREATE TABLE detach_copy (LIKE detach_original INCLUDING ALL);
SELECT simhash_detach('detach_copy');
\d detach_copy

-- A fingerprint that is no longer generated is kept with its values.
CREATE TABLE detach_kept (body text);
INSERT INTO detach_kept VALUES ('a text of some words');
SELECT simhash_attach('detach_kept', 'body', blocks => 3);
ALTER TABLE detach_kept ALTER simhash DROP EXPRESSION, ALTER simhash_block1 DROP EXPRESSION;
SELECT simhash_detach('detach_kept');
SELECT body, simhash = simhash(body) AS kept, simhash_block1 = simhash_block(simhash, 1, 3) AS block_kept FROM detach_kept;
\d detach_kept
