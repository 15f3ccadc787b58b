-- Guards among existing rows that fulfil a condition.
CREATE TYPE status AS ENUM ('draft', 'active', 'closed');
-- Fingerprints stored directly make the distances plain.
CREATE TABLE docs (id integer PRIMARY KEY, f bigint, status status, fetched_at timestamptz DEFAULT now(),
    twice integer GENERATED ALWAYS AS (id * 2) STORED);
SELECT simhash_attach('docs', 'f');

-- By a window of time, a row that is too old does not count.
SET DateStyle = 'SQL, DMY';
SELECT simhash_guard('docs', source => 'f',
    among => 'fetched_at > ''31/12/2001''::timestamp AND fetched_at > now() - interval ''7 days''');
RESET DateStyle;
SELECT definition('docs');
INSERT INTO docs VALUES (1, 0, 'active', now() - interval '8 days');
INSERT INTO docs VALUES (2, 1, 'active');
INSERT INTO docs VALUES (3, 2, 'active');
-- The checked row need not be in the window.
INSERT INTO docs VALUES (3, 2, 'active', now() - interval '1 year');
DELETE FROM docs;

-- Names are looked up in the caller's search path when the guard is made, and not again.
SELECT simhash_guard('docs', source => 'f', among => 'status = ''active''::status -- or other'), definition('docs');
SET search_path = pg_catalog;
INSERT INTO public.docs VALUES (1, 0, 'draft'), (2, 0, 'closed'), (3, 0, NULL), (4, 0, 'active');
INSERT INTO public.docs VALUES (5, 1, 'draft');
RESET search_path;
SELECT id, status FROM docs ORDER BY id;
-- An UPDATE that makes a row count is checked like a new row; other UPDATEs are not.
UPDATE docs SET status = 'closed' WHERE id = 1;
UPDATE docs SET status = 'active' WHERE id = 1;
UPDATE docs SET fetched_at = now(), status = 'active' WHERE id = 4;
UPDATE docs SET status = 'closed' WHERE id = 4;
UPDATE docs SET status = 'active' WHERE id = 1;
UPDATE docs SET status = 'active' WHERE id = 2;
-- An UPDATE of the fingerprint is checked whether or not the row counts.
INSERT INTO docs VALUES (6, x'00ff00ff00ff00ff'::bigint, 'draft');
UPDATE docs SET f = 0 WHERE id = 6;
-- Within one statement, rows that do not count are stored together with a row that does.
INSERT INTO docs VALUES (11, -1, 'draft'), (12, -1, 'draft'), (13, -1, 'active');
-- ON CONFLICT: the UPDATE of the row with the same key is checked.
INSERT INTO docs VALUES (2, 0, 'active') ON CONFLICT (id) DO UPDATE SET status = excluded.status;
INSERT INTO docs VALUES (13, -1, 'closed') ON CONFLICT (id) DO UPDATE SET status = excluded.status;

-- A guard that exists is skipped; without the condition, it is another guard.
SET client_min_messages = notice;
SELECT simhash_guard('docs', source => 'f', among => '(status=''active'')');
SELECT simhash_guard('docs', source => 'f', among => '');
SET client_min_messages = warning;
SELECT definition('docs');

-- A row that a trigger writes while another is being stored.
SELECT simhash_guard('docs', source => 'f', among => 'status = ''active''');
CREATE FUNCTION write_another() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF new.id >= 100 AND new.id < 200 THEN
        INSERT INTO docs VALUES (new.id + 100, new.f, 'active');
    END IF;
    RETURN new;
END $$;
CREATE TRIGGER zzzz BEFORE INSERT ON docs FOR EACH ROW EXECUTE FUNCTION write_another();
INSERT INTO docs VALUES (100, 4095, 'draft');
INSERT INTO docs VALUES (101, 16773120, 'active');
SELECT id FROM docs WHERE id >= 100 ORDER BY id;

-- A guard that marks near texts in partitions may have a condition too.
CREATE TABLE pages (part integer, id integer, active boolean, body text, near jsonb, PRIMARY KEY (part, id))
    PARTITION BY LIST (part);
CREATE TABLE pages_1 PARTITION OF pages FOR VALUES IN (1);
-- The columns of this partition have other attnums.
CREATE TABLE pages_2 (gone integer, near jsonb, body text, id integer NOT NULL, active boolean, part integer NOT NULL);
ALTER TABLE pages_2 DROP gone;
ALTER TABLE pages ATTACH PARTITION pages_2 FOR VALUES IN (2);
SELECT simhash_index('pages', 'body'), simhash_guard('pages', 'mark', mark_column => 'near', among => 'active');
SELECT definition('pages');
INSERT INTO pages VALUES (1, 1, true, 'a text of some words'), (2, 2, false, 'some other words of a text'),
    (2, 3, true, 'a text of some words'), (1, 4, true, 'some other words of a text'),
    (2, 5, true, 'Some other words, of a text!');
SELECT id, near FROM pages ORDER BY id;

-- A preview compares the rows that count.
SELECT distance, duplicate, rows, example, earlier
FROM simhash_preview('docs', source => 'f', among => 'status = ''active''');

-- A column of the condition was renamed: each INSERT fails until the guard is removed.
ALTER TABLE docs RENAME status TO state;
INSERT INTO docs VALUES (300, 0, 'active');
\echo :LAST_ERROR_SQLSTATE
SELECT simhash_unguard('docs');
INSERT INTO docs VALUES (300, 0, 'active');

-- Conditions on a row, and expressions that are refused as such.
SELECT errors(VARIADIC array_agg(format('SELECT simhash_guard(''docs'', source => ''f'', among => %L)', condition)))
FROM unnest(ARRAY[
    'id', '1', '''text''', 'id >', 'id > 1; SELECT true', 'true) OR (false', 'true), (true',
    'true) UNION SELECT (true', '*', 'docs IS NULL', 'docs.*', 'unknown > 1', 'other.id > 1', '$1', '$0 = ''a''', '''a'' IS NULL',
    'random() > .5',
    'EXISTS (SELECT FROM docs)', 'count(*) > 1', 'rank() OVER () > 1',
    'generate_series(1, 2) > 1', 'twice > 2', 'ctid IS NULL', 'tableoid > 1', 'id / 0 > 1',
    'fetched_at > now() - interval ''1 day'' AND state IS DISTINCT FROM ''closed'''
]) AS condition;
ALTER TABLE docs ADD near integer;
SELECT simhash_guard('docs', 'mark', source => 'f', mark_column => 'near', among => 'near IS NULL');
ALTER TABLE docs DROP near;
-- psql shows where the error is in the condition.
SELECT simhash_guard('docs', source => 'f', among => 'id > 1 AND unknown');
-- A NOTICE of the parser is sent once.
SELECT run(format('ALTER TABLE docs ADD %I integer', repeat('n', 63)));
SET client_min_messages = notice;
SELECT simhash_guard('docs', source => 'f', among => repeat('n', 64) || ' IS NULL');
SET client_min_messages = warning;
-- The condition is evaluated when a near row is found.
SELECT simhash_guard('docs', source => 'f', among => '1 / (id - 300) > 0');
INSERT INTO docs VALUES (301, 0);
-- A stored generated column has its value for stored rows. For a new row, PostgreSQL has not computed it yet.
CREATE FUNCTION is_even(integer) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1 % 2 = 0; END';
TRUNCATE docs;
ALTER TABLE docs ADD even boolean GENERATED ALWAYS AS (is_even(id)) STORED;
SELECT simhash_guard('docs', source => 'f', among => 'even');
INSERT INTO docs VALUES (1, 0), (2, 0);
INSERT INTO docs VALUES (3, 0);
UPDATE docs SET id = 4 WHERE id = 1;
DELETE FROM docs WHERE id = 2;
UPDATE docs SET id = 4 WHERE id = 1;
SELECT id, even FROM docs;
SELECT simhash_unguard('docs');
