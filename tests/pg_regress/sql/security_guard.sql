-- The contents of a guard's error depend on the rights of the user.
\set SHOW_CONTEXT never

GRANT CREATE ON SCHEMA public TO regress_owner;

-- A user who may create triggers can do much (a mark is a key, which another trigger can report), but an error does not
-- reveal what the user may not select.
SET ROLE regress_owner;
CREATE TABLE docs (id integer PRIMARY KEY, f bigint, same_as integer);
SELECT simhash_attach('docs', 'f', blocks => 8);
INSERT INTO docs VALUES (1, 0);
GRANT INSERT, TRIGGER ON docs TO regress_writer; SET ROLE regress_writer;
CREATE TRIGGER guard_of_writer BEFORE INSERT ON docs FOR EACH ROW
    EXECUTE FUNCTION simhash_dedup('reject', '{"max_distance": 7, "resemblance": null}', 'f');
INSERT INTO docs VALUES (2, 31);
-- Neither other tables nor system columns are searched.
RESET ROLE;
SELECT errors_as('regress_owner', format($$CREATE OR REPLACE TRIGGER guard_of_writer BEFORE INSERT ON docs FOR EACH ROW
    EXECUTE FUNCTION simhash_dedup(%L, '{"resemblance": null}', %s); INSERT INTO docs VALUES (2, 31)$$,
    action, columns))
FROM (VALUES ('reject', $$'pg_class.oid'$$), ('reject', $$'tableoid'$$), ('reject', $$'f', '', 'xmin'$$),
    ('mark', $$'f', 'ctid'$$)) AS v (action, columns);
DROP TRIGGER guard_of_writer ON docs;

-- The error depends on the current user, not on what the session has in its cache.
SELECT simhash_guard('docs', source => 'f');
CREATE FUNCTION insert_as_owner(integer, bigint) RETURNS void LANGUAGE sql SECURITY DEFINER AS
    'INSERT INTO public.docs VALUES ($1, $2)';
ALTER FUNCTION insert_as_owner OWNER TO regress_owner;
SELECT errors_as(role, 'INSERT INTO docs VALUES (2, 1)', 'SELECT insert_as_owner(2, 1)',
    'INSERT INTO docs VALUES (2, 1)')
FROM unnest('{regress_owner,regress_writer}'::name[]) AS role;
