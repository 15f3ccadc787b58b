-- Attaching without a rewrite: simhash_attach_online, simhash_fill, simhash_index_commands, and the trigger
-- simhash_update.
-- A table of many pages, filled a few at a time.
CREATE TABLE online_docs (id integer UNIQUE, body text, views integer DEFAULT 0) WITH (fillfactor = 10);
INSERT INTO online_docs
SELECT n, (SELECT string_agg(md5(n::text || word), ' ') FROM generate_series(1, 20) AS word)
FROM generate_series(1, 100) AS n;
INSERT INTO online_docs VALUES (101, NULL), (102, ''), (103, '...');
SELECT relfilenode AS file FROM pg_class WHERE oid = 'online_docs'::regclass \gset
SELECT simhash_attach_online('online_docs', 'body');
SELECT simhash_attach_online('online_docs', 'body', '{}');
SELECT relfilenode = :file AS not_rewritten FROM pg_class WHERE oid = 'online_docs'::regclass;
\d+ online_docs
SELECT obj_description(oid, 'pg_trigger') AS comment FROM pg_trigger WHERE tgrelid = 'online_docs'::regclass;
-- New and changed rows get their fingerprint, whatever value the statement gives.
INSERT INTO online_docs (id, body, simhash) VALUES (200, 'a text', 42), (201, 'another', NULL), (202, '', 42);
UPDATE online_docs SET views = 1 WHERE id = 1;
UPDATE online_docs SET body = 'another text' WHERE id = 2;
UPDATE online_docs SET simhash = 42 WHERE id = 3;
UPDATE online_docs SET body = NULL WHERE id = 4;
SELECT id, simhash IS NOT DISTINCT FROM simhash(body) AS correct, simhash IS NULL AS none
FROM online_docs WHERE id < 6 OR id >= 200 ORDER BY id;
-- In a transaction block the fill cannot commit.
BEGIN;
CALL simhash_fill('online_docs');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
\set AUTOCOMMIT off
CALL simhash_fill('online_docs');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
\set AUTOCOMMIT on
CREATE PROCEDURE online_wrapper() LANGUAGE plpgsql
    AS $$ BEGIN CALL simhash_fill('online_docs', batch_pages => 1); END $$;
-- Stopped halfway, the fill has kept its work, and continues from there.
CREATE FUNCTION online_stop() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'stopped'; END $$;
CREATE TRIGGER stop BEFORE UPDATE ON online_docs FOR EACH ROW WHEN (NEW.id = 50) EXECUTE FUNCTION online_stop();
CALL simhash_fill('online_docs', batch_pages => 1);
SELECT count(simhash) BETWEEN 10 AND 60 AS some FROM online_docs;
DROP TRIGGER stop ON online_docs;
SET client_min_messages = warning;
CALL simhash_fill('online_docs', batch_pages => 7);
RESET client_min_messages;
SELECT count(simhash), count(*) FILTER (WHERE simhash IS DISTINCT FROM simhash(body)) AS wrong FROM online_docs;
CALL simhash_fill('online_docs');
-- Called by another procedure, it commits too.
ALTER TABLE online_docs DISABLE TRIGGER zz_simhash_update;
UPDATE online_docs SET simhash = NULL WHERE id <= 10;
CALL online_wrapper();
SELECT count(*) FILTER (WHERE simhash IS DISTINCT FROM simhash(body)) AS wrong FROM online_docs;
-- A disabled trigger does not count.
SELECT simhash_attach_online('online_docs', 'body');
ALTER TABLE online_docs ENABLE TRIGGER zz_simhash_update;
DROP PROCEDURE online_wrapper;

-- The indexes, without blocking writers.
SELECT simhash_index_commands('online_docs');
SELECT simhash_index_commands('online_docs') \gexec
SELECT simhash_index_commands('online_docs');
SELECT indexrelid::regclass AS index, indisvalid, obj_description(indexrelid, 'pg_class') AS comment
FROM pg_index WHERE indrelid = 'online_docs'::regclass ORDER BY indexrelid::regclass::text;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM online_docs
WHERE simhash_block(simhash, 0) = 1 OR simhash_block(simhash, 1) = 2
    OR simhash_block(simhash, 2) = 3 OR simhash_block(simhash, 3) = 4;
RESET enable_seqscan;
-- One missing index, and one left by a failed command.
DROP INDEX online_docs_simhash_block1_idx;
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'online_docs_simhash_block2_idx'::regclass;
COMMENT ON INDEX online_docs_simhash_block2_idx IS NULL;
CREATE INDEX online_docs_simhash_block1_idx ON online_docs (views);
SELECT simhash_index_commands('online_docs');
SELECT simhash_index_commands('online_docs') \gexec
SELECT simhash_index_commands('online_docs');
-- Another layout of the same column.
SELECT simhash_index_commands('online_docs', 2);
DROP INDEX online_docs_simhash_block1_idx;
SELECT simhash_detach('online_docs');
\d online_docs

-- Half attached, with options.
SELECT simhash_attach_online('online_docs', 'body', '{"ngram": 2}', 'fingerprint');
DROP TRIGGER zz_fingerprint_update ON online_docs;
SELECT simhash_attach_online('online_docs', 'body', '{"ngram": 2}', 'fingerprint');
ALTER TABLE online_docs DROP COLUMN fingerprint;
SELECT simhash_attach_online('online_docs', 'body', '{"ngram": 2, "weight": "set"}', 'fingerprint');
CALL simhash_fill('online_docs', 'fingerprint');
SELECT count(*) FILTER (WHERE fingerprint IS DISTINCT FROM simhash(body, '{"ngram": 2}')) AS wrong FROM online_docs;

-- BEFORE triggers fire in the order of their names: ours sees the text as the others leave it.
CREATE FUNCTION online_trim() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN NEW.body := 'before ' || NEW.body; RETURN NEW; END $$;
CREATE TRIGGER trim_body BEFORE INSERT OR UPDATE ON online_docs FOR EACH ROW EXECUTE FUNCTION online_trim();
INSERT INTO online_docs VALUES (300, 'a text');
UPDATE online_docs SET views = 2 WHERE id = 300;
SELECT body, fingerprint = simhash(body, '{"ngram": 2}') AS correct FROM online_docs WHERE id = 300;

-- A user's own trigger would stay and fail on every row, so it blocks detaching.
DROP TRIGGER zz_fingerprint_update ON online_docs;
CREATE TRIGGER my_own BEFORE INSERT OR UPDATE ON online_docs
    FOR EACH ROW EXECUTE FUNCTION simhash_update('fingerprint', 'body');
SELECT simhash_attach_online('online_docs', 'body', prefix => 'fingerprint');
SELECT simhash_detach('online_docs', 'fingerprint');
\echo :LAST_ERROR_SQLSTATE
DROP TRIGGER my_own ON online_docs;
SELECT simhash_attach_online('online_docs', 'body', '{"ngram": 2}', 'fingerprint');

-- The types that the trigger takes, in triggers written by hand.
CREATE DOMAIN online_domain AS text;
CREATE TABLE online_types (a varchar(20), b char(20), c online_domain, d text[], e varchar[], f tsvector,
    fa bigint, fb bigint, fc bigint, fd bigint, fe bigint, ff bigint);
CREATE TRIGGER a BEFORE INSERT OR UPDATE ON online_types FOR EACH ROW EXECUTE FUNCTION simhash_update(fa, a);
CREATE TRIGGER b BEFORE INSERT OR UPDATE ON online_types
    FOR EACH ROW EXECUTE FUNCTION simhash_update(fb, b, '{"tokens": "chars"}');
CREATE TRIGGER c BEFORE INSERT OR UPDATE ON online_types FOR EACH ROW EXECUTE FUNCTION simhash_update(fc, c);
CREATE TRIGGER d BEFORE INSERT OR UPDATE ON online_types FOR EACH ROW EXECUTE FUNCTION simhash_update(fd, d);
CREATE TRIGGER e BEFORE INSERT OR UPDATE ON online_types FOR EACH ROW EXECUTE FUNCTION simhash_update(fe, e);
CREATE TRIGGER f BEFORE INSERT OR UPDATE ON online_types FOR EACH ROW EXECUTE FUNCTION simhash_update(ff, f);
INSERT INTO online_types VALUES ('a text', 'a text', 'a text', '{a,text}', '{a,text}', 'a text'),
    (NULL, NULL, NULL, NULL, NULL, NULL),
    ('', '', '', '{}', '{}', '');
SELECT fa = simhash(a) AS a, fb = simhash(b, '{"tokens": "chars"}') AS b, fc = simhash(c) AS c, fd = simhash(d) AS d,
    fe = simhash(e) AS e,
    ff = simhash(f) AS f
FROM online_types;
-- Filling by such a trigger; and a long text, stored out of line, that an UPDATE does not change.
ALTER TABLE online_types DISABLE TRIGGER ALL;
UPDATE online_types SET fa = NULL, fb = NULL;
CALL simhash_fill('online_types', 'fa');
CALL simhash_fill('online_types', 'fb');
ALTER TABLE online_types ENABLE TRIGGER ALL;
INSERT INTO online_types (c) SELECT string_agg(md5(n::text), ' ') FROM generate_series(1, 10000) AS n;
UPDATE online_types SET d = '{x}' WHERE length(c) > 1000;
SELECT count(*) FILTER (WHERE fa IS DISTINCT FROM simhash(a) OR fb IS DISTINCT FROM simhash(b, '{"tokens": "chars"}')
    OR fc IS DISTINCT FROM simhash(c) OR fd IS DISTINCT FROM simhash(d)) AS wrong
FROM online_types;

-- Partitioned and inherited tables.
CREATE TABLE online_parts (id integer, body text) PARTITION BY RANGE (id);
CREATE TABLE online_parts_0 PARTITION OF online_parts FOR VALUES FROM (0) TO (10);
CREATE TABLE online_parts_1 PARTITION OF online_parts FOR VALUES FROM (10) TO (20) PARTITION BY HASH (id);
CREATE TABLE online_parts_1a PARTITION OF online_parts_1 FOR VALUES WITH (modulus 2, remainder 0);
CREATE TABLE online_parts_1b PARTITION OF online_parts_1 FOR VALUES WITH (modulus 2, remainder 1);
INSERT INTO online_parts SELECT n, 'text ' || n FROM generate_series(0, 19) AS n;
SELECT simhash_attach_online('online_parts', 'body');
SELECT simhash_attach_online('online_parts', 'body');
CALL simhash_fill('online_parts');
SELECT simhash_index_commands('online_parts', 2) \gexec
SELECT simhash_index_commands('online_parts', 2);
SELECT indexrelid::regclass AS index, indisvalid FROM pg_index
WHERE indrelid IN (SELECT relid FROM pg_partition_tree('online_parts'))
ORDER BY indexrelid::regclass::text;
-- A new partition gets everything.
CREATE TABLE online_parts_2 PARTITION OF online_parts FOR VALUES FROM (20) TO (30);
INSERT INTO online_parts VALUES (20, 'a text');
SELECT simhash_index_commands('online_parts', 2);
SELECT count(*) FILTER (WHERE simhash = simhash(body)) AS right, count(*) FROM online_parts;
SELECT simhash_detach('online_parts');
\d online_parts_1a
CREATE TABLE online_parent (body text);
CREATE TABLE online_child (more text) INHERITS (online_parent);
INSERT INTO online_parent VALUES ('a text');
INSERT INTO online_child VALUES ('a text', 'more');
SELECT simhash_attach_online('online_parent', 'body');
SELECT simhash_attach_online('online_parent', 'body');
INSERT INTO online_child VALUES ('another text', 'more');
CALL simhash_fill('online_parent');
SELECT simhash_index_commands('online_parent', 2) \gexec
SELECT tableoid::regclass, body, simhash = simhash(body) AS correct FROM online_parent ORDER BY 1, 2;
SELECT simhash_detach('online_parent');
SELECT described('online_child');

-- Errors.
\pset format unaligned
\pset tuples_only on
CREATE TABLE online_errors (id integer, body text, number integer, title name, own bigint,
    folded text GENERATED ALWAYS AS (lower(body)) STORED,
    computed bigint GENERATED ALWAYS AS (simhash(body)) STORED);
CREATE TRIGGER zz_taken_update BEFORE INSERT ON online_errors
    FOR EACH ROW EXECUTE FUNCTION simhash_update('taken', 'body');
SELECT errors(
    $$SELECT simhash_attach_online(NULL, 'body')$$, $$SELECT simhash_attach_online('online_errors', NULL)$$,
    $$SELECT simhash_attach_online('online_errors', 'nothing')$$,
    $$SELECT simhash_attach_online('online_errors', 'number')$$,
    $$SELECT simhash_attach_online('online_errors', 'title')$$,
    $$SELECT simhash_attach_online('online_errors', 'own')$$,
    $$SELECT simhash_attach_online('online_errors', 'folded')$$,
    $$SELECT simhash_attach_online('online_errors', 'body', '{"ngrams": 2}')$$,
    $$SELECT simhash_attach_online('online_errors', 'body', prefix => 'own')$$,
    $$SELECT simhash_attach_online('online_errors', 'body', prefix => 'number')$$,
    $$SELECT simhash_attach_online('online_errors', 'body', prefix => 'computed')$$,
    $$SELECT simhash_attach_online('online_errors', 'body', prefix => 'taken')$$,
    $$SELECT simhash_attach_online('online_docs', 'body', prefix => 'fingerprint')$$,
    $$SELECT simhash_attach_online('online_parts_0', 'body')$$,
    $$SELECT simhash_attach_online('pg_class', 'relname')$$);
SELECT errors($$SELECT simhash_index_commands('online_errors')$$,
    $$SELECT simhash_index_commands('online_errors', prefix => 'number')$$,
    $$SELECT simhash_index_commands('online_errors', 9, 'own')$$, $$SELECT simhash_index_commands(NULL)$$,
    $$SELECT simhash_index_commands('online_errors', NULL)$$);
CALL simhash_fill(NULL);
\echo :LAST_ERROR_SQLSTATE
CALL simhash_fill('online_errors', batch_pages => 0);
\echo :LAST_ERROR_SQLSTATE
INSERT INTO online_errors (id) VALUES (1);
\echo :LAST_ERROR_SQLSTATE
DROP TRIGGER zz_taken_update ON online_errors;
INSERT INTO online_errors (id, body) VALUES (1, 'a text');
CALL simhash_fill('online_errors');
\echo :LAST_ERROR_SQLSTATE
-- Wrong calls of the trigger function.
CREATE FUNCTION pg_temp.fire(timing text, call text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TRIGGER wrong %s ON online_errors %s', timing, call);
    RETURN QUERY SELECT errors('INSERT INTO online_errors (id, body) VALUES (1, ''a text'')',
        'DELETE FROM online_errors');
    DROP TRIGGER wrong ON online_errors;
END $$;
SELECT pg_temp.fire('AFTER INSERT', 'FOR EACH ROW EXECUTE FUNCTION simhash_update(own, body)');
SELECT pg_temp.fire('BEFORE INSERT', 'FOR EACH STATEMENT EXECUTE FUNCTION simhash_update(own, body)');
SELECT pg_temp.fire('BEFORE DELETE', 'FOR EACH ROW EXECUTE FUNCTION simhash_update(own, body)');
SELECT pg_temp.fire('BEFORE INSERT', 'FOR EACH ROW EXECUTE FUNCTION simhash_update()');
SELECT pg_temp.fire('BEFORE INSERT', 'FOR EACH ROW EXECUTE FUNCTION simhash_update(own, body, ''{}'', more)');
SELECT pg_temp.fire('BEFORE INSERT', 'FOR EACH ROW EXECUTE FUNCTION simhash_update(nothing, body)');
SELECT pg_temp.fire('BEFORE INSERT', 'FOR EACH ROW EXECUTE FUNCTION simhash_update(own, nothing)');
SELECT pg_temp.fire('BEFORE INSERT', 'FOR EACH ROW EXECUTE FUNCTION simhash_update(number, body)');
SELECT pg_temp.fire('BEFORE INSERT', 'FOR EACH ROW EXECUTE FUNCTION simhash_update(own, number)');
SELECT pg_temp.fire('BEFORE INSERT', 'FOR EACH ROW EXECUTE FUNCTION simhash_update(own, folded)');
SELECT pg_temp.fire('BEFORE INSERT', 'FOR EACH ROW EXECUTE FUNCTION simhash_update(computed, body)');
SELECT pg_temp.fire('BEFORE INSERT', 'FOR EACH ROW EXECUTE FUNCTION simhash_update(own, body, ''{'')');
SELECT pg_temp.fire('BEFORE INSERT', 'FOR EACH ROW EXECUTE FUNCTION simhash_update(own, body, ''{"ngrams": 2}'')');
SELECT errors($$SELECT simhash_update()$$);

-- The table's own triggers during the fill: called by the owner, they are unrestricted and run with the owner's search
-- path, in which another operator may come first; called by others, they are in a restricted operation.
CREATE ROLE regress_online_owner;
CREATE SCHEMA online AUTHORIZATION regress_online_owner;
SET ROLE regress_online_owner;
SET search_path = online, public, pg_catalog;
CREATE TABLE audit (id integer);
CREATE TABLE filled (id integer, body text);
INSERT INTO filled SELECT n, 'text ' || n FROM generate_series(1, 3) AS n;
CREATE FUNCTION never(tid, tid) RETURNS boolean LANGUAGE sql AS 'SELECT false';
CREATE OPERATOR >= (LEFTARG = tid, RIGHTARG = tid, FUNCTION = never);
CREATE FUNCTION log() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO audit VALUES (NEW.id); RETURN NULL; END $$;
CREATE TRIGGER log AFTER UPDATE ON filled FOR EACH ROW EXECUTE FUNCTION log();
SELECT simhash_attach_online('filled', 'body');
CALL simhash_fill('filled');
SELECT count(simhash) FROM filled;
SELECT count(*) FROM audit;
DROP TRIGGER log ON filled;
CREATE CONSTRAINT TRIGGER later AFTER UPDATE ON filled DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION log();
ALTER TABLE filled DISABLE TRIGGER zz_simhash_update;
UPDATE filled SET simhash = NULL;
CALL simhash_fill('filled');
UPDATE filled SET simhash = NULL;
RESET ROLE;
CALL simhash_fill('filled');
RESET search_path;

SET client_min_messages = warning;
DROP SCHEMA online CASCADE;
DROP ROLE regress_online_owner;
DROP TABLE online_docs, online_types, online_parts, online_parent, online_errors CASCADE;
DROP FUNCTION online_stop, online_trim;
DROP DOMAIN online_domain;
