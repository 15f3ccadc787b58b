-- Columns that have changed since simhash_guard checked them: the trigger checks again.
CREATE TABLE docs (id integer PRIMARY KEY, f bigint, same_as integer, tenant text);
SELECT simhash_attach('docs', 'f');
SELECT simhash_guard('docs', 'mark', scope => '{tenant}', mark_column => 'same_as', source => 'f');
INSERT INTO docs VALUES (1, 0), (2, 1) RETURNING id, same_as;
-- The result of an INSERT after a change. The change and the INSERT are rolled back.
CREATE FUNCTION after(change text, statement text DEFAULT 'INSERT INTO docs VALUES (3, 2)') RETURNS SETOF text
LANGUAGE plpgsql AS $$
BEGIN
    RETURN NEXT change;
    EXECUTE 'ALTER TABLE docs ' || change;
    RETURN QUERY SELECT errors(statement);
    RAISE SQLSTATE 'U0000';
EXCEPTION WHEN SQLSTATE 'U0000' THEN
    RETURN;
END
$$;
SELECT after(change) FROM unnest(ARRAY[
    'ALTER COLUMN same_as TYPE text',
    'DROP CONSTRAINT docs_pkey',
    'DROP same_as, ADD same_as integer GENERATED ALWAYS AS (1) STORED',
    'DROP tenant, ADD tenant text GENERATED ALWAYS AS (id::text) STORED',
    'DROP tenant, ADD tenant json',
    'RENAME tenant TO customer',
    -- Another type that serves as well.
    'ALTER tenant TYPE integer USING NULL']) AS change;
SELECT after('ALTER COLUMN id TYPE text', 'INSERT INTO docs VALUES (''3'', 2)');
SELECT after('DROP f CASCADE, ADD f text', 'INSERT INTO docs (id, f) VALUES (3, ''2'')');
SELECT after('DROP f CASCADE, ADD f bigint', 'INSERT INTO docs (id, f) VALUES (3, 2)');
-- The domain of a mark column becomes NOT NULL.
CREATE DOMAIN key AS integer;
CREATE TABLE keyed (id key PRIMARY KEY, f bigint, near key);
SELECT simhash_attach('keyed', 'f'), simhash_guard('keyed', 'mark', mark_column => 'near', source => 'f');
INSERT INTO keyed VALUES (1, 0, 1) RETURNING near;
DELETE FROM keyed;
ALTER DOMAIN key SET NOT NULL;
SELECT errors('INSERT INTO keyed VALUES (2, 0, 2)');
-- A guard that is replaced within a statement: that statement continues with the old guard, and the next one, even in
-- the same transaction, uses the new guard.
CREATE TABLE replaced (id integer PRIMARY KEY, f bigint, note text);
SELECT simhash_attach('replaced', 'f'), simhash_guard('replaced', 'reject', '{"max_distance": 0}', source => 'f');
CREATE FUNCTION replace_guard() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM simhash_guard('replaced', 'reject', '{"max_distance": 3}', source => 'f');
    RETURN 'replaced';
END $$;
BEGIN;
INSERT INTO replaced SELECT n, 1 << n, CASE WHEN n = 2 THEN replace_guard() END FROM generate_series(1, 4) AS n;
SELECT errors('INSERT INTO replaced VALUES (100, 3)');
COMMIT;
SELECT errors('INSERT INTO replaced VALUES (100, 3)');
SELECT id, f, note FROM replaced ORDER BY id;
