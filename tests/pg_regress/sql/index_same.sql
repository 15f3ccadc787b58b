-- Indexes on bands with the option "same": texts that differ in what must be the same share no band.
CREATE TABLE letters (id integer PRIMARY KEY, body text);
INSERT INTO letters SELECT n, 'Dear customer, our records show that invoice ' || n / 2
    || ' has not been paid, although it was due two weeks ago. '
    'Please send the amount to the account named below, or write to us if you have done so already.'
FROM generate_series(2, 2001) AS n;
SELECT body FROM letters WHERE id = 700 \gset
\set criterion '{"same": ["numbers"]}'
SELECT count(DISTINCT simhash_band(body, 0)) AS plain,
    count(DISTINCT simhash_band(body, 0, :'criterion')) AS with_numbers,
    count(DISTINCT simhash_band(body, 0, '{"same": ["invoice"]}')) AS with_a_word
FROM letters WHERE body LIKE '% 350 %' OR body LIKE '% 351 %';

-- A search by this criterion reads the rows with the same number alone.
SELECT simhash_index('letters', 'body', :'criterion');
ANALYZE letters;
SELECT run_lines(format('SELECT id FROM letters WHERE simhash_near(body, %L, %L)', :'body', :'criterion'),
    'Bands|Index|Heap');
SELECT plan_lines(format('SELECT id FROM letters WHERE simhash_near(body, %L, %L)', :'body', :'criterion'), 'Scan');

-- The rows are those of a sequential scan; by other criteria the indexes do not serve.
SELECT is_searched(query), same_rows(query) FROM unnest(ARRAY[
    format('SELECT id FROM letters WHERE simhash_near(body, %L, %L)', :'body', :'criterion'),
    format('SELECT id FROM letters WHERE simhash_near(body, %L, %L)', :'body',
        '{"resemblance": 0.95, "bands": 4, "same": ["numbers"]}'),
    'SELECT a.id, b.id FROM letters a JOIN letters b ON simhash_near(a.body, b.body, ''{"same": ["numbers"]}'')
        AND a.id < b.id WHERE a.id < 100']) AS query;
SELECT count(*) FROM letters WHERE simhash_near(body, :'body');
SELECT count(*) FROM letters WHERE simhash_near(body, :'body', '{"same": ["numbers", "invoice"]}');
SELECT count(*) FROM (SELECT simhash_duplicate_of(id, body) OVER (ORDER BY id) FROM letters LIMIT 1) AS other;

-- With indexes without the option in addition, which serve every criterion.
SELECT simhash_index('letters', 'body'), simhash_index('letters', 'body', :'criterion');
ANALYZE letters;
SELECT run_lines(format('SELECT id FROM letters WHERE simhash_near(body, %L, %L)', :'body', criterion), 'Index E')
FROM (VALUES ('{}'), ('{"same": ["numbers"]}'), ('{"same": ["numbers", "invoice"]}')) AS criteria (criterion);
-- The guard looks up the bands with the numbers.
SELECT errors($$SELECT simhash_guard('letters')$$);
SELECT simhash_guard('letters', 'skip', :'criterion');
INSERT INTO letters VALUES (1, :'body'), (3000, replace(:'body', '350', '9000')),
    (3001, replace(:'body', '350', '9,000')) RETURNING id;
SELECT simhash_unguard('letters');

-- If all indexes have the option, a guard has it too, and refuses another one.
DROP INDEX letters_simhash_band0_idx1, letters_simhash_band1_idx1, letters_simhash_band2_idx1,
    letters_simhash_band3_idx1, letters_simhash_band4_idx1, letters_simhash_band5_idx1;
SELECT errors($$SELECT simhash_guard('letters', 'skip', '{"same": []}')$$);
SELECT simhash_guard('letters', 'skip');
SELECT criterion FROM simhash_guards();
INSERT INTO letters VALUES (1, :'body'), (3001, replace(:'body', '350', '9,000')),
    (3002, replace(:'body', '350', '9001')) RETURNING id;
-- An UPDATE to another number, and back.
UPDATE letters SET body = replace(body, '9001', '9002') WHERE id = 3002 RETURNING id;
UPDATE letters SET body = replace(body, '9002', '9000') WHERE id = 3002 RETURNING id;
SELECT simhash_unguard('letters');

-- Partitions, of which one has indexes without the option.
CREATE TABLE parts (id integer, part integer, body text) PARTITION BY LIST (part);
CREATE TABLE part_1 PARTITION OF parts FOR VALUES IN (1);
CREATE TABLE part_2 PARTITION OF parts FOR VALUES IN (2);
SELECT simhash_index('part_1', 'body', :'criterion'), simhash_index('part_2', 'body');
SELECT simhash_guard('parts', 'skip', :'criterion');
INSERT INTO parts VALUES (1, 1, 'one two three 4'), (2, 2, 'one two three 4'), (3, 2, 'one two three 5'),
    (4, 1, 'one two three 5'), (5, 1, 'one two three 6') RETURNING id;

-- Criteria with the option and without it, on the same texts in one session.
SELECT simhash_near(a, b, :'criterion') AND simhash_near(a, b) AND simhash_near(b, a, :'criterion')
    AND simhash_near(a, b) AS near,
    simhash_band(a, 0) = simhash_band(b, 0) AND simhash_band(a, 0, :'criterion') <> simhash_band(a, 0)
        AND simhash_band(b, 0, :'criterion') = simhash_band(a, 0, :'criterion')
            AND simhash_band(a, 0) = simhash_band(b, 0) AS bands
FROM (VALUES (:'body'::text, :'body' || '.')) AS texts (a, b);
CREATE TABLE notes (id integer PRIMARY KEY, body text, near integer);
SELECT simhash_index('notes', 'body'), simhash_index('notes', 'body', :'criterion');
SELECT simhash_guard('notes', criterion => '{"same": []}');
CREATE FUNCTION write_near() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF NEW.id = 1 THEN INSERT INTO notes VALUES (2, NEW.body || ' ok'); END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER zzzz BEFORE INSERT ON notes FOR EACH ROW EXECUTE FUNCTION write_near();
INSERT INTO notes VALUES (3, :'body');
DELETE FROM notes;
SELECT errors(format('INSERT INTO notes VALUES (1, %L)', :'body')) FROM generate_series(1, 2);
