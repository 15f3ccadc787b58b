-- A guard works whatever the search path is. Objects that others put first in it are not used, and the extension may be
-- in a schema that is not in it.
CREATE SCHEMA guarded;
CREATE TABLE guarded.docs (id integer PRIMARY KEY, body text, reader name DEFAULT current_user);
SELECT simhash_index('guarded.docs', 'body');
CREATE SCHEMA hostile;
CREATE FUNCTION hostile.simhash_block(bigint, integer, integer) RETURNS integer IMMUTABLE
    LANGUAGE sql AS 'SELECT 1 / 0';
CREATE FUNCTION hostile.simhash(text, jsonb) RETURNS bigint IMMUTABLE LANGUAGE sql AS 'SELECT 1 / 0';
CREATE FUNCTION hostile.simhash_dedup() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE FUNCTION hostile.int4eq(integer, integer) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT 1 / 0 > 0';
CREATE FUNCTION hostile.texteq(text, text) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT 1 / 0 > 0';
CREATE OPERATOR hostile.= (FUNCTION = hostile.int4eq, LEFTARG = integer, RIGHTARG = integer);
CREATE OPERATOR hostile.= (FUNCTION = hostile.texteq, LEFTARG = text, RIGHTARG = text);
CREATE TABLE hostile.docs (id integer);
SET search_path = hostile, pg_catalog, public;
SELECT public.simhash_guard('guarded.docs', 'reject', scope => '{reader}');
SELECT tgfoid::regprocedure FROM pg_trigger WHERE tgrelid OPERATOR(pg_catalog.=) 'guarded.docs'::regclass;
INSERT INTO guarded.docs (id, body) VALUES (10, 'a TEXT that all have'); -- stored
INSERT INTO guarded.docs (id, body) VALUES (11, 'a text THAT all have'); -- a near-duplicate of row 10
RESET search_path;
-- The extension in another schema that is on nobody's search path.
CREATE SCHEMA elsewhere;
ALTER EXTENSION pg_simhash SET SCHEMA elsewhere;
INSERT INTO guarded.docs (id, body) VALUES (11, 'a text THAT all have');
SELECT elsewhere.simhash_guard('guarded.docs', 'skip');
