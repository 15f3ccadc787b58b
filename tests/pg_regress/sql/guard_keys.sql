-- A guard and the keys of its table: unique keys, foreign keys, and marks. (INSERT .. ON CONFLICT: guard_upsert.)

-- The guard leaves a row to a unique index that has its key. An index does not count if it omits one of the rows, is
-- deferred, or has a NULL: rows 2 to 5 are skipped.
CREATE TABLE loose (id integer, a integer, b integer UNIQUE DEFERRABLE INITIALLY DEFERRED, c text, d integer UNIQUE,
    f bigint);
CREATE UNIQUE INDEX ON loose (a) WHERE a > 0;
CREATE UNIQUE INDEX ON loose (lower(c)) WHERE a > 1;
SELECT simhash_attach('loose', 'f'), simhash_guard('loose', 'skip', source => 'f');
INSERT INTO loose VALUES (1, 0, 1, 'x', NULL, 0);
INSERT INTO loose VALUES (2, 0, 2, 'y', NULL, 0), (3, 1, 1, 'z', NULL, 0), (4, 2, 3, 'X', NULL, 0), (5, 3, 4, 'w', 5, 0)
RETURNING id;

-- An UPDATE that a foreign key makes is never skipped.
CREATE TABLE tenants (id integer PRIMARY KEY);
CREATE TABLE owned (id integer PRIMARY KEY, f bigint,
    tenant integer REFERENCES tenants ON UPDATE CASCADE ON DELETE SET NULL);
SELECT simhash_attach('owned', 'f'), simhash_guard('owned', 'skip', scope => '{tenant}', source => 'f');
INSERT INTO tenants VALUES (1), (2), (3);
INSERT INTO owned VALUES (1, 0, 1), (2, 0, 2), (3, -1, 3);
DELETE FROM tenants WHERE id = 1;
DELETE FROM tenants WHERE id = 2;
DELETE FROM tenants WHERE id = 3;
UPDATE tenants SET id = 20 WHERE id = 2;
UPDATE owned SET tenant = NULL WHERE id = 2;
SELECT * FROM tenants ORDER BY id;
SELECT id, tenant, f FROM owned ORDER BY id;
-- An UPDATE that keeps the foreign key is skipped.
UPDATE owned SET f = 1 WHERE id = 3 RETURNING id;

-- Marks: of exactly the key's type, with its length, and not in a column that the guard itself needs.
CREATE TABLE marked (id varchar(20) PRIMARY KEY, body text, part varchar(20), narrow varchar(3), any_width varchar,
    fit varchar(20));
SELECT simhash_index('marked', 'body');
CREATE TABLE keyed (id bigint PRIMARY KEY, f bigint, same_as bigint);
-- If a mark could not be NULL, no row could be stored; the same goes for a domain over a NOT NULL domain.
CREATE DOMAIN never_null AS integer NOT NULL;
CREATE DOMAIN number AS never_null;
CREATE TABLE nulls (id integer PRIMARY KEY, f bigint, same_as integer NOT NULL DEFAULT 0);
CREATE TABLE numbers (id number PRIMARY KEY, f bigint, same_as number DEFAULT 0);
SELECT simhash_attach('nulls', 'f'), simhash_attach('numbers', 'f'), simhash_attach('keyed', 'f');
SELECT errors('SELECT simhash_guard(''marked'', ''mark'', mark_column => ''narrow'')',
    'SELECT simhash_guard(''marked'', ''mark'', mark_column => ''any_width'')',
    'SELECT simhash_guard(''marked'', ''mark'', mark_column => ''id'')',
    'SELECT simhash_guard(''marked'', ''mark'', mark_column => ''part'', scope => ''{part}'')',
    'SELECT simhash_guard(''keyed'', ''mark'', mark_column => ''f'', source => ''f'')',
    'SELECT simhash_guard(''keyed'', ''mark'', mark_column => ''same_as'', source => ''f'')',
    'SELECT simhash_guard(''nulls'', ''mark'', mark_column => ''same_as'', source => ''f'')',
    'SELECT simhash_guard(''numbers'', ''mark'', mark_column => ''same_as'', source => ''f'')');
-- Once the column has become NOT NULL, no row can be stored either.
ALTER TABLE nulls ALTER COLUMN same_as DROP NOT NULL;
SELECT simhash_guard('nulls', 'mark', mark_column => 'same_as', source => 'f');
INSERT INTO nulls VALUES (1, 0), (2, 1) RETURNING id, same_as;
UPDATE nulls SET same_as = 1;
ALTER TABLE nulls ALTER COLUMN same_as SET NOT NULL;
SELECT errors('INSERT INTO nulls VALUES (3, 255)');
SELECT simhash_guard('marked', 'mark', mark_column => 'fit', scope => '{part}');
INSERT INTO marked VALUES ('a long identifier', 'a text'), ('another', 'A text') RETURNING id, fit;
