-- Tables of a family that belong to different roles are refused: code on one would run with the rights of the other's
-- owner.

CREATE SCHEMA parts;
GRANT USAGE, CREATE ON SCHEMA parts TO regress_attacker; GRANT USAGE ON SCHEMA parts TO regress_writer;
SET search_path = parts, public;

-- The code of regress_attacker calls report_run, which reports other users who run it.
SET ROLE regress_attacker;
CREATE FUNCTION report_run(what text, value anyelement) RETURNS anyelement LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF current_user <> 'regress_attacker' THEN
        RAISE WARNING '% runs as %', what, CASE current_user WHEN session_user THEN 'the superuser'
            ELSE current_user END;
    END IF;
    RETURN value;
END $$;
RESET ROLE;

-- PostgreSQL computes the constants of an index's expressions when a session first reads them. (Backslash-c starts a
-- new session.) A trigger and the generation expression are other code of an owner.
CREATE TABLE docs (id integer, body text) PARTITION BY LIST (id);
CREATE TABLE docs_1 PARTITION OF docs FOR VALUES IN (1, 3, 5);
CREATE TABLE docs_2 PARTITION OF docs FOR VALUES IN (2, 4, 6);
SELECT simhash_attach('docs', 'body', blocks => 5), simhash_index('docs', 'body'), simhash_guard('docs');
INSERT INTO docs VALUES (1, 'the text of the first document'), (2, 'another text, which is not near');
SELECT simhash_index('docs', 'body', bands => 2);
ALTER TABLE docs_2 OWNER TO regress_attacker;
SET ROLE regress_attacker;
CREATE INDEX ON docs_2 ((id + parts.report_run('an index expression', 1)));
CREATE INDEX ON docs_2 (id)
    WHERE parts.report_run('an index predicate', id) > parts.report_run('an index predicate', 1);
ALTER TABLE docs_2 ADD CHECK (parts.report_run('a constraint', true));
CREATE STATISTICS docs_2_statistics ON (body || parts.report_run('statistics', ''::text)), id FROM docs_2;
CREATE FUNCTION report_update() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM parts.report_run('a trigger', 1); RETURN new; END $$;
CREATE TRIGGER report BEFORE UPDATE ON docs_2 FOR EACH ROW EXECUTE FUNCTION report_update();
RESET ROLE; GRANT ALL ON docs TO regress_writer;
\c -
SELECT count(*) FROM parts.docs; -- PostgreSQL itself
\c -
SELECT simhash_attach('parts.docs', 'body', blocks => 5);
\echo :LAST_ERROR_SQLSTATE
-- All have the same detail and hint.
\set VERBOSITY terse
\c -
SELECT simhash_index_commands('parts.docs', 'body');
\c -
SELECT simhash_index('parts.docs', 'body');
\c -
SELECT simhash_guard('parts.docs');
\c -
SELECT simhash_preview('parts.docs');
\c -
SELECT simhash_detach('parts.docs');
-- A partition is not handled without the table that it belongs to.
\c -
SELECT simhash_guard('parts.docs_2');
SELECT simhash_index_commands('parts.docs_2', 'body');
SELECT simhash_preview('parts.docs_2');
SELECT simhash_attach('parts.docs_2', 'body');
SET ROLE regress_attacker;
SELECT simhash_guard('parts.docs_2');
-- Neither partition can be written to, whoever writes.
\c -
INSERT INTO parts.docs VALUES (3, 'a third text, to a partition of the superuser''s');
UPDATE parts.docs SET id = 4 WHERE id = 1;
\c -
SET ROLE regress_writer;
INSERT INTO parts.docs VALUES (4, 'a fourth text, to a partition of another role');
\c -
SET ROLE regress_attacker;
INSERT INTO parts.docs_2 VALUES (4, 'a fourth text, to a partition of another role');
-- A search evaluates nothing with other rights than PostgreSQL does.
\c -
SET ROLE regress_attacker;
SELECT count(*) FROM parts.docs_2 WHERE simhash_near(simhash, 5, 0);
\c -
SET ROLE regress_attacker;
SELECT count(*) > 0 FROM simhash_layouts('parts.docs_2', 'simhash');
\set VERBOSITY default
-- Without the guard, rows can be written again.
\c -
SELECT simhash_unguard('parts.docs');
INSERT INTO parts.docs VALUES (3, 'a third text');
-- After the commands of the hint, the table can be guarded and written to.
SET client_min_messages = error; DROP TRIGGER report ON parts.docs_2;
ALTER TABLE parts.docs_2 OWNER TO :USER;
SELECT simhash_guard('parts.docs');
INSERT INTO parts.docs VALUES (4, 'a fourth text');
SELECT simhash_unguard('parts.docs');

SET search_path = parts, public;
-- A new partition of the superuser's in a table of another role is refused too.
SET ROLE regress_attacker;
CREATE TABLE own (id integer, body text, n text GENERATED ALWAYS AS (parts.report_run('an expression', body)) STORED)
    PARTITION BY LIST (id);
CREATE TABLE own_1 PARTITION OF own FOR VALUES IN (1);
CREATE INDEX ON own ((body || parts.report_run('an index expression', ''::text)));
SELECT simhash_attach('own', 'n'), simhash_guard('own', 'skip', '{"resemblance": null}');
RESET ROLE;
CREATE TABLE own_2 PARTITION OF own FOR VALUES IN (2); -- PostgreSQL itself
\c -
SET ROLE regress_attacker;
INSERT INTO parts.own (id, body) VALUES (1, 'one two three four five');
INSERT INTO parts.own (id, body) VALUES (2, 'one two three four five');

-- Partition keys, and tables with partitions below other partitions.
\c -
SET search_path = parts, public; SET client_min_messages = error;
CREATE TABLE keyed (id integer, f bigint) PARTITION BY LIST (id);
CREATE TABLE keyed_1 PARTITION OF keyed FOR VALUES IN (1);
CREATE TABLE keyed_2 (id integer, f bigint) PARTITION BY LIST ((id + parts.report_run('a partition key', 1)));
ALTER TABLE keyed ATTACH PARTITION keyed_2 FOR VALUES IN (2);
CREATE TABLE keyed_2_3 PARTITION OF keyed_2 FOR VALUES IN (3);
SELECT simhash_attach('keyed', 'f', blocks => 4), simhash_guard('keyed', source => 'f');
ALTER TABLE keyed_2 OWNER TO regress_attacker;
GRANT ALL ON keyed TO regress_writer;
\c -
SELECT count(*) FROM parts.keyed; -- PostgreSQL itself
\c -
SELECT simhash_guard('parts.keyed', source => 'f');
\c -
SELECT simhash_guard('parts.keyed_2_3', source => 'f');
\c -
SET ROLE regress_writer;
INSERT INTO parts.keyed VALUES (1, 1);

-- Nothing of the other partitions is reported to a partition's owner, not even by a trigger of that owner.
RESET ROLE; SET search_path = parts, public;
CREATE TABLE tenants (id integer, tenant integer, f bigint, PRIMARY KEY (tenant, id)) PARTITION BY LIST (tenant);
CREATE TABLE tenant_1 PARTITION OF tenants FOR VALUES IN (1);
CREATE TABLE tenant_2 PARTITION OF tenants FOR VALUES IN (2) PARTITION BY LIST (tenant);
CREATE TABLE tenant_2_2 PARTITION OF tenant_2 FOR VALUES IN (2);
SELECT simhash_attach('tenants', 'f', blocks => 8), simhash_guard('tenants', source => 'f', scope => '{tenant}');
INSERT INTO tenants VALUES (1, 1, 0);
ALTER TABLE tenant_2 OWNER TO regress_attacker;
ALTER TABLE tenant_2_2 OWNER TO regress_attacker;
ALTER TABLE tenants DISABLE TRIGGER zzz_simhash_guard;
SET ROLE regress_attacker;
CREATE TRIGGER guard_of_attacker BEFORE INSERT ON tenant_2 FOR EACH ROW
    EXECUTE FUNCTION simhash_dedup('reject', '{"max_distance": 6, "resemblance": null}', 'f');
INSERT INTO tenant_2 VALUES (1, 2, 7);
-- A partition's owner can neither replace nor drop its guard.
\set VERBOSITY sqlstate
SELECT simhash_guard('tenant_2', source => 'f');
\set VERBOSITY default
SELECT simhash_unguard('tenant_2_2');
RESET ROLE;

-- A table from which a table of another role inherits is refused too.
CREATE TABLE parent (id integer PRIMARY KEY, body text);
CREATE TABLE child () INHERITS (parent);
ALTER TABLE child OWNER TO regress_attacker;
SELECT simhash_attach('parent', 'body');
