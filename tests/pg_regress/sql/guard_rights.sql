-- What the guard needs of those who write, what it tells them, and who may guard.
CREATE ROLE regress_guard_owner;
CREATE ROLE regress_guard_writer;
CREATE ROLE regress_guard_other;
CREATE SCHEMA guarded;
GRANT USAGE, CREATE ON SCHEMA guarded TO regress_guard_owner;
GRANT USAGE ON SCHEMA guarded TO regress_guard_writer, regress_guard_other;
GRANT USAGE ON SCHEMA public TO PUBLIC;
SET client_min_messages = warning;
SET ROLE regress_guard_owner;
CREATE TABLE guarded.docs (id integer PRIMARY KEY, body text, same_as integer, reader name DEFAULT current_user);
SELECT simhash_attach('guarded.docs', 'body');
GRANT ALL ON guarded.docs TO regress_guard_other;

-- All privileges on a table, TRIGGER among them, are not its ownership.
SET ROLE regress_guard_other;
SELECT simhash_guard('guarded.docs');
\echo :LAST_ERROR_SQLSTATE
SELECT simhash_unguard('guarded.docs');
\echo :LAST_ERROR_SQLSTATE
SELECT simhash_guard('pg_class');
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
REVOKE ALL ON guarded.docs FROM regress_guard_other;

-- A superuser guards another's table, as its owner. What is put on it is the owner's to take away.
SELECT simhash_guard('guarded.docs');
SET ROLE regress_guard_owner;
SELECT simhash_unguard('guarded.docs');
SELECT simhash_guard('guarded.docs', 'reject');
RESET ROLE;

-- INSERT suffices. What is told of the other row is what the user may select of it.
GRANT INSERT (id, body), UPDATE (body) ON guarded.docs TO regress_guard_writer;
SET ROLE regress_guard_writer;
INSERT INTO guarded.docs (id, body) VALUES (1, 'The text of the first document');
INSERT INTO guarded.docs (id, body) VALUES (2, 'the text of the first document');
\echo :LAST_ERROR_SQLSTATE
UPDATE guarded.docs SET body = 'A text that all have';
SELECT * FROM guarded.docs;
RESET ROLE;
GRANT SELECT (id) ON guarded.docs TO regress_guard_writer;
SET ROLE regress_guard_writer;
INSERT INTO guarded.docs (id, body) VALUES (2, 'a text that ALL have');
RESET ROLE;
GRANT SELECT (simhash) ON guarded.docs TO regress_guard_writer;
SET ROLE regress_guard_writer;
INSERT INTO guarded.docs (id, body) VALUES (2, 'a text that ALL have');
RESET ROLE;
REVOKE SELECT (id) ON guarded.docs FROM regress_guard_writer;
SET ROLE regress_guard_writer;
INSERT INTO guarded.docs (id, body) VALUES (2, 'a text that ALL have');
RESET ROLE;
REVOKE SELECT (simhash) ON guarded.docs FROM regress_guard_writer;
SELECT simhash_guard('guarded.docs', 'skip');
SET ROLE regress_guard_writer;
INSERT INTO guarded.docs (id, body) VALUES (2, 'a text that all have');
RESET ROLE;
SELECT simhash_guard('guarded.docs', 'mark', mark_column => 'same_as');
SET ROLE regress_guard_writer;
INSERT INTO guarded.docs (id, body) VALUES (2, 'a text that all have');
RESET ROLE;
SELECT id, body, same_as FROM guarded.docs;
DELETE FROM guarded.docs WHERE id = 2;
-- Nor are rights on the extension's functions needed by those who write, beyond what a generated column needs.
REVOKE EXECUTE ON FUNCTION simhash_dedup() FROM PUBLIC;
SET ROLE regress_guard_writer;
INSERT INTO guarded.docs (id, body) VALUES (3, 'A third text');
RESET ROLE;
GRANT EXECUTE ON FUNCTION simhash_dedup() TO PUBLIC;

-- Row-level security: rows that are hidden count, but are not named.
SELECT simhash_guard('guarded.docs');
ALTER TABLE guarded.docs ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON guarded.docs USING (reader = current_user);
GRANT SELECT ON guarded.docs TO regress_guard_writer;
UPDATE guarded.docs SET reader = 'somebody else';
SET ROLE regress_guard_writer;
SELECT id FROM guarded.docs;
INSERT INTO guarded.docs (id, body) VALUES (2, 'a TEXT that all have');
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
INSERT INTO guarded.docs (id, body) VALUES (2, 'a TEXT that all have');
-- The owner is not subject to it, unless forced.
SET ROLE regress_guard_owner;
INSERT INTO guarded.docs (id, body) VALUES (2, 'a TEXT that all have');
ALTER TABLE guarded.docs FORCE ROW LEVEL SECURITY;
INSERT INTO guarded.docs (id, body) VALUES (2, 'a TEXT that all have');
RESET ROLE;
-- A mark would name it as well.
SELECT simhash_guard('guarded.docs', 'mark', mark_column => 'same_as');
SET ROLE regress_guard_writer;
INSERT INTO guarded.docs (id, body) VALUES (2, 'a TEXT that all have') RETURNING id, same_as;
RESET ROLE;
-- Where a partition is written to directly, the security that counts is that of the table that is searched.
CREATE TABLE guarded.parted (id integer PRIMARY KEY, f bigint, reader name DEFAULT current_user) PARTITION BY LIST (id);
CREATE TABLE guarded.parted_1 PARTITION OF guarded.parted FOR VALUES IN (1);
CREATE TABLE guarded.parted_2 PARTITION OF guarded.parted FOR VALUES IN (2);
SELECT simhash_attach('guarded.parted', 'f');
SELECT simhash_guard('guarded.parted', fingerprint => 'f');
INSERT INTO guarded.parted VALUES (1, 0);
ALTER TABLE guarded.parted ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON guarded.parted USING (reader = current_user);
GRANT SELECT, INSERT ON guarded.parted, guarded.parted_2 TO regress_guard_writer;
SET ROLE regress_guard_writer;
INSERT INTO guarded.parted VALUES (2, 1);
INSERT INTO guarded.parted_2 VALUES (2, 1);
RESET ROLE;
-- It is told to who may select the row from its partition, or from a table that this is one of.
ALTER TABLE guarded.parted DISABLE ROW LEVEL SECURITY;
REVOKE SELECT ON guarded.parted FROM regress_guard_writer;
SET ROLE regress_guard_writer;
INSERT INTO guarded.parted_2 VALUES (2, 1);
RESET ROLE;
GRANT SELECT (f, id) ON guarded.parted_1 TO regress_guard_writer;
SET ROLE regress_guard_writer;
INSERT INTO guarded.parted_2 VALUES (2, 1);
RESET ROLE;
REVOKE SELECT (f, id) ON guarded.parted_1 FROM regress_guard_writer;
GRANT SELECT (f, id) ON guarded.parted TO regress_guard_writer;
SET ROLE regress_guard_writer;
INSERT INTO guarded.parted_2 VALUES (2, 1);
RESET ROLE;

-- Functions and operators that others have put first are not used.
CREATE SCHEMA hostile;
GRANT USAGE ON SCHEMA hostile TO PUBLIC;
CREATE FUNCTION hostile.simhash_block(bigint, integer, integer) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT 1 / 0';
CREATE FUNCTION hostile.simhash(text) RETURNS bigint IMMUTABLE LANGUAGE sql AS 'SELECT 1 / 0';
CREATE FUNCTION hostile.simhash_dedup() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE FUNCTION hostile.int4eq(integer, integer) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT 1 / 0 > 0';
CREATE FUNCTION hostile.texteq(text, text) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT 1 / 0 > 0';
CREATE OPERATOR hostile.= (FUNCTION = hostile.int4eq, LEFTARG = integer, RIGHTARG = integer);
CREATE OPERATOR hostile.= (FUNCTION = hostile.texteq, LEFTARG = text, RIGHTARG = text);
CREATE TABLE hostile.docs (id integer);
GRANT SELECT ON hostile.docs TO PUBLIC;
ALTER TABLE guarded.docs DISABLE ROW LEVEL SECURITY;
SET search_path = hostile, pg_catalog, public;
SELECT public.simhash_guard('guarded.docs', 'reject', scope => '{reader}');
SELECT tgfoid::regprocedure FROM pg_trigger WHERE tgrelid OPERATOR(pg_catalog.=) 'guarded.docs'::regclass;
INSERT INTO guarded.docs (id, body, reader) VALUES (10, 'a TEXT that all have', 'somebody else');
INSERT INTO guarded.docs (id, body) VALUES (10, 'a TEXT that all have');
INSERT INTO guarded.docs (id, body) VALUES (11, 'a text THAT all have');
RESET search_path;
-- The extension in another schema, which is on nobody's path.
CREATE SCHEMA elsewhere;
ALTER EXTENSION pg_simhash SET SCHEMA elsewhere;
GRANT USAGE ON SCHEMA elsewhere TO PUBLIC;
INSERT INTO guarded.docs (id, body) VALUES (11, 'a text THAT all have');
SELECT elsewhere.simhash_guard('guarded.docs', 'skip');
INSERT INTO guarded.docs (id, body) VALUES (11, 'a text THAT all have');
ALTER EXTENSION pg_simhash SET SCHEMA public;
DROP SCHEMA elsewhere;
-- Guarded tables keep the extension.
\set VERBOSITY terse
DROP EXTENSION pg_simhash;
\echo :LAST_ERROR_SQLSTATE

DROP SCHEMA hostile, guarded CASCADE;
DROP ROLE regress_guard_owner, regress_guard_writer, regress_guard_other;
