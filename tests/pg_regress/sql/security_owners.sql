-- Every call refuses relations that are not tables, and users who are not the owner. A line shows the SQLSTATE of
-- each call: 00000 if it succeeds. The owner's detach fails with 2BP01, because the table has a guard.
CREATE FUNCTION sqlstates(target regclass) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(name || ' ' || sqlstate_of(format('SELECT ' || statement, target)), ', ' ORDER BY name)
    FROM (VALUES
        ('attach', 'simhash_attach(%L, ''body'', blocks => 2, prefix => ''new'')'),
        ('index', 'simhash_index(%L, ''body'')'),
        ('commands', 'simhash_index_commands(%L, ''body'')'), ('detach', 'simhash_detach(%L)'),
        ('guard', 'simhash_guard(%L, ''skip'', ''{"resemblance": null}'')'), ('unguard', 'simhash_unguard(%L)'),
        ('layouts', 'simhash_layouts(%L)'), ('preview', 'simhash_preview(%L, ''{"resemblance": null}'')'))
            AS v (name, statement)
$$;
CREATE SCHEMA kinds;
CREATE TABLE kinds.docs (id integer PRIMARY KEY, body text);
SELECT simhash_attach('kinds.docs', 'body'), simhash_guard('kinds.docs', criterion => '{"resemblance": null}');
CREATE VIEW kinds.view AS SELECT body, simhash FROM kinds.docs;
-- No relation has the OID 1.
SELECT object, sqlstates(object) FROM unnest('{kinds.docs,kinds.view,pg_class,1}'::regclass[]) AS object;
-- Users with all privileges on the table, on its schema, or with the right to write to all tables; last, its new owner.
CREATE FUNCTION sqlstates_with(privilege text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text;
BEGIN
    EXECUTE privilege;
    GRANT USAGE ON SCHEMA kinds TO regress_other;
    SET LOCAL ROLE regress_other;
    result := sqlstates('kinds.docs');
    RAISE SQLSTATE 'U0000'; -- rolled back
EXCEPTION WHEN SQLSTATE 'U0000' THEN
    RETURN result;
END $$;
SELECT privilege, sqlstates_with(privilege) FROM (VALUES
    ('SELECT'), -- grants nothing
    ('GRANT SELECT (simhash) ON kinds.docs TO regress_other'),
    ('GRANT ALL ON kinds.docs TO regress_other'),
    ('ALTER SCHEMA kinds OWNER TO regress_other'),
    ('GRANT pg_read_all_data, pg_write_all_data TO regress_other'),
    ('ALTER ROLE regress_other CREATEROLE CREATEDB REPLICATION BYPASSRLS'),
    ('ALTER TABLE kinds.docs OWNER TO regress_other; GRANT ALL ON SCHEMA kinds TO regress_other')) AS v (privilege);
