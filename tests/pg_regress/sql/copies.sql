-- Copies and other texts, by the defaults: each statement that returns a row is wrong.

-- Eight unrelated texts of each kind, all of few different words: a guard stores all.
CREATE TABLE texts (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, kind text, body text);
SELECT simhash_index('texts', 'body'), simhash_guard('texts', 'skip');
SELECT setseed(.5);
INSERT INTO texts (kind, body)
SELECT kind, string_agg(CASE kind
    WHEN 'amounts' THEN to_char(random() * 100, 'FM00.00')
    WHEN 'hex dump' THEN lpad(to_hex((random() * 255)::integer), 2, '0')
    WHEN 'timetable' THEN to_char(time '05:00' + (random() * 1000)::integer * interval '1 minute', 'HH24:MI')
    WHEN 'chess' THEN (ARRAY['e4', 'e5', 'Nf3', 'Nc6', 'Bb5', 'a6', 'Ba4', 'Nf6', 'O-O', 'Be7', 'Re1', 'b5',
        'Bb3', 'd6', 'c3', 'h3', 'Nb8', 'd4', 'Nbd7', 'Bb7', 'Bc2', 'Re8', 'Nf1', 'Bf8', 'Ng3', 'g6', 'a4',
        'c5', 'd5', 'c4'])[1 + (random() * 29)::integer]
    WHEN 'codons' THEN translate(lpad((random() * 333)::integer::text, 3, '0'), '0123456789', 'ACGTACGTAC')
    WHEN 'addresses' THEN format('%s.%s.%s.%s', (random() * 255)::integer, (random() * 255)::integer,
        (random() * 255)::integer, (random() * 255)::integer)
    END, ' ')
FROM (VALUES ('amounts', 300), ('hex dump', 4096), ('timetable', 200), ('chess', 150), ('codons', 600),
    ('addresses', 700))
        AS kinds (kind, length),
    generate_series(1, 8) AS copy, LATERAL generate_series(1, length) GROUP BY kind, copy;
SELECT kind, count(*) FROM texts GROUP BY kind HAVING count(*) < 8;
-- A copy of each kind but chess is skipped.
INSERT INTO texts (kind, body) SELECT kind, body || ' end' FROM texts WHERE kind <> 'chess' RETURNING kind;

-- Wrong values of the option "ignore" are refused.
SELECT errors($$SELECT simhash('a', '{"ignore": "urls"}')$$, $$SELECT simhash('a', '{"ignore": ["urls", "words"]}')$$);
