-- Guards of texts: rows that share a band, and have near fingerprints, are confirmed by their resemblance.

-- A criterion with enough bands finds all texts that resemble each other a little.
CREATE TABLE texts (id integer PRIMARY KEY, body text, same_as integer, tenant integer);
SELECT simhash_index('texts', 'body', bands => 64);
SELECT simhash_guard('texts', criterion => '{"resemblance": 0.55, "bands": 64}'), definition('texts');
INSERT INTO texts VALUES (1, 'one two three four'), (2, 'five six seven eight');
-- Five of nine words and pairs; all of them.
INSERT INTO texts VALUES (3, 'one two three five');
INSERT INTO texts VALUES (3, 'One, two: THREE four!');
-- Three of eleven; no text; no word.
INSERT INTO texts VALUES (4, 'one two five six'), (5, NULL), (6, '...');
-- A row is not its own duplicate; an UPDATE is checked if it changes the text.
UPDATE texts SET tenant = 1;
UPDATE texts SET body = 'one two three four five' WHERE id = 1;
SELECT errors($$UPDATE texts SET body = 'one two three four' WHERE id = 4$$,
    $$UPDATE texts SET body = 'two three four five' WHERE id = 5$$);
SELECT id, body FROM texts ORDER BY id;
-- INSERT .. ON CONFLICT does not take the row with its key for a duplicate, and checks the UPDATE.
INSERT INTO texts VALUES (1, 'one two three four six') ON CONFLICT (id) DO UPDATE SET body = excluded.body;
INSERT INTO texts VALUES (2, 'One TWO three four!') ON CONFLICT (id) DO UPDATE SET body = excluded.body;
-- Reject names the row with the highest resemblance; of several, the first one.
TRUNCATE texts;
ALTER TABLE texts DISABLE TRIGGER zzz_simhash_guard;
INSERT INTO texts (id, body) VALUES (9, 'one two three four five six'), (8, 'one two three four five nine'),
    (7, 'One two three four five nine'), (6, 'one two three four nine');
ALTER TABLE texts ENABLE TRIGGER zzz_simhash_guard;
INSERT INTO texts VALUES (1, 'one two three four five eight');
INSERT INTO texts VALUES (1, 'one two three four five NINE ten');
INSERT INTO texts VALUES (1, 'one two three four NINE');
-- skip leaves out what is near a stored row, or near an earlier row of the statement.
SELECT simhash_guard('texts', 'skip', '{"resemblance": 0.55, "bands": 64}');
INSERT INTO texts VALUES (10, 'one two three four six'), (11, 'red green blue'), (12, 'Red, green: blue'), (13, 'red')
RETURNING id, body;
-- mark names a row that is not marked itself, within the scope.
SELECT simhash_guard('texts', 'mark', '{"resemblance": 0.55, "bands": 64}', '{tenant}', mark_column => 'same_as');
TRUNCATE texts;
INSERT INTO texts (id, body) VALUES (1, 'one two three four'), (2, 'one two three five'), (3, 'one two three five six'),
    (4, 'three five six seven'), (5, 'three five six eight') RETURNING id, same_as;
INSERT INTO texts VALUES (6, 'one two three four', NULL, 1) RETURNING id, same_as;

-- A resemblance of 1 asks for the same features, and a small one for little but a band in common.
SELECT simhash_guard('texts', 'reject', '{"resemblance": 1, "bands": 1}', '{}');
TRUNCATE texts;
INSERT INTO texts VALUES (1, 'one two'), (2, 'one two three'), (3, '');
INSERT INTO texts VALUES (4, 'One: two!');
SELECT simhash_guard('texts', criterion => '{"resemblance": 0.01, "bands": 64}');
INSERT INTO texts VALUES (4, 'one two four');
INSERT INTO texts VALUES (4, 'four'), (5, '');

-- Renamed columns: the error says what to do.
ALTER TABLE texts RENAME body TO content;
SELECT errors('INSERT INTO texts VALUES (6, ''six'')', 'UPDATE texts SET tenant = 1',
    $$SELECT simhash_guard('texts')$$);
SELECT errors('INSERT INTO texts VALUES (6, ''FOUR'')');
CREATE TABLE pages (id integer PRIMARY KEY, title text, body text);
SELECT simhash_index('pages', '(title || '' '' || body)'), simhash_guard('pages');
ALTER TABLE pages RENAME title TO name;
SELECT fields('INSERT INTO pages VALUES (1, ''a'', ''b'')');

-- Long texts, stored out of line or compressed, and texts of partitions with other column numbers.
CREATE TABLE long (id integer, body text, part integer, PRIMARY KEY (id, part)) PARTITION BY LIST (part);
CREATE TABLE long_1 PARTITION OF long FOR VALUES IN (1);
CREATE TABLE long_2 (part integer NOT NULL, gone integer, body text, id integer NOT NULL);
ALTER TABLE long_2 DROP gone;
ALTER TABLE long ATTACH PARTITION long_2 FOR VALUES IN (2);
ALTER TABLE long_2 ALTER body SET STORAGE EXTERNAL;
SELECT simhash_index('long', 'body'), simhash_guard('long');
CREATE FUNCTION words(first integer, last integer) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(md5(n::text), ' ') FROM generate_series(first, last) AS n
$$;
SET default_toast_compression = 'pglz';
INSERT INTO long VALUES (1, words(1, 1000), 1), (2, words(1001, 2000), 2);
SELECT tableoid::regclass, pg_column_size(body) FROM long WHERE id IN (1, 2) ORDER BY id;
INSERT INTO long VALUES (3, words(1031, 2000), 1);
INSERT INTO long VALUES (3, words(31, 1000), 2);
INSERT INTO long VALUES (3, words(601, 1600), 1);
UPDATE long SET part = 2 WHERE id = 1;
UPDATE long SET part = 1, body = words(2, 1001) WHERE id = 1;
DELETE FROM long WHERE id = 2;
INSERT INTO long VALUES (2, words(1001, 2000), 1);
SELECT id, part, length(body) FROM long ORDER BY id;

-- A row that is being stored counts only if its text resembles the new one, also if a generated column has it.
CREATE TABLE nested (id integer PRIMARY KEY, body text, inner_body text,
    lowered text GENERATED ALWAYS AS (lower(body)) STORED);
SELECT simhash_index('nested', 'lowered'), simhash_guard('nested', criterion => '{"resemblance": 0.7, "bands": 6}');
CREATE FUNCTION insert_inner() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN INSERT INTO nested VALUES (new.id + 100, new.inner_body); RETURN new; END $$;
CREATE TRIGGER zzzz_inner BEFORE INSERT ON nested FOR EACH ROW WHEN (new.inner_body <> '')
    EXECUTE FUNCTION insert_inner();
INSERT INTO nested VALUES (1, 'the outer text', 'another text');
SELECT fields($$INSERT INTO nested VALUES (2, 'a second outer text of words', 'a second OUTER text of words')$$,
    'INSERT INTO nested SELECT 2, long, upper(long) FROM words(1, 4000) AS long');
SELECT id, body FROM nested ORDER BY id;
-- Another row with the same text, stored and deleted meanwhile, is not taken for the row that is being stored.
CREATE OR REPLACE FUNCTION insert_inner() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO nested VALUES (new.id + 100, 'other words');
    DELETE FROM nested WHERE id = new.id + 100;
    INSERT INTO nested VALUES (new.id + 200, new.inner_body);
    RETURN new;
END
$$;
SELECT errors($$INSERT INTO nested VALUES (3, 'a third outer text', 'a third OUTER text')$$);
INSERT INTO nested VALUES (4, 'a fourth outer text', 'a last text');
SELECT id, body FROM nested ORDER BY id;

-- Whatever the number of bands, a row stays unless it is near an earlier row that stays.
CREATE TABLE edited AS
SELECT n AS id, (SELECT string_agg(CASE WHEN (word + n * 7) % 37 = 0 THEN 'edit' || n % 40
        ELSE substr(md5(n / 6 || ' ' || word), 1, 5) END, ' ' ORDER BY word)
            FROM generate_series(1, 60 - n % 20) AS word) AS body FROM generate_series(1, 400) AS n;
CREATE TABLE guarded (id integer PRIMARY KEY, body text, original integer);
SELECT simhash_index('guarded', 'body', bands => 24);
CREATE FUNCTION near_pairs(lowest double precision, bands integer) RETURNS TABLE (a integer, b integer)
    LANGUAGE sql AS $$
    WITH banded AS MATERIALIZED (
        SELECT id, body, simhash(body) AS fp, array_agg(band || ' ' || simhash_band(body, band)) AS keys
        FROM edited, generate_series(0, bands - 1) AS band GROUP BY id, body)
    SELECT a.id, b.id FROM banded AS a JOIN banded AS b ON a.id < b.id AND a.keys && b.keys
    WHERE simhash_resemblance(a.body, b.body) >= lowest AND a.fp <~> b.fp <= CASE WHEN lowest < 0.6 THEN 64
        WHEN lowest < 0.7 THEN 28 WHEN lowest < 0.8 THEN 24 ELSE 20 END
$$;
-- For each action, the number of rows that stay unmarked, and the number of wrong decisions.
CREATE FUNCTION check_decisions(action text, criterion jsonb, lowest double precision, bands integer)
RETURNS TABLE (rows bigint, wrong bigint) LANGUAGE plpgsql AS $$
BEGIN
    TRUNCATE guarded;
    PERFORM simhash_guard('guarded', action, criterion, mark_column => CASE action WHEN 'mark' THEN 'original' END);
    INSERT INTO guarded SELECT * FROM edited ORDER BY id;
    RETURN QUERY WITH near AS MATERIALIZED (SELECT * FROM near_pairs(lowest, bands)),
        kept AS MATERIALIZED (SELECT id FROM guarded WHERE original IS NULL)
    SELECT (SELECT count(*) FROM kept), count(*) FILTER (WHERE id IN (SELECT id FROM kept)
        = EXISTS (SELECT FROM near WHERE b = id AND a IN (SELECT id FROM kept)))
    FROM edited;
END $$;
SELECT criterion, action, decisions.* FROM (VALUES ('{}'::jsonb, .84, 6), ('{"bands": 2}', .84, 2),
    ('{"resemblance": 0.7}', .7, 12), ('{"resemblance": 0.3, "bands": 24}', .3, 24)) AS v (criterion, lowest, bands),
    unnest('{skip,mark}'::text[]) AS action, LATERAL check_decisions(action, criterion, lowest, bands) AS decisions
ORDER BY lowest, bands, action;
