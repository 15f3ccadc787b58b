-- Columns that have changed since simhash_guard checked them: the trigger checks again.
CREATE TABLE docs (id integer PRIMARY KEY, f bigint, same_as integer, tenant text);
SELECT simhash_attach('docs', 'f');
SELECT simhash_guard('docs', 'mark', scope => '{tenant}', mark_column => 'same_as', fingerprint => 'f');
INSERT INTO docs VALUES (1, 0), (2, 1) RETURNING id, same_as;
BEGIN;
ALTER TABLE docs ALTER COLUMN same_as TYPE text;
SELECT errors('INSERT INTO docs VALUES (3, 2)');
ROLLBACK;
BEGIN;
ALTER TABLE docs ALTER COLUMN id TYPE text;
SELECT errors('INSERT INTO docs VALUES (''3'', 2)');
ROLLBACK;
BEGIN;
ALTER TABLE docs DROP CONSTRAINT docs_pkey;
SELECT errors('INSERT INTO docs VALUES (3, 2)');
ROLLBACK;
BEGIN;
ALTER TABLE docs DROP same_as, ADD same_as integer GENERATED ALWAYS AS (1) STORED;
SELECT errors('INSERT INTO docs VALUES (3, 2)');
ROLLBACK;
BEGIN;
ALTER TABLE docs DROP tenant, ADD tenant text GENERATED ALWAYS AS (id::text) STORED;
SELECT errors('INSERT INTO docs VALUES (3, 2)');
ROLLBACK;
BEGIN;
ALTER TABLE docs DROP tenant, ADD tenant json;
SELECT errors('INSERT INTO docs VALUES (3, 2)');
ROLLBACK;
BEGIN;
ALTER TABLE docs RENAME tenant TO customer;
SELECT errors('INSERT INTO docs VALUES (3, 2)');
ROLLBACK;
-- Another type that serves as well, and a new column in place of the fingerprint.
BEGIN;
ALTER TABLE docs ALTER tenant TYPE integer USING NULL;
SELECT errors('INSERT INTO docs (id, f) VALUES (3, 2)');
SELECT id, same_as FROM docs;
ROLLBACK;
BEGIN;
ALTER TABLE docs DROP f CASCADE, ADD f text;
SELECT errors('INSERT INTO docs (id, f) VALUES (3, ''2'')');
ROLLBACK;
BEGIN;
ALTER TABLE docs DROP f CASCADE, ADD f bigint;
SELECT errors('INSERT INTO docs (id, f) VALUES (3, 2)');
ROLLBACK;
-- A guard that is replaced within a statement: that statement continues with the old guard, and the next one, even in
-- the same transaction, uses the new guard.
CREATE TABLE replaced (id integer PRIMARY KEY, f bigint, note text);
SELECT simhash_attach('replaced', 'f'), simhash_guard('replaced', 'reject', '{"max_distance": 0}', fingerprint => 'f');
CREATE FUNCTION replace_guard() RETURNS text LANGUAGE plpgsql AS
    $$ BEGIN PERFORM simhash_guard('replaced', 'reject', '{"max_distance": 3}', fingerprint => 'f'); RETURN 'replaced'; END $$;
BEGIN;
INSERT INTO replaced SELECT n, 1 << n, CASE WHEN n = 2 THEN replace_guard() END FROM generate_series(1, 4) AS n;
SELECT errors('INSERT INTO replaced VALUES (100, 3)');
COMMIT;
SELECT errors('INSERT INTO replaced VALUES (100, 3)');
SELECT id, f, note FROM replaced ORDER BY id;
