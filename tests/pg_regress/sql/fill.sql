-- simhash_fill succeeds only if no row is left: rows that it cannot fill are an error, and other commands warn of them.
CREATE TABLE fill_docs (id integer PRIMARY KEY, body text);
INSERT INTO fill_docs SELECT n, 'text ' || n FROM generate_series(1, 10) AS n;
INSERT INTO fill_docs VALUES (11, NULL), (12, '...');
SELECT simhash_attach_online('fill_docs', 'body');
-- Before the fill: a warning with the index commands, and with a guard.
SELECT simhash_index_commands('fill_docs', 2) \gexec
SET client_min_messages = warning;
SELECT simhash_guard('fill_docs', max_distance => 1);
-- A trigger of the user's empties the column again.
CREATE FUNCTION fill_empty() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.simhash := NULL; RETURN NEW; END $$;
CREATE TRIGGER zzz_empty BEFORE UPDATE ON fill_docs FOR EACH ROW WHEN (NEW.id <= 3) EXECUTE FUNCTION fill_empty();
CALL simhash_fill('fill_docs');
\echo :LAST_ERROR_SQLSTATE
SELECT count(simhash) FROM fill_docs;
SELECT count(*) FROM simhash_index_commands('fill_docs', 2);
SELECT simhash_guard('fill_docs', max_distance => 1);
DROP TRIGGER zzz_empty ON fill_docs;
-- A trigger that empties it after the UPDATE.
CREATE FUNCTION fill_after() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE fill_docs SET simhash = NULL WHERE id = NEW.id AND simhash IS NOT NULL;
    RETURN NULL;
END $$;
CREATE TRIGGER after AFTER UPDATE ON fill_docs FOR EACH ROW WHEN (NEW.id <= 2 AND NEW.simhash IS NOT NULL)
    EXECUTE FUNCTION fill_after();
ALTER TABLE fill_docs DISABLE TRIGGER zz_simhash_update;
CALL simhash_fill('fill_docs');
\echo :LAST_ERROR_SQLSTATE
ALTER TABLE fill_docs ENABLE TRIGGER zz_simhash_update;
DROP TRIGGER after ON fill_docs;
SELECT simhash_unguard('fill_docs');
-- A rule that lets no UPDATE through.
CREATE RULE fill_nothing AS ON UPDATE TO fill_docs DO INSTEAD NOTHING;
CALL simhash_fill('fill_docs');
\echo :LAST_ERROR_SQLSTATE
DROP RULE fill_nothing ON fill_docs;
RESET client_min_messages;
CALL simhash_fill('fill_docs');
CALL simhash_fill('fill_docs');
SELECT id FROM fill_docs WHERE simhash IS DISTINCT FROM simhash(body);
SELECT count(*) FROM simhash_index_commands('fill_docs', 2);
SELECT simhash_guard('fill_docs', max_distance => 1);
-- The guard looks for unfilled rows by an index on an expression or on a column, or without one.
SELECT simhash_unguard('fill_docs');
ALTER TABLE fill_docs DISABLE TRIGGER zz_simhash_update;
UPDATE fill_docs SET simhash = NULL WHERE id = 10;
ALTER TABLE fill_docs ENABLE TRIGGER zz_simhash_update;
SELECT simhash_guard('fill_docs', max_distance => 1);
SELECT simhash_unguard('fill_docs');
DROP INDEX fill_docs_simhash_block0_idx, fill_docs_simhash_block1_idx;
SET client_min_messages = warning;
SELECT simhash_attach('fill_docs', 'simhash', 2);
SELECT simhash_guard('fill_docs', max_distance => 1);
RESET client_min_messages;
-- No warning for a column that no trigger fills, nor for a generated column.
CREATE TABLE fill_own (id integer PRIMARY KEY, body text, fp bigint);
INSERT INTO fill_own VALUES (1, 'a text', NULL);
SELECT count(*) FROM simhash_index_commands('fill_own', 2, 'fp');

-- No warning if the trigger cannot compute, nor if a policy hides the rows from the owner: a warning must not fail.
CREATE TABLE fill_broken (id integer PRIMARY KEY, body text);
INSERT INTO fill_broken VALUES (1, 'a text');
SELECT simhash_attach_online('fill_broken', 'body');
CREATE ROLE regress_fill_owner;
GRANT ALL ON SCHEMA public TO regress_fill_owner;
ALTER TABLE fill_broken OWNER TO regress_fill_owner;
ALTER TABLE fill_broken ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
SELECT count(*) FROM simhash_index_commands('fill_broken', 2);
CALL simhash_fill('fill_broken');
\echo :LAST_ERROR_SQLSTATE
ALTER TABLE fill_broken DISABLE ROW LEVEL SECURITY;
SELECT count(*) FROM simhash_index_commands('fill_broken', 2);
ALTER TABLE fill_broken RENAME body TO title;
SELECT count(*) FROM simhash_index_commands('fill_broken', 2);
CALL simhash_fill('fill_broken');
\echo :LAST_ERROR_SQLSTATE
DROP TABLE fill_broken;
DROP OWNED BY regress_fill_owner;
DROP ROLE regress_fill_owner;

-- Partitioned tables, with the options of the trigger.
CREATE TABLE fill_parts (id integer, body text) PARTITION BY LIST (id);
CREATE TABLE fill_parts_1 PARTITION OF fill_parts FOR VALUES IN (1);
CREATE TABLE fill_parts_2 PARTITION OF fill_parts FOR VALUES IN (2) PARTITION BY LIST (id);
CREATE TABLE fill_parts_2a PARTITION OF fill_parts_2 FOR VALUES IN (2);
INSERT INTO fill_parts VALUES (1, 'a text'), (2, 'another');
SELECT simhash_attach_online('fill_parts', 'body', '{"ngram": 2}', prefix => 'f p');
CREATE RULE fill_nothing AS ON UPDATE TO fill_parts_2a DO INSTEAD NOTHING;
CALL simhash_fill('fill_parts', 'f p');
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) > 0 AS some FROM simhash_index_commands('fill_parts', 2, 'f p');
DROP RULE fill_nothing ON fill_parts_2a;
CALL simhash_fill('fill_parts', 'f p');
CALL simhash_fill('fill_parts_1', 'f p');
SELECT id FROM fill_parts WHERE "f p" IS DISTINCT FROM simhash(body, '{"ngram": 2}');

-- Children are checked one by one, each by its own trigger.
CREATE TABLE fill_parent (id integer, body text);
CREATE TABLE fill_child () INHERITS (fill_parent);
INSERT INTO fill_parent VALUES (1, 'a text');
INSERT INTO fill_child VALUES (2, 'another');
SELECT simhash_attach_online('fill_parent', 'body');
CREATE RULE fill_nothing AS ON UPDATE TO fill_child DO INSTEAD NOTHING;
CALL simhash_fill('fill_parent');
\echo :LAST_ERROR_SQLSTATE
DROP RULE fill_nothing ON fill_child;
CALL simhash_fill('fill_parent');
SELECT id FROM fill_parent WHERE simhash IS DISTINCT FROM simhash(body);

-- Without the trigger, even an empty table is an error.
CREATE TABLE fill_without (id integer, body text, simhash bigint);
CALL simhash_fill('fill_without');
\echo :LAST_ERROR_SQLSTATE

-- Each batch has its own transaction, at other isolation levels too.
UPDATE fill_docs SET body = body || ' more';
ALTER TABLE fill_docs DISABLE TRIGGER zz_simhash_update;
UPDATE fill_docs SET simhash = NULL;
ALTER TABLE fill_docs ENABLE TRIGGER zz_simhash_update;
SET default_transaction_isolation = serializable;
CALL simhash_fill('fill_docs', batch_pages => 1);
RESET default_transaction_isolation;
SELECT count(*) FROM fill_docs WHERE simhash IS DISTINCT FROM simhash(body);

DROP TABLE fill_docs, fill_own, fill_parts, fill_parent, fill_child, fill_without;
DROP FUNCTION fill_empty, fill_after;
