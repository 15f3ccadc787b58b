-- What a guard tells, and to whom; and who takes what for a guard.
\set SHOW_CONTEXT never
CREATE ROLE regress_security_owner;
CREATE ROLE regress_security_writer;
CREATE SCHEMA guards;
GRANT USAGE, CREATE ON SCHEMA guards TO regress_security_owner;
GRANT USAGE ON SCHEMA guards TO regress_security_writer;
SET search_path = guards, public;
SET client_min_messages = warning;

-- With the privilege to create triggers one can do much (a mark is a key, which another trigger can tell), but an error does
-- not say what one may not select.
SET ROLE regress_security_owner;
CREATE TABLE docs (id integer PRIMARY KEY, f bigint, same_as integer);
SELECT simhash_attach('docs', 'f', 8);
INSERT INTO docs VALUES (1, 0);
GRANT INSERT, TRIGGER ON docs TO regress_security_writer;
SET ROLE regress_security_writer;
CREATE TRIGGER spy BEFORE INSERT ON docs FOR EACH ROW EXECUTE FUNCTION simhash_dedup('reject', '7', 'f');
INSERT INTO docs VALUES (2, 31);
-- Other tables are not searched, nor the columns that only PostgreSQL knows.
SET ROLE regress_security_owner;
DROP TRIGGER spy ON docs;
CREATE TRIGGER spy BEFORE INSERT ON docs FOR EACH ROW EXECUTE FUNCTION simhash_dedup('reject', '3', 'pg_class.oid');
INSERT INTO docs VALUES (2, 31);
CREATE OR REPLACE TRIGGER spy BEFORE INSERT ON docs FOR EACH ROW EXECUTE FUNCTION simhash_dedup('reject', '3', 'tableoid');
INSERT INTO docs VALUES (2, 31);
CREATE OR REPLACE TRIGGER spy BEFORE INSERT ON docs FOR EACH ROW EXECUTE FUNCTION simhash_dedup('reject', '3', 'f', '', 'xmin');
INSERT INTO docs VALUES (2, 31);
CREATE OR REPLACE TRIGGER spy BEFORE INSERT ON docs FOR EACH ROW EXECUTE FUNCTION simhash_dedup('mark', '3', 'f', 'ctid');
INSERT INTO docs VALUES (2, 31);
CREATE OR REPLACE TRIGGER spy BEFORE INSERT ON docs FOR EACH ROW EXECUTE FUNCTION simhash_update('f', 'tableoid');
INSERT INTO docs VALUES (2, 31);
DROP TRIGGER spy ON docs;

-- Who is told depends on who asks now, not on what the session remembers of the table.
RESET ROLE;
SELECT simhash_guard('docs', fingerprint => 'f');
INSERT INTO docs VALUES (2, 1);
SET ROLE regress_security_writer;
INSERT INTO docs VALUES (2, 1);
SET ROLE regress_security_owner;
INSERT INTO docs VALUES (2, 1);
CREATE FUNCTION insert_as_owner(integer, bigint) RETURNS void LANGUAGE sql SECURITY DEFINER AS
    'INSERT INTO guards.docs VALUES ($1, $2)';
SET ROLE regress_security_writer;
SELECT insert_as_owner(2, 1);
INSERT INTO docs VALUES (2, 1);
RESET ROLE;

-- A trigger that has the guard's name is none unless it does what a guard does.
SELECT simhash_unguard('docs');
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TRIGGER zzz_simhash_guard BEFORE INSERT OR UPDATE ON docs FOR EACH ROW EXECUTE FUNCTION nothing('reject', '3', 'f');
SELECT simhash_guard('docs', fingerprint => 'f');
\echo :LAST_ERROR_SQLSTATE
SELECT simhash_unguard('docs');
\echo :LAST_ERROR_SQLSTATE
DROP TRIGGER zzz_simhash_guard ON docs;
CREATE TRIGGER zzz_simhash_guard BEFORE INSERT OR UPDATE ON docs FOR EACH ROW WHEN (false)
    EXECUTE FUNCTION simhash_dedup('reject', '3', 'f');
INSERT INTO docs VALUES (2, 1) RETURNING id;
DELETE FROM docs WHERE id = 2;
SELECT simhash_guard('docs', fingerprint => 'f');
INSERT INTO docs VALUES (2, 1);
CREATE OR REPLACE TRIGGER zzz_simhash_guard BEFORE INSERT OR UPDATE OF id ON docs FOR EACH ROW
    EXECUTE FUNCTION simhash_dedup('reject', '3', 'f');
INSERT INTO docs VALUES (2, 65535);
UPDATE docs SET f = 1 WHERE id = 2;
SELECT simhash_guard('docs', fingerprint => 'f');
UPDATE docs SET f = 2 WHERE id = 2;
CREATE OR REPLACE TRIGGER zzz_simhash_guard BEFORE INSERT ON docs FOR EACH ROW
    EXECUTE FUNCTION simhash_dedup('reject', '3', 'f');
SELECT simhash_guard('docs', fingerprint => 'f');
SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'docs'::regclass;

-- Row-level security checks a new row after all BEFORE triggers. So a guard answers first, also for a row that would be
-- refused: it tells whoever may insert into a scope that something near is in it, or is not.
CREATE TABLE tenants (id integer PRIMARY KEY, tenant name DEFAULT current_user, f bigint);
SELECT simhash_attach('tenants', 'f', 4), simhash_guard('tenants', fingerprint => 'f', scope => '{tenant}');
INSERT INTO tenants VALUES (1, 'another tenant', 0);
ALTER TABLE tenants ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON tenants USING (tenant = current_user);
GRANT SELECT, INSERT ON tenants TO regress_security_writer;
SET ROLE regress_security_writer;
INSERT INTO tenants VALUES (2, 'another tenant', 1);
INSERT INTO tenants VALUES (2, 'another tenant', 255);
RESET ROLE;
-- Privileges are checked before: who may not choose the scope cannot ask about another.
REVOKE INSERT ON tenants FROM regress_security_writer;
GRANT INSERT (id, f) ON tenants TO regress_security_writer;
SET ROLE regress_security_writer;
INSERT INTO tenants VALUES (2, 'another tenant', 1);
INSERT INTO tenants (id, f) VALUES (2, 1) RETURNING tenant;
RESET ROLE;
-- Or a trigger refuses it, one whose name comes first.
DELETE FROM tenants WHERE id = 2;
GRANT INSERT ON tenants TO regress_security_writer;
CREATE FUNCTION own_tenant() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.tenant <> current_user THEN
        RAISE insufficient_privilege USING MESSAGE = 'not your tenant';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER own_tenant BEFORE INSERT OR UPDATE ON tenants FOR EACH ROW EXECUTE FUNCTION own_tenant();
SET ROLE regress_security_writer;
INSERT INTO tenants VALUES (2, 'another tenant', 1);
INSERT INTO tenants VALUES (2, 'another tenant', 255);
RESET ROLE;

-- Everybody sees the locks of a guard. Their numbers tell nothing of a fingerprint to whom has a guarded table too: there,
-- the same fingerprint has others.
CREATE TABLE locked (f bigint);
CREATE TABLE own (f bigint);
SELECT simhash_attach('locked', 'f', 4), simhash_guard('locked', fingerprint => 'f');
SELECT simhash_attach('own', 'f', 4), simhash_guard('own', fingerprint => 'f');
WITH locked AS (
    INSERT INTO locked VALUES (42) RETURNING (
        SELECT array_agg(objid) FROM pg_locks WHERE classid = 'locked'::regclass AND objsubid = 3) AS keys
), own AS (
    INSERT INTO own VALUES (42) RETURNING (
        SELECT array_agg(objid) FROM pg_locks WHERE classid = 'own'::regclass AND objsubid = 3) AS keys
)
SELECT cardinality(locked.keys) AS locks, cardinality(own.keys) AS own, locked.keys && own.keys AS same FROM locked, own;

DROP SCHEMA guards CASCADE;
DROP ROLE regress_security_owner, regress_security_writer;
