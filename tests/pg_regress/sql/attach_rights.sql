-- The users who may attach, and the rights of the commands.

CREATE SCHEMA rights;
GRANT USAGE, CREATE ON SCHEMA rights TO regress_owner; GRANT USAGE ON SCHEMA rights TO regress_other;

SET ROLE regress_owner;
CREATE TABLE rights.docs (id integer, body text);
INSERT INTO rights.docs VALUES (1, 'a text');

-- A refused call does not lock the table. (Who is refused: security_owners.)
SET ROLE regress_other;
BEGIN;
SAVEPOINT before;
SELECT simhash_attach('rights.docs', 'body');
ROLLBACK TO before;
SELECT count(*) AS locks FROM pg_locks WHERE relation = 'rights.docs'::regclass;
ROLLBACK; RESET ROLE;
-- Members of the owner's role may attach.
GRANT regress_owner TO regress_other;
SELECT errors_as('regress_other', $$SELECT simhash_attach('rights.docs', 'body', blocks => 2)$$,
    $$SELECT simhash_detach('rights.docs')$$);
REVOKE regress_owner FROM regress_other;
-- The owner needs the rights that the commands need: for indexes, CREATE on the schema.
REVOKE CREATE ON SCHEMA rights FROM regress_owner;
-- The commands run without the superuser's rights.
SELECT errors_as(role, $$SELECT simhash_attach('rights.docs', 'body', blocks => 2)$$)
FROM unnest(ARRAY['regress_owner', current_user]) AS role;
GRANT CREATE ON SCHEMA rights TO regress_owner;
\d rights.docs

-- Event triggers run as the owner too, within the command: triggers that need more rights must be SECURITY
-- DEFINER.
CREATE TABLE rights.commands (tag text, role name);
CREATE FUNCTION rights.log_command() RETURNS event_trigger LANGUAGE plpgsql AS
    'BEGIN INSERT INTO rights.commands VALUES (tg_tag, current_user); END';
CREATE EVENT TRIGGER attach_log ON ddl_command_end EXECUTE FUNCTION rights.log_command();
SELECT errors($$SELECT simhash_attach('rights.docs', 'body', blocks => 2)$$);
ALTER FUNCTION rights.log_command() SECURITY DEFINER;
SELECT simhash_attach('rights.docs', 'body', blocks => 2), simhash_detach('rights.docs');
DROP EVENT TRIGGER attach_log;
SELECT tag, count(*) FROM rights.commands GROUP BY tag ORDER BY tag;

-- The owner's code runs as the owner, who cannot become the superuser that attaches and detaches. (All kinds of such
-- code are in security_tables.)
SET ROLE regress_owner;
CREATE FUNCTION rights.take_over(code text, value anyelement) RETURNS anyelement LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RAISE NOTICE '% runs as %', code, current_user;
    IF current_user <> session_user THEN
        BEGIN
            PERFORM set_config('role', session_user, false);
            RAISE NOTICE 'and becomes %', current_user;
        EXCEPTION WHEN OTHERS THEN
            RAISE NOTICE '%: %', SQLSTATE, SQLERRM;
        END;
    END IF;
    RETURN value;
END $$;
CREATE TABLE rights.attacking (id integer, body text,
    extra text GENERATED ALWAYS AS (rights.take_over('column', body)) STORED);
RESET ROLE;
INSERT INTO rights.attacking VALUES (1, 'a text');
SET client_min_messages = notice;
SELECT current_user AS role;
SELECT simhash_attach('rights.attacking', 'extra', blocks => 2);
SELECT simhash_detach('rights.attacking');
SET client_min_messages = warning;

-- A hostile search path: functions, operators and types ahead of PostgreSQL's and ours.
SET ROLE regress_owner;
CREATE FUNCTION rights.simhash(text, jsonb) RETURNS bigint LANGUAGE sql IMMUTABLE RETURN 666;
CREATE FUNCTION rights.simhash_block(bigint, integer) RETURNS integer LANGUAGE sql IMMUTABLE RETURN 666;
CREATE FUNCTION rights.compare(tid, tid) RETURNS boolean LANGUAGE sql RETURN public.must_not_run();
CREATE OPERATOR rights.>= (LEFTARG = tid, RIGHTARG = tid, FUNCTION = rights.compare);
CREATE DOMAIN rights.text AS pg_catalog.text CHECK (false);
CREATE DOMAIN rights.int8 AS pg_catalog.int8 CHECK (false);
CREATE TABLE rights.hostile (id integer, body varchar, folded varchar GENERATED ALWAYS AS (lower(body)) STORED);
INSERT INTO rights.hostile VALUES (1, 'a text');
SET search_path = rights, pg_catalog, public;
SELECT public.simhash_attach('hostile', 'folded', blocks => 2), public.simhash_index('hostile', 'body', bands => 2);
SELECT simhash = public.simhash(body::pg_catalog.text) AS a FROM hostile;
SHOW search_path;
SELECT public.simhash_detach('hostile');
TABLE hostile;
RESET search_path; RESET ROLE;

-- A cast of the owner renames the table's schema while the table is rewritten: the indexes and their comments are still
-- made.
GRANT CREATE ON DATABASE :DBNAME TO regress_owner;
CREATE SCHEMA moving AUTHORIZATION regress_owner;
SET ROLE regress_owner;
CREATE TYPE rights.wrapped AS (body text);
CREATE FUNCTION rights.move() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF to_regnamespace('moving') IS NOT NULL THEN
        ALTER SCHEMA moving RENAME TO moved;
    END IF;
END $$;
CREATE FUNCTION rights.unwrap(rights.wrapped) RETURNS text IMMUTABLE LANGUAGE plpgsql AS
    $$ BEGIN PERFORM rights.move(); RETURN $1.body; END $$;
CREATE CAST (rights.wrapped AS text) WITH FUNCTION rights.unwrap(rights.wrapped) AS IMPLICIT;
CREATE TABLE moving.docs (body rights.wrapped);
INSERT INTO moving.docs VALUES (ROW('a text'));
RESET ROLE;
SELECT simhash_attach('moving.docs', 'body', blocks => 2);
SELECT indexrelid::regclass, obj_description(indexrelid, 'pg_class') FROM pg_index
WHERE indrelid = 'moved.docs'::regclass ORDER BY 1;
