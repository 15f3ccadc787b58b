-- The log of a guard: who needs which rights, and with whose rights what is on the log runs.
CREATE ROLE regress_log_owner;
CREATE ROLE regress_log_writer;
CREATE ROLE regress_log_other;
CREATE SCHEMA guard_log;
GRANT USAGE ON SCHEMA public TO PUBLIC;
GRANT ALL ON SCHEMA guard_log TO regress_log_owner, regress_log_other;
GRANT USAGE ON SCHEMA guard_log TO regress_log_writer;
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
CREATE FUNCTION guard_log.attempt() RETURNS SETOF text LANGUAGE sql AS
    'SELECT public.errors($a$SELECT simhash_guard(''guard_log.docs'', ''skip'', fingerprint => ''f'', log_to => ''guard_log.log'')$a$)';
SET ROLE regress_log_owner;
CREATE TABLE guard_log.docs (id integer PRIMARY KEY, f bigint, secret text DEFAULT 'hidden');
SELECT simhash_attach('guard_log.docs', 'f');
GRANT INSERT ON guard_log.docs TO regress_log_writer;

-- A log that belongs to somebody else would run its owner's code with the rights of the guarded table's owner.
SET ROLE regress_log_other;
CREATE TABLE guard_log.log (logged_at timestamptz, target text, action text, key jsonb, distance integer,
    resemblance double precision, new_row jsonb);
SET ROLE regress_log_owner;
SELECT guard_log.attempt();
SET ROLE regress_log_other;
GRANT INSERT ON guard_log.log TO regress_log_owner;
SET ROLE regress_log_owner;
SELECT guard_log.attempt();
RESET ROLE;
-- Nor does it help that a superuser makes the guard.
SELECT guard_log.attempt();
-- A superuser's log will do, if the owner may insert into it.
ALTER TABLE guard_log.log OWNER TO CURRENT_USER;
SET ROLE regress_log_owner;
SELECT guard_log.attempt();
RESET ROLE;
REVOKE INSERT ON guard_log.log FROM regress_log_owner;
SELECT guard_log.attempt();
-- The writer needs no rights on the log, and gets none.
GRANT INSERT ON guard_log.log TO regress_log_owner;
SET ROLE regress_log_writer;
INSERT INTO guard_log.docs VALUES (1, 0), (2, 1);
SELECT count(*) FROM guard_log.log;
INSERT INTO guard_log.log DEFAULT VALUES;
SELECT current_user;
RESET ROLE;
SELECT target, key, distance, new_row FROM guard_log.log;
-- Row-level security of the log holds for the owner of the guarded table.
ALTER TABLE guard_log.log ENABLE ROW LEVEL SECURITY;
SET ROLE regress_log_writer;
INSERT INTO guard_log.docs VALUES (3, 1);
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
CREATE POLICY far ON guard_log.log FOR INSERT WITH CHECK (distance > 1);
SET ROLE regress_log_writer;
INSERT INTO guard_log.docs VALUES (3, 3);
RESET ROLE;
SELECT key, distance FROM guard_log.log ORDER BY logged_at;

-- What is on the log runs as the guarded table's owner, restricted, whoever writes: also if that is a superuser.
DROP TABLE guard_log.log;
SET ROLE regress_log_owner;
CREATE FUNCTION guard_log.who() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN current_user; END $$;
CREATE FUNCTION guard_log.become() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    new.target := new.target || ', trigger by ' || current_user || ' with ' || current_setting('search_path');
    BEGIN
        SET LOCAL ROLE NONE;
    EXCEPTION WHEN OTHERS THEN
        new.action := SQLERRM;
    END;
    RETURN new;
END
$$;
CREATE TABLE guard_log.log (logged_at timestamptz, target text, action text, key jsonb, distance integer,
    resemblance double precision, new_row jsonb, by_default text DEFAULT guard_log.who());
CREATE INDEX ON guard_log.log ((by_default || distance));
CREATE TRIGGER become BEFORE INSERT ON guard_log.log FOR EACH ROW EXECUTE FUNCTION guard_log.become();
SELECT simhash_guard('guard_log.docs', 'skip', fingerprint => 'f', log_to => 'guard_log.log', log_columns => '{secret,id}');
SET ROLE regress_log_writer;
INSERT INTO guard_log.docs VALUES (4, 1);
RESET ROLE;
INSERT INTO guard_log.docs VALUES (5, 2, 'x');
SELECT target, action, key, new_row, by_default FROM guard_log.log ORDER BY logged_at;

-- Owners that change later. The table is not written to, and nothing of the log's new owner runs.
ALTER TABLE guard_log.log OWNER TO regress_log_other;
SELECT public.errors('INSERT INTO guard_log.docs VALUES (6, 2)');
GRANT INSERT ON guard_log.log TO regress_log_owner;
SELECT public.errors('INSERT INTO guard_log.docs VALUES (6, 2)');
ALTER TABLE guard_log.docs OWNER TO regress_log_other;
SELECT public.errors('INSERT INTO guard_log.docs VALUES (6, 2)');
SELECT by_default FROM guard_log.log ORDER BY logged_at;
-- Another table that has taken the log's name is checked, too.
ALTER TABLE guard_log.log RENAME TO old_log;
SET ROLE regress_log_owner;
CREATE TABLE guard_log.log (logged_at timestamptz, target text, action text, key jsonb, distance integer,
    resemblance double precision, new_row jsonb, by_default text DEFAULT guard_log.who());
GRANT ALL ON guard_log.log TO PUBLIC;
RESET ROLE;
SELECT public.errors('INSERT INTO guard_log.docs VALUES (7, 2)');
DROP TABLE guard_log.log;
-- A partition of the log that belongs to somebody else
SET ROLE regress_log_other;
CREATE TABLE guard_log.log (logged_at timestamptz, target text, action text, key jsonb, distance integer,
    resemblance double precision, new_row jsonb) PARTITION BY LIST (action);
CREATE TABLE guard_log.log_skip PARTITION OF guard_log.log DEFAULT;
RESET ROLE;
ALTER TABLE guard_log.log_skip OWNER TO regress_log_owner;
SELECT public.errors('INSERT INTO guard_log.docs VALUES (8, 2)');
-- A log that is itself a partition of somebody else's table, whose partition key an INSERT evaluates
ALTER TABLE guard_log.log OWNER TO regress_log_owner;
ALTER TABLE guard_log.log_skip OWNER TO regress_log_other;
SELECT public.errors($$SELECT public.simhash_guard('guard_log.docs', 'skip', fingerprint => 'f', log_to => 'guard_log.log_skip')$$);

DROP SCHEMA guard_log CASCADE;
DROP ROLE regress_log_owner, regress_log_writer, regress_log_other;
