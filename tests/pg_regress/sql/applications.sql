-- What applications that own their tables do to them, by the way in which a table is attached.

CREATE SCHEMA applications;
SET search_path = applications, public;
SET client_min_messages = warning;
CREATE TABLE with_columns (id integer PRIMARY KEY, body text);
CREATE TABLE without_columns (LIKE with_columns);
CREATE TABLE online (LIKE with_columns);
INSERT INTO with_columns VALUES (1, 'a text of some words');
INSERT INTO without_columns TABLE with_columns;
INSERT INTO online TABLE with_columns;
SELECT simhash_attach('with_columns', 'body'), simhash_attach('without_columns', 'body', columns => false),
    simhash_attach_online('online', 'body');
CALL simhash_fill('online');

-- Some write back whole rows, as they have read them.
SELECT errors('UPDATE with_columns SET body = ''another text'', simhash = simhash, simhash_block0 = simhash_block0',
    'UPDATE without_columns SET body = ''another text'', simhash = simhash',
    'UPDATE online SET body = ''another text'', simhash = simhash',
    'INSERT INTO with_columns SELECT 2, body, simhash, simhash_block0 FROM with_columns',
    'INSERT INTO without_columns SELECT 2, body, simhash FROM without_columns',
    'INSERT INTO online SELECT 2, body, simhash FROM online');
SELECT id, simhash = simhash(body) AS is_up_to_date FROM online ORDER BY id;

-- Others give a column the type that it has.
SELECT errors('ALTER TABLE with_columns ALTER body TYPE text', 'ALTER TABLE without_columns ALTER body TYPE text',
    'ALTER TABLE online ALTER body TYPE text');

-- Generated columns and indexes follow a column that is renamed; a trigger does not.
ALTER TABLE with_columns RENAME body TO content;
ALTER TABLE without_columns RENAME body TO content;
ALTER TABLE online RENAME body TO content;
SELECT errors('INSERT INTO with_columns VALUES (3, ''a third text'')', 'INSERT INTO without_columns VALUES (3, ''a third text'')',
    'INSERT INTO online VALUES (3, ''a third text'')');
-- Attached again under the new name.
DROP TRIGGER zz_simhash_update ON online;
SELECT simhash_attach_online('online', 'content');
INSERT INTO online VALUES (3, 'a third text');
SELECT id, simhash = simhash(content) AS is_up_to_date FROM online ORDER BY id;

-- A schema tool drops what its model lacks. The indexes go with the column. The trigger stays, and says what to do.
ALTER TABLE with_columns DROP simhash;
ALTER TABLE without_columns DROP simhash;
ALTER TABLE online DROP simhash;
SELECT errors('INSERT INTO with_columns VALUES (4, ''a fourth text'')', 'INSERT INTO without_columns VALUES (4, ''a fourth text'')',
    'INSERT INTO online VALUES (4, ''a fourth text'')');
SELECT simhash_attach('with_columns', 'content'), simhash_attach('without_columns', 'content', columns => false);
SELECT count(*), tablename FROM pg_indexes WHERE schemaname = 'applications' AND indexdef ~ 'INCLUDE' GROUP BY 2 ORDER BY 2;
SELECT simhash_attach_online('online', 'content');
INSERT INTO online VALUES (4, 'a fourth text');
CALL simhash_fill('online');
SELECT count(*) FILTER (WHERE simhash = simhash(content)) AS is_up_to_date, count(*) FROM online;
DROP SCHEMA applications CASCADE;
