-- Errors and locks of guards, and the information that they give users about rows of other scopes.

-- Row-level security checks a new row after all BEFORE triggers. So a guard answers first, even for a row that will be
-- refused: users who may insert into a scope learn whether a near row is in it.
CREATE TABLE tenants (id integer PRIMARY KEY, tenant name DEFAULT current_user, f bigint);
SELECT simhash_attach('tenants', 'f', blocks => 4), simhash_guard('tenants', source => 'f', scope => '{tenant}');
INSERT INTO tenants VALUES (1, 'another tenant', 0);
ALTER TABLE tenants ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON tenants USING (tenant = current_user);
GRANT SELECT, INSERT ON tenants TO regress_writer;
PREPARE insert_others AS SELECT errors_as('regress_writer', 'INSERT INTO tenants VALUES (2, ''another tenant'', 1)',
    'INSERT INTO tenants VALUES (2, ''another tenant'', 255)', 'INSERT INTO tenants (id, f) VALUES (2, 1)');
EXECUTE insert_others;
DELETE FROM tenants WHERE id = 2;
-- Privileges are checked earlier: users who may not set the scope cannot ask about another one.
REVOKE INSERT ON tenants FROM regress_writer; GRANT INSERT (id, f) ON tenants TO regress_writer;
EXECUTE insert_others;
-- Or a trigger whose name comes first refuses the row.
DELETE FROM tenants WHERE id = 2;
GRANT INSERT ON tenants TO regress_writer;
CREATE FUNCTION own_tenant() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.tenant <> current_user THEN
        RAISE insufficient_privilege USING MESSAGE = 'not your tenant';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER own_tenant BEFORE INSERT OR UPDATE ON tenants FOR EACH ROW EXECUTE FUNCTION own_tenant();
EXECUTE insert_others;

-- All users see the locks of a guard, on the keys of a row. Their numbers reveal no fingerprint and no band, even to a
-- user with a guarded table of their own, or with rows of another scope: there, the same values have other numbers.
CREATE TABLE locked (tenant integer, f bigint);
CREATE TABLE own (tenant integer, f bigint);
SELECT simhash_attach(t, 'f'), simhash_guard(t, scope => '{tenant}', source => 'f')
FROM unnest('{locked, own}'::regclass[]) AS t;
CREATE TABLE locks (row text, number oid);
CREATE FUNCTION note_locks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO public.locks
    SELECT TG_TABLE_NAME || ' ' || new.tenant, objid FROM pg_locks WHERE locktype = 'advisory' AND objsubid > 2;
    RETURN new;
END $$;
CREATE TRIGGER zzzz_note_locks BEFORE INSERT ON locked FOR EACH ROW EXECUTE FUNCTION note_locks();
CREATE TRIGGER zzzz_note_locks BEFORE INSERT ON own FOR EACH ROW EXECUTE FUNCTION note_locks();
INSERT INTO locked VALUES (1, 42), (2, 42);
INSERT INTO own VALUES (1, 42);
CREATE TABLE texts (tenant integer, body text);
SELECT simhash_index('texts', 'body'), simhash_guard('texts', scope => '{tenant}');
CREATE TRIGGER zzzz_note_locks BEFORE INSERT ON texts FOR EACH ROW EXECUTE FUNCTION note_locks();
INSERT INTO texts VALUES (1, 'a text'), (2, 'a text');
SELECT row, count(DISTINCT number) FROM locks GROUP BY row ORDER BY row;
SELECT number FROM locks WHERE number = 42 OR number IN (SELECT l.number FROM locks AS l WHERE l.row <> locks.row)
    OR number::bigint IN (SELECT simhash_band('a text', band)::bigint & x'ffffffff'::bigint
        FROM generate_series(0, 5) AS band);
