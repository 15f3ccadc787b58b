-- Guards that confirm near rows by their texts: simhash_guard with a resemblance.
CREATE TABLE defaults (
    id integer PRIMARY KEY, body varchar(1000), print bigint, words text[], vector tsvector, same_as integer
);
SELECT simhash_attach('defaults', 'body'), simhash_attach('defaults', 'print', prefix => 'print'),
    simhash_attach('defaults', 'words', prefix => 'words_simhash'),
    simhash_attach('defaults', 'vector', prefix => 'vector_simhash');
SELECT simhash_guard('defaults'), definition('defaults');
SELECT simhash_guard('defaults', criterion => '{"resemblance": null}'), definition('defaults');
SELECT simhash_guard('defaults', 'mark', '{"max_distance": 8, "resemblance": 0.5}', '{id}', mark_column => 'same_as'),
    definition('defaults');
-- Sources without a text: the distance decides, and to ask for a resemblance is an error.
SELECT simhash_unguard('defaults');
SELECT simhash_guard('defaults', fingerprint => 'print'), definition('defaults');
SELECT errors(
    'SELECT simhash_guard(''defaults'', fingerprint => ''print'', criterion => ''{"resemblance": 0.84}'')',
    'SELECT simhash_guard(''defaults'', fingerprint => ''print'', criterion => ''{"radii": [1, 1, 1, 1], "flips": [5, 3]}'')',
    'SELECT simhash_guard(''defaults'', fingerprint => ''words_simhash'', criterion => ''{"resemblance": 0.84}'')',
    'SELECT simhash_guard(''defaults'', fingerprint => ''vector_simhash'', criterion => ''{"resemblance": 0.84}'')',
    'SELECT simhash_guard(''defaults'', ''mark'', mark_column => ''body'')');

-- Fingerprints stored directly make the distances plain: the generated column has their value, and says from
-- which text and with which options.
CREATE TABLE texts (id integer PRIMARY KEY, f bigint, body text, same_as integer, tenant integer);
ALTER TABLE texts ADD fp bigint GENERATED ALWAYS AS (CASE WHEN true THEN f ELSE simhash(body) END) STORED;
SELECT simhash_attach('texts', 'fp');
SELECT simhash_guard('texts', fingerprint => 'fp', criterion => '{"resemblance": 0.55}'), definition('texts');
INSERT INTO texts VALUES (1, 0, 'one two three four'), (2, 1, 'five six seven eight');
-- The nearest row is not confirmed, the other one is: five of nine words and pairs.
INSERT INTO texts VALUES (3, 3, 'one two three five');
INSERT INTO texts VALUES (3, 1, 'One, two: THREE four!');
-- Two of six words; no text; no word.
INSERT INTO texts VALUES (4, 0, 'one two five six'), (5, 0, NULL), (6, 0, '...');
-- Neither text nor distance alone is enough.
INSERT INTO texts VALUES (7, -1, 'one two three four');
-- A row is not its own duplicate; an UPDATE that keeps the fingerprint is checked if it changes the text.
UPDATE texts SET tenant = 1;
UPDATE texts SET body = 'one two three four five' WHERE id = 1;
UPDATE texts SET body = 'one two three four' WHERE id = 4;
UPDATE texts SET body = 'two three four five' WHERE id = 5;
SELECT id, f, body FROM texts ORDER BY id;
-- INSERT .. ON CONFLICT does not take the row with its key for a duplicate, and checks the UPDATE.
INSERT INTO texts VALUES (1, 0, 'one two three four six') ON CONFLICT (id) DO UPDATE SET body = excluded.body;
INSERT INTO texts VALUES (2, 0, 'One TWO five six!') ON CONFLICT (id) DO UPDATE SET body = excluded.body, f = excluded.f;
-- skip, and what one statement stores.
SELECT simhash_guard('texts', 'skip', fingerprint => 'fp', criterion => '{"resemblance": 0.55}');
INSERT INTO texts VALUES (8, 0, 'one two three four six'), (9, 0, 'red green blue'), (10, 0, 'Red, green: blue'), (11, 0, 'red')
RETURNING id, body;
-- mark: of several confirmed rows, one that is not marked itself, however far; then the nearest.
SELECT simhash_guard('texts', 'mark', '{"max_distance": 6, "resemblance": 0.55}', '{tenant}', mark_column => 'same_as',
    fingerprint => 'fp');
TRUNCATE texts;
INSERT INTO texts (id, f, body) VALUES (1, 0, 'one two three four'), (2, 7, 'one two three four'),
    (3, 7, 'one two three five'), (4, 0, 'one two seven eight'), (5, 3, 'one two eight seven') RETURNING id, same_as;
INSERT INTO texts VALUES (6, 7, 'one two three four', NULL, 1) RETURNING id, same_as;
INSERT INTO texts VALUES (7, x'3f'::bigint, 'one two three four six') RETURNING id, same_as;

-- A resemblance of 1 asks for the same features, and of 0 for nothing but a text with a feature.
SELECT simhash_guard('texts', fingerprint => 'fp', criterion => '{"resemblance": 1}');
TRUNCATE texts;
INSERT INTO texts VALUES (1, 0, 'one two'), (2, 0, 'one two three'), (3, 0, '');
INSERT INTO texts VALUES (4, 0, 'One: two!');
SELECT simhash_guard('texts', fingerprint => 'fp', criterion => '{"resemblance": 0}');
INSERT INTO texts VALUES (4, 0, 'four');
INSERT INTO texts VALUES (4, 0, '');

-- The source of an expression, with options, and its columns.
CREATE TABLE pages (id integer PRIMARY KEY, title text, body varchar(200), print bigint GENERATED ALWAYS AS (
    simhash(title || ' ' || body, '{"ngram": 2}'::jsonb)) STORED, views integer DEFAULT 0);
SELECT simhash_attach('pages', 'print'), simhash_guard('pages', fingerprint => 'print'), definition('pages');
INSERT INTO pages VALUES (1, 'One', 'two three four five six'), (2, 'Six', 'five four three two one');
INSERT INTO pages VALUES (3, 'one two', 'three FOUR five six');
UPDATE pages SET views = 1;
UPDATE pages SET title = 'one two', body = 'three four five six' WHERE id = 2;
-- Renamed columns.
ALTER TABLE pages RENAME body TO content;
INSERT INTO pages VALUES (3, 'one two', 'three FOUR five six');

-- Long texts, stored out of line or compressed, and texts of partitions with other column numbers.
CREATE TABLE long (id integer, body text, simhash bigint, part integer, PRIMARY KEY (id, part)) PARTITION BY LIST (part);
CREATE TABLE long_1 PARTITION OF long FOR VALUES IN (1);
CREATE TABLE long_2 (part integer NOT NULL, gone integer, simhash bigint, body text, id integer NOT NULL);
ALTER TABLE long_2 DROP gone;
ALTER TABLE long ATTACH PARTITION long_2 FOR VALUES IN (2);
ALTER TABLE long_2 ALTER body SET STORAGE EXTERNAL;
ALTER TABLE long ADD fp bigint GENERATED ALWAYS AS (CASE WHEN true THEN simhash ELSE simhash(body) END) STORED;
SELECT simhash_attach('long', 'fp'), simhash_guard('long', fingerprint => 'fp');
CREATE FUNCTION words(first integer, last integer) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(md5(n::text), ' ') FROM generate_series(first, last) AS n
$$;
SET default_toast_compression = 'pglz';
INSERT INTO long VALUES (1, words(1, 1000), 0, 1), (2, words(1001, 2000), 0, 2);
SELECT tableoid::regclass, pg_column_size(body) FROM long WHERE id IN (1, 2) ORDER BY id;
INSERT INTO long VALUES (3, words(1031, 2000), 1, 1);
INSERT INTO long VALUES (3, words(31, 1000), 1, 2);
INSERT INTO long VALUES (3, words(601, 1600), 1, 1);
UPDATE long SET part = 2 WHERE id = 1;
UPDATE long SET part = 1, body = words(2, 1001) WHERE id = 1;
DELETE FROM long WHERE id = 2;
INSERT INTO long VALUES (2, words(1001, 2000), 0, 1);
SELECT id, part, length(body) FROM long ORDER BY id;

-- A row that is being stored counts only if its text resembles the new one.
CREATE TABLE nested (id integer PRIMARY KEY, f bigint, body text, inner_body text);
ALTER TABLE nested ADD fp bigint GENERATED ALWAYS AS (CASE WHEN true THEN f ELSE simhash(body) END) STORED;
SELECT simhash_attach('nested', 'fp'), simhash_guard('nested', fingerprint => 'fp');
CREATE FUNCTION insert_inner() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN INSERT INTO nested VALUES (new.id + 100, new.f, new.inner_body); RETURN new; END $$;
CREATE TRIGGER zzzz_inner BEFORE INSERT ON nested FOR EACH ROW WHEN (new.inner_body <> '')
    EXECUTE FUNCTION insert_inner();
INSERT INTO nested VALUES (1, 0, 'the outer text', 'another text');
INSERT INTO nested VALUES (2, -1, 'the outer text', 'the OUTER text');
\echo :LAST_ERROR_SQLSTATE
SELECT id, body FROM nested ORDER BY id;
-- Another row with its fingerprint, stored and deleted meanwhile, is not taken for the row that is being stored.
CREATE OR REPLACE FUNCTION insert_inner() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO nested VALUES (new.id + 100, new.f, 'other words');
    DELETE FROM nested WHERE id = new.id + 100;
    INSERT INTO nested VALUES (new.id + 200, new.f, new.inner_body);
    RETURN new;
END
$$;
INSERT INTO nested VALUES (3, x'00ff00ff00ff00ff'::bigint, 'the outer text', 'the OUTER text');
INSERT INTO nested VALUES (4, x'00ff00ff00ff00ff'::bigint, 'the outer text', 'a third text');
SELECT id, body FROM nested ORDER BY id;

-- Short texts have no fingerprint, by the expression of the column.
CREATE TABLE long_only (id integer PRIMARY KEY, body text,
    simhash bigint GENERATED ALWAYS AS (CASE WHEN length(body) > 10 THEN simhash(body) END) STORED);
SELECT simhash_attach('long_only', 'simhash', prefix => 'b'), simhash_guard('long_only'), definition('long_only');
INSERT INTO long_only VALUES (1, 'a text'), (2, 'a text'), (3, 'a text that is long');
SELECT errors('INSERT INTO long_only VALUES (4, ''A text that is long'')');
-- A column that is no longer made from a text.
ALTER TABLE long_only ALTER simhash DROP EXPRESSION;
SELECT errors('INSERT INTO long_only VALUES (4, ''a text'')',
    'SELECT simhash_guard(''long_only'', criterion => ''{"resemblance": 0.84}'')');

-- A guard that reads the entries of similar sizes alone marks the same rows as one that reads all. Sizes differ, and some
-- are just at the limit.
CREATE TABLE sized (id integer PRIMARY KEY, body text, original integer);
CREATE TABLE unsized (id integer PRIMARY KEY, body text, original integer);
CREATE TABLE alone (id integer PRIMARY KEY, body text, original integer);
SELECT simhash_attach('sized', 'body'), simhash_attach('unsized', 'body'), simhash_attach('alone', 'body', columns => false);
DROP INDEX unsized_simhash_block0_idx, unsized_simhash_block1_idx, unsized_simhash_block2_idx, unsized_simhash_block3_idx;
SELECT format('CREATE INDEX ON unsized (simhash_block%s) INCLUDE (simhash)', block) FROM generate_series(0, 3) AS block \gexec
SELECT simhash_guard(guarded, 'mark', mark_column => 'original') FROM unnest('{sized,unsized,alone}'::regclass[]) AS guarded;
CREATE TABLE uneven AS
SELECT n AS id, (SELECT string_agg(md5(n / 20 || ' ' || word), ' ') FROM generate_series(1, 60 - n % 20) AS word) AS body
FROM generate_series(1, 400) AS n;
INSERT INTO sized SELECT * FROM uneven;
INSERT INTO unsized SELECT * FROM uneven;
INSERT INTO alone SELECT * FROM uneven;
SELECT s.original IS NOT NULL AS marked, count(*),
    bool_and((u.original IS NULL) = (s.original IS NULL) AND (a.original IS NULL) = (s.original IS NULL)) AS same
FROM sized AS s JOIN unsized AS u USING (id) JOIN alone AS a USING (id) GROUP BY marked ORDER BY marked;
-- Many probes.
SET client_min_messages = notice;
CREATE TABLE halves (id integer PRIMARY KEY, body text);
SELECT simhash_attach('halves', 'body', blocks => 2), simhash_guard('halves', criterion => '{"radii": []}');
