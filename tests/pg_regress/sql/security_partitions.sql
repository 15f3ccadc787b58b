-- Partitions of another owner: code in them does not run with the rights of users of the parent, and their owner learns
-- nothing of the other partitions.
CREATE ROLE regress_security_mallory;
CREATE ROLE regress_security_writer;
CREATE SCHEMA parts;
GRANT USAGE, CREATE ON SCHEMA parts TO regress_security_mallory;
GRANT USAGE ON SCHEMA parts TO regress_security_writer;
SET search_path = parts, public;
SET client_min_messages = warning;

-- Reports if it runs as any user but its owner.
SET ROLE regress_security_mallory;
CREATE FUNCTION trap(what text, value anyelement) RETURNS anyelement LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF current_user <> 'regress_security_mallory' THEN
        RAISE WARNING '% runs as %', what, CASE current_user WHEN session_user THEN 'the superuser' ELSE current_user END;
    END IF;
    RETURN value;
END $$;
RESET ROLE;

-- PostgreSQL computes the constants of an index's expressions when a session first reads them. (Backslash-c starts a
-- new session.)
CREATE TABLE docs (id integer, body text) PARTITION BY LIST (id);
CREATE TABLE docs_1 PARTITION OF docs FOR VALUES IN (1, 3, 5);
CREATE TABLE docs_2 PARTITION OF docs FOR VALUES IN (2, 4, 6);
INSERT INTO docs VALUES (1, 'the text of the first document'), (2, 'another text, which is not near');
ALTER TABLE docs_2 OWNER TO regress_security_mallory;
SET ROLE regress_security_mallory;
CREATE INDEX ON docs_2 ((id + parts.trap('an index expression', 1)));
CREATE INDEX ON docs_2 (id) WHERE parts.trap('an index predicate', id) > parts.trap('an index predicate', 1);
RESET ROLE;
GRANT ALL ON docs TO regress_security_writer;
\c -
SELECT count(*) FROM parts.docs; -- PostgreSQL itself
\c -
SET client_min_messages = warning;
SELECT simhash_attach('parts.docs', 'body', 5);
\c -
SET client_min_messages = warning;
SELECT simhash_attach('parts.docs', 'body', 5, covering => true);
\c -
SET client_min_messages = warning;
SELECT simhash_guard('parts.docs');
\c -
SELECT count(*) FROM simhash_index_commands('parts.docs', 4);
\c -
SET client_min_messages = warning;
SELECT simhash_attach_online('parts.docs', 'body', prefix => 'online');
\c -
SET client_min_messages = warning;
CALL simhash_fill('parts.docs', 'online');
-- Writing to one partition runs no code of another, although the guard searches both.
\c -
SET ROLE regress_security_writer;
INSERT INTO parts.docs VALUES (3, 'a third text, to a partition of the superuser''s');
INSERT INTO parts.docs VALUES (5, 'a third text, to a partition of the superusers');
\c -
EXPLAIN (COSTS OFF) SELECT id FROM parts.docs WHERE simhash_near(simhash, 5, 0) AND id = 1;
\c -
SET client_min_messages = warning;
SELECT simhash_unguard('parts.docs');
\c -
SET client_min_messages = warning;
SELECT simhash_detach('parts.docs', 'online');
\c -
SET client_min_messages = warning;
SELECT simhash_detach('parts.docs');

-- The same for a partition key.
SET search_path = parts, public;
SET client_min_messages = error;
CREATE TABLE keyed (id integer, f bigint) PARTITION BY LIST (id);
CREATE TABLE keyed_1 PARTITION OF keyed FOR VALUES IN (1);
CREATE TABLE keyed_2 (id integer, f bigint) PARTITION BY LIST ((id + parts.trap('a partition key', 1)));
ALTER TABLE keyed ATTACH PARTITION keyed_2 FOR VALUES IN (2);
CREATE TABLE keyed_2_3 PARTITION OF keyed_2 FOR VALUES IN (3);
ALTER TABLE keyed_2 OWNER TO regress_security_mallory;
SELECT simhash_attach('keyed', 'f', 4), simhash_guard('keyed', fingerprint => 'f');
GRANT ALL ON keyed TO regress_security_writer;
\c -
SELECT count(*) FROM parts.keyed; -- PostgreSQL itself
\c -
SELECT simhash_guard('parts.keyed', fingerprint => 'f');
\c -
SET ROLE regress_security_writer;
INSERT INTO parts.keyed VALUES (1, 1);

-- A partition's owner is told only of its own rows, by any trigger.
RESET ROLE;
SET search_path = parts, public;
SET client_min_messages = warning;
CREATE TABLE tenants (id integer, tenant integer, f bigint, PRIMARY KEY (tenant, id)) PARTITION BY LIST (tenant);
CREATE TABLE tenant_1 PARTITION OF tenants FOR VALUES IN (1);
CREATE TABLE tenant_2 PARTITION OF tenants FOR VALUES IN (2) PARTITION BY LIST (tenant);
CREATE TABLE tenant_2_2 PARTITION OF tenant_2 FOR VALUES IN (2);
SELECT simhash_attach('tenants', 'f', 8), simhash_guard('tenants', fingerprint => 'f', scope => '{tenant}');
INSERT INTO tenants VALUES (1, 1, 0);
ALTER TABLE tenant_2 OWNER TO regress_security_mallory;
ALTER TABLE tenant_2_2 OWNER TO regress_security_mallory;
SET ROLE regress_security_mallory;
CREATE TRIGGER spy BEFORE INSERT ON tenant_2_2 FOR EACH ROW EXECUTE FUNCTION simhash_dedup('reject', '6', 'f');
INSERT INTO tenant_2_2 VALUES (1, 2, 7);
INSERT INTO tenant_2_2 VALUES (2, 2, 7 # 63);
DROP TRIGGER spy ON tenant_2_2;
CREATE TRIGGER spy BEFORE INSERT ON tenant_2 FOR EACH ROW EXECUTE FUNCTION simhash_dedup('reject', '6', 'f');
INSERT INTO tenant_2 VALUES (2, 2, 15);
DELETE FROM tenant_2 WHERE id = 1;
INSERT INTO tenant_2 VALUES (2, 2, 15);
-- With the guard's arguments the trigger sees no more, even where the guard itself does not fire.
DROP TRIGGER spy ON tenant_2;
CREATE TRIGGER spy BEFORE INSERT ON tenant_2 FOR EACH ROW EXECUTE FUNCTION simhash_dedup('reject', '3', 'f', '', 'tenant');
INSERT INTO tenant_2 VALUES (3, 2, 0);
RESET ROLE;
DROP TRIGGER spy ON tenant_2;
CREATE TABLE apart (id integer, tenant integer, f bigint) PARTITION BY LIST (tenant);
CREATE TABLE apart_1 PARTITION OF apart FOR VALUES IN (1);
CREATE TABLE apart_2 PARTITION OF apart FOR VALUES IN (2) PARTITION BY LIST (tenant);
CREATE TABLE apart_2_2 PARTITION OF apart_2 FOR VALUES IN (2);
SELECT simhash_attach('apart', 'f'), simhash_guard('apart', fingerprint => 'f');
INSERT INTO apart VALUES (1, 1, 42);
ALTER TABLE apart DISABLE TRIGGER zzz_simhash_guard;
ALTER TABLE apart_2 OWNER TO regress_security_mallory;
ALTER TABLE apart_2_2 OWNER TO regress_security_mallory;
SET ROLE regress_security_mallory;
CREATE TRIGGER spy BEFORE INSERT ON apart_2 FOR EACH ROW EXECUTE FUNCTION simhash_dedup('reject', '3', 'f');
INSERT INTO apart_2 VALUES (2, 2, 43);
INSERT INTO apart_2 VALUES (3, 2, 43);
-- A partition's owner can neither replace nor drop its guard.
\set VERBOSITY sqlstate
SELECT simhash_guard('tenant_2', fingerprint => 'f');
\set VERBOSITY default
SELECT simhash_unguard('tenant_2_2');
-- Rights on a partition do not suffice for its parent, nor rights on a parent for its partitions' columns and indexes.
SELECT simhash_guard('tenants', fingerprint => 'f');
SELECT simhash_detach('tenants');
RESET ROLE;
ALTER TABLE tenants OWNER TO regress_security_mallory;
SET ROLE regress_security_mallory;
SELECT simhash_detach('tenants');
SELECT simhash_attach('tenants', 'f', 2, prefix => 'other');
RESET ROLE;

SET client_min_messages = warning;
DROP SCHEMA parts CASCADE;
DROP ROLE regress_security_mallory, regress_security_writer;
