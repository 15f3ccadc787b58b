-- Errors of other functions pass unchanged, with all their fields.
\set VERBOSITY terse

CREATE FUNCTION fail() RETURNS bigint STABLE LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'failed' USING ERRCODE = 'TN404', DETAIL = 'the detail', HINT = 'the hint',
        COLUMN = 'the column', CONSTRAINT = 'the constraint', DATATYPE = 'the type', TABLE = 'the table',
        SCHEMA = 'the schema';
END $$;

-- PostgreSQL itself shows the error so.
SELECT fields($$ SELECT fail() $$);

-- The same error comes from expressions of a search,
CREATE TABLE docs (id integer PRIMARY KEY, f bigint, tenant integer);
CREATE TABLE scoped (LIKE docs);
SELECT simhash_attach('docs', 'f'), simhash_attach('scoped', 'f', scope => '{tenant}');
SET enable_seqscan = off;
SELECT fields(
    $$ SELECT id FROM docs WHERE simhash_near(f, (SELECT fail())) $$,
    $$ SELECT id FROM docs WHERE simhash_near(f, fail()) $$,
    $$ SELECT id FROM docs WHERE simhash_near(f, 5, (SELECT fail())::integer) $$,
    $$ SELECT id FROM scoped WHERE tenant = (SELECT fail())::integer AND simhash_near(f, 5) $$,
    $$ SELECT id FROM docs ORDER BY f <~> (SELECT fail()) LIMIT 1 $$,
    $$ SELECT id FROM docs WHERE simhash_near(f, 1 / (SELECT 0)) $$);

-- from arguments of window functions,
SELECT fields(
    $$ SELECT simhash_cluster(id, fail()) OVER () FROM generate_series(1, 3) AS g (id) $$,
    $$ SELECT simhash_duplicate_of(id, fail()::text) OVER () FROM generate_series(1, 3) AS g (id) $$);

-- and from event triggers that a command fires.
CREATE TABLE plain (id integer PRIMARY KEY, body text);
CREATE FUNCTION forbid_ddl() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM public.fail(); END $$;
CREATE EVENT TRIGGER forbid_ddl ON ddl_command_start WHEN TAG IN ('ALTER TABLE', 'CREATE TRIGGER')
    EXECUTE FUNCTION forbid_ddl();
SELECT fields($$ ALTER TABLE plain ADD x integer $$, $$ SELECT simhash_attach('plain', 'body') $$);
DROP EVENT TRIGGER forbid_ddl;
SELECT simhash_index('plain', 'body');
CREATE EVENT TRIGGER forbid_ddl ON ddl_command_start WHEN TAG IN ('CREATE TRIGGER') EXECUTE FUNCTION forbid_ddl();
SELECT fields($$ SELECT simhash_guard('plain') $$);
DROP EVENT TRIGGER forbid_ddl;

-- A privilege that the owner lacks.
CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE insufficient_privilege USING MESSAGE = 'refused', DETAIL = 'a detail', CONSTRAINT = 'a constraint';
END $$;
GRANT USAGE, CREATE ON SCHEMA public TO regress_owner;
CREATE TABLE owned (id integer PRIMARY KEY, body text);
ALTER TABLE owned OWNER TO regress_owner;
CREATE EVENT TRIGGER refuse ON ddl_command_start WHEN TAG IN ('ALTER TABLE') EXECUTE FUNCTION refuse();
SELECT fields($$ SELECT simhash_attach('owned', 'body') $$);
DROP EVENT TRIGGER refuse;

-- The guard's own error has its fields, also after another error was caught.
SELECT simhash_guard('plain');
INSERT INTO plain VALUES (1, 'the quick brown fox jumps over the lazy dog');
CREATE FUNCTION try() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM public.fail();
EXCEPTION WHEN OTHERS THEN
    RETURN new;
END $$;
CREATE TRIGGER a_try BEFORE INSERT ON plain FOR EACH ROW EXECUTE FUNCTION try();
SELECT fields($$ INSERT INTO plain VALUES (2, 'the quick brown fox jumps over the lazy dog') $$);
