-- The names in a guard's SQL mean for every writer what they meant when the guard was made.
CREATE SCHEMA app;
CREATE TYPE app.state AS ENUM ('live', 'old');
CREATE FUNCTION app.confirmed(kind anyelement) RETURNS boolean LANGUAGE sql AS 'SELECT kind::text = ''yes''';
CREATE TABLE docs (id integer PRIMARY KEY, body text, kind text, state app.state DEFAULT 'live');
GRANT SELECT, INSERT ON docs TO regress_writer;
SELECT simhash_index('docs', 'body');

-- Writers need USAGE on the schemas, whoever has written in the session before.
SELECT simhash_guard('docs', among => $$state = 'live'$$, unless => 'app.confirmed(kind)');
SELECT definition('docs');
SELECT unless FROM simhash_guards();
INSERT INTO docs VALUES (1, 'The text of a letter', 'no');
SELECT errors_as('regress_writer', $$INSERT INTO docs VALUES (2, 'The text of a letter!', 'no')$$);
GRANT USAGE ON SCHEMA app TO regress_writer;
SELECT errors_as('regress_writer', $$INSERT INTO docs VALUES (2, 'The text of a letter!', 'no')$$,
    $$INSERT INTO docs VALUES (3, 'The text of a letter?', 'yes')$$);
SELECT id FROM docs ORDER BY id;

-- Somebody adds a function that fits the condition better. It does not run, and nothing is stored unchecked.
GRANT USAGE, CREATE ON SCHEMA app TO regress_mallory;
SET ROLE regress_mallory;
CREATE FUNCTION app.confirmed(kind text) RETURNS boolean LANGUAGE plpgsql
    AS $$BEGIN RAISE WARNING 'running as %', current_user; RETURN true; END$$;
RESET ROLE;
SELECT errors_as('regress_writer', $$INSERT INTO docs VALUES (4, 'The text of a letter', 'no')$$);
SELECT error FROM simhash_guards();
-- The guard's owner does not take it over by another call, but by giving the condition again.
SELECT errors($$SELECT simhash_guard('docs', 'skip')$$);
SELECT simhash_guard('docs', 'skip', unless => 'app.confirmed(kind)');
SELECT definition('docs');
INSERT INTO docs VALUES (5, 'The text of a letter', 'no');
DROP FUNCTION app.confirmed(text);
SELECT errors($$INSERT INTO docs VALUES (6, 'The text of a letter', 'no')$$);
-- In a trigger by hand, the functions of the condition follow it.
SELECT simhash_unguard('docs');
CREATE TRIGGER by_hand BEFORE INSERT ON docs FOR EACH ROW
    EXECUTE FUNCTION simhash_dedup('reject', '{}', 'body', '', '', '', 'app.confirmed(kind)');
SELECT errors($$INSERT INTO docs VALUES (6, 'The text of a letter', 'yes')$$);
DROP TRIGGER by_hand ON docs;
CREATE TRIGGER by_hand BEFORE INSERT ON docs FOR EACH ROW
    EXECUTE FUNCTION simhash_dedup('reject', '{}', 'body', '', '', '', 'app.confirmed(kind)',
        'app.confirmed(pg_catalog.anyelement)');
SELECT errors($$INSERT INTO docs VALUES (6, 'The text of a letter', 'yes')$$);
DROP TRIGGER by_hand ON docs;

-- A label of an enum that gets another name.
SELECT simhash_guard('docs', among => $$state = 'old'$$);
INSERT INTO docs VALUES (7, 'The text of a letter', 'no');
ALTER TYPE app.state RENAME VALUE 'old' TO 'archived';
SELECT errors($$INSERT INTO docs VALUES (8, 'The text of a letter', 'no')$$);
ALTER TYPE app.state RENAME VALUE 'archived' TO 'old';

-- An index that was dropped, also the first one.
SELECT simhash_unguard('docs');
SELECT simhash_guard('docs');
DROP INDEX docs_simhash_band3_idx;
SELECT errors($$INSERT INTO docs VALUES (9, 'A text')$$);
DROP INDEX docs_simhash_band0_idx;
SELECT errors($$INSERT INTO docs VALUES (9, 'A text')$$);

-- A partition's own guard, and the guard of its table.
CREATE TABLE parted (id integer, f bigint, confirmed boolean) PARTITION BY LIST (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
SELECT simhash_attach('parted', 'f');
SELECT simhash_guard('parted_1', 'skip', source => 'f', unless => 'confirmed');
SET client_min_messages = notice;
SELECT simhash_guard('parted', source => 'f');
RESET client_min_messages;
SELECT errors($$SELECT simhash_guard('parted_1', 'skip', source => 'f')$$);
