-- A guard and the keys of its table: unique keys, by which INSERT .. ON CONFLICT finds a row, foreign keys, and marks.
CREATE SCHEMA guard_keys;
SET search_path = guard_keys, public;
SET client_min_messages = warning;

-- A crawler stores the same page again, with nearly the same text: only the row itself is near.
CREATE TABLE pages (id serial PRIMARY KEY, url text UNIQUE, body text, seen integer DEFAULT 1);
SELECT simhash_attach('pages', 'body');
CREATE PROCEDURE crawl(url text, body text) LANGUAGE sql AS $$
    INSERT INTO pages (url, body) VALUES (crawl.url, crawl.body)
    ON CONFLICT (url) DO UPDATE SET seen = pages.seen + 1, body = excluded.body $$;
SELECT simhash_guard('pages');
CALL crawl('one', 'The quick brown fox jumps over the lazy dog');
CALL crawl('one', 'The quick brown fox jumps over the lazy dog');
CALL crawl('one', 'the quick brown fox jumps over the LAZY dog!');
CALL crawl('two', 'The quick brown fox jumps over the lazy dog');
CALL crawl('two', 'Something else');
-- An update that makes the row near another one is rejected, or skipped.
CALL crawl('two', 'The quick brown fox jumps over the lazy dog');
SELECT simhash_guard('pages', 'skip');
CALL crawl('two', 'The quick brown fox jumps over the lazy dog');
CALL crawl('one', 'The quick brown fox jumps over the lazy dog');
CALL crawl('three', 'The quick brown fox jumps over the lazy dog');
INSERT INTO pages (url, body) VALUES ('one', 'something else') ON CONFLICT (url) DO NOTHING;
INSERT INTO pages (url, body) VALUES ('four', 'something else') ON CONFLICT (url) DO NOTHING;
SELECT url, body, seen FROM pages ORDER BY id;
-- Without ON CONFLICT, the unique index raises its error.
INSERT INTO pages (url, body) VALUES ('one', 'The quick brown fox jumps over the lazy dog');
-- An index that does not keep these rows apart at all times does not count: it omits one of them, or is deferred, or
-- has a NULL.
CREATE TABLE loose (id integer, a integer, b integer UNIQUE DEFERRABLE INITIALLY DEFERRED, c text, d integer UNIQUE, f bigint);
CREATE UNIQUE INDEX ON loose (a) WHERE a > 0;
CREATE UNIQUE INDEX ON loose (lower(c)) WHERE a > 1;
SELECT simhash_attach('loose', 'f'), simhash_guard('loose', 'skip', fingerprint => 'f');
INSERT INTO loose VALUES (1, 0, 1, 'x', NULL, 0);
INSERT INTO loose VALUES (2, 0, 2, 'y', NULL, 0), (3, 1, 1, 'z', NULL, 0), (4, 2, 3, 'X', NULL, 0), (5, 3, 4, 'w', 5, 0)
RETURNING id;

-- An UPDATE that a foreign key makes is never skipped.
CREATE TABLE tenants (id integer PRIMARY KEY);
CREATE TABLE owned (id integer PRIMARY KEY, tenant integer REFERENCES tenants ON UPDATE CASCADE ON DELETE SET NULL, f bigint);
SELECT simhash_attach('owned', 'f'), simhash_guard('owned', 'skip', scope => '{tenant}', fingerprint => 'f');
INSERT INTO tenants VALUES (1), (2), (3);
INSERT INTO owned VALUES (1, 1, 0), (2, 2, 0), (3, 3, -1);
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
CREATE TABLE marked (id varchar(20) PRIMARY KEY, body text, part varchar(20), narrow varchar(3), any_width varchar, fit varchar(20));
SELECT simhash_attach('marked', 'body');
CREATE TABLE keyed (id bigint PRIMARY KEY, f bigint, same_as bigint);
-- If a mark could not be NULL, no row could be stored; the same goes for a domain over a NOT NULL domain.
CREATE DOMAIN never_null AS integer NOT NULL;
CREATE DOMAIN number AS never_null;
CREATE TABLE nulls (id integer PRIMARY KEY, f bigint, same_as integer NOT NULL DEFAULT 0);
SELECT simhash_attach('nulls', 'f');
CREATE TABLE numbers (id number PRIMARY KEY, f bigint, same_as number DEFAULT 0);
SELECT simhash_attach('numbers', 'f');
SELECT simhash_attach('keyed', 'f');
CREATE TABLE texts (id text PRIMARY KEY, body text, same_as text) PARTITION BY HASH (id);
CREATE TABLE texts_0 PARTITION OF texts FOR VALUES WITH (MODULUS 1, REMAINDER 0);
SELECT simhash_attach('texts', 'body');
SELECT errors('SELECT simhash_guard(''marked'', ''mark'', mark_column => ''narrow'')',
    'SELECT simhash_guard(''marked'', ''mark'', mark_column => ''any_width'')',
    'SELECT simhash_guard(''marked'', ''mark'', mark_column => ''id'')',
    'SELECT simhash_guard(''marked'', ''mark'', mark_column => ''part'', scope => ''{part}'')',
    'SELECT simhash_guard(''keyed'', ''mark'', mark_column => ''f'', fingerprint => ''f'')',
    'SELECT simhash_guard(''keyed'', ''mark'', mark_column => ''same_as'', fingerprint => ''f'')',
    'SELECT simhash_guard(''nulls'', ''mark'', mark_column => ''same_as'', fingerprint => ''f'')',
    'SELECT simhash_guard(''numbers'', ''mark'', mark_column => ''same_as'', fingerprint => ''f'')',
    'SELECT simhash_guard(''texts'', ''mark'', mark_column => ''body'')',
    'SELECT simhash_guard(''texts'', ''mark'', mark_column => ''id'')',
    'SELECT simhash_guard(''texts'', ''mark'', mark_column => ''same_as'')');
-- Nor can a row be stored once the column has become NOT NULL.
ALTER TABLE nulls ALTER COLUMN same_as DROP NOT NULL;
SELECT simhash_guard('nulls', 'mark', mark_column => 'same_as', fingerprint => 'f');
INSERT INTO nulls VALUES (1, 0), (2, 1) RETURNING id, same_as;
UPDATE nulls SET same_as = 1;
ALTER TABLE nulls ALTER COLUMN same_as SET NOT NULL;
INSERT INTO nulls VALUES (3, 255);
\echo :LAST_ERROR_SQLSTATE
SELECT simhash_guard('marked', 'mark', mark_column => 'fit', scope => '{part}');
INSERT INTO marked VALUES ('a long identifier', 'a text'), ('another', 'A text') RETURNING id, fit;

-- The sessions in which the trigger fires stay as set; a trigger that does not fire is not taken for a guard.
SELECT simhash_guard('keyed', fingerprint => 'f');
ALTER TABLE keyed ENABLE ALWAYS TRIGGER zzz_simhash_guard;
SELECT simhash_guard('keyed', 'skip', fingerprint => 'f');
SELECT tgenabled FROM pg_trigger WHERE tgrelid = 'keyed'::regclass;
ALTER TABLE keyed ENABLE REPLICA TRIGGER zzz_simhash_guard;
SELECT simhash_guard('keyed', 'skip', fingerprint => 'f');
SELECT tgenabled FROM pg_trigger WHERE tgrelid = 'keyed'::regclass;
ALTER TABLE keyed DISABLE TRIGGER zzz_simhash_guard;
SELECT simhash_guard('keyed', 'skip', fingerprint => 'f');
SELECT tgenabled FROM pg_trigger WHERE tgrelid = 'keyed'::regclass;
DROP SCHEMA guard_keys CASCADE;
