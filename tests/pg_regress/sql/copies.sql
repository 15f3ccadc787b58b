-- What is a copy and what is not, by the defaults: each statement that returns a row is wrong.
CREATE SCHEMA copies;
SET search_path = copies, public;
SET client_min_messages = warning;

-- Eight unrelated texts of each kind, all of few different words: a guard stores all.
CREATE TABLE texts (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, kind text, body text);
SELECT simhash_attach('texts', 'body');
SELECT simhash_guard('texts', 'skip');
SELECT setseed(.5);
INSERT INTO texts (kind, body)
SELECT kind, string_agg(CASE kind
    WHEN 'amounts' THEN to_char(random() * 100, 'FM00.00')
    WHEN 'hex dump' THEN lpad(to_hex((random() * 255)::integer), 2, '0')
    WHEN 'timetable' THEN to_char(time '05:00' + (random() * 1000)::integer * interval '1 minute', 'HH24:MI')
    WHEN 'chess' THEN (ARRAY['e4', 'e5', 'Nf3', 'Nc6', 'Bb5', 'a6', 'Ba4', 'Nf6', 'O-O', 'Be7', 'Re1', 'b5', 'Bb3', 'd6',
        'c3', 'h3', 'Nb8', 'd4', 'Nbd7', 'Bb7', 'Bc2', 'Re8', 'Nf1', 'Bf8', 'Ng3', 'g6', 'a4', 'c5', 'd5', 'c4'])
        [1 + (random() * 29)::integer]
    WHEN 'codons' THEN translate(lpad((random() * 333)::integer::text, 3, '0'), '0123456789', 'ACGTACGTAC')
    WHEN 'addresses' THEN format('%s.%s.%s.%s', (random() * 255)::integer, (random() * 255)::integer,
        (random() * 255)::integer, (random() * 255)::integer)
    END, ' ')
FROM (VALUES ('amounts', 300), ('hex dump', 4096), ('timetable', 200), ('chess', 150), ('codons', 600), ('addresses', 700))
        AS kinds (kind, length),
    generate_series(1, 8) AS copy, LATERAL generate_series(1, length)
GROUP BY kind, copy;
SELECT kind, count(*) FROM texts GROUP BY kind HAVING count(*) < 8;
-- A copy of each is skipped.
INSERT INTO texts (kind, body) SELECT kind, body || ' end' FROM texts WHERE kind <> 'chess' RETURNING kind;

-- The order of words counts.
SELECT FROM simhash_resemblance('The tenant pays the landlord', 'The landlord pays the tenant') AS found WHERE found >= .84;

-- Characters that nobody sees, optional marks, and case: pairs of equal texts.
CREATE TABLE equal (a text, b text);
INSERT INTO equal VALUES
    (U&'Die Kraft\00ADfahr\00ADzeug\00ADhaft\00ADpflicht deckt den Scha\00ADden nicht',
     'Die Kraftfahrzeughaftpflicht deckt den Schaden nicht'),
    (U&'Bu\2062y ch\2063eap w\2060atch\200Des n\034Fow', 'buy cheap watches now'),
    (U&'\0628\0650\0633\0652\0645\0650 \0627\0644\0644\0651\064E\0647\0650', U&'\0628\0633\0645 \0627\0644\0644\0647'),
    (U&'\0645\0640\0640\0631\062D\0628\0627', U&'\0645\0631\062D\0628\0627'),
    (U&'\05D1\05BC\05B0\05E8\05B5\05D0\05E9\05C1\05B4\05D9\05EA', U&'\05D1\05E8\05D0\05E9\05D9\05EA'),
    (U&'\0130STANBUL ISPARTA', U&'istanbul \0131sparta'),
    (U&'\0391\0398\0397\039D\0391', U&'\0391\03B8\03AE\03BD\03B1');
SELECT a, b FROM equal WHERE simhash(a) IS DISTINCT FROM simhash(b) OR simhash_resemblance(a, b) < 1;
SELECT FROM equal WHERE simhash('Kraft&shy;fahrzeug', '{"markup": "html"}') <> simhash('Kraftfahrzeug') LIMIT 1;

-- What the option "ignore" leaves out.
CREATE TABLE ignored (classes jsonb, a text, b text);
INSERT INTO ignored VALUES
    ('["numbers"]', '2026-01-12 12:30:01 gpg-agent[4711]: started', '2026-02-13 01:07:55 gpg-agent[815]: started'),
    ('["urls"]', 'Dear reader, unsubscribe at https://news.example/u?t=a1b2 or www.example.org/x',
     'Dear reader, unsubscribe at http://news.example/u?t=c3d4 or WWW.EXAMPLE.ORG/Y'),
    ('["accents"]', U&'\0415\0449\0451 d\00E9j\00E0 Vi\1EC7t', U&'\0415\0449\0435 deja Viet'),
    ('["accents", "numbers", "urls"]', U&'caf\00E9 12 http://a.b', 'cafe 13 http://c.d');
SELECT * FROM ignored, jsonb_build_object('ignore', classes) AS options
WHERE simhash(a, options) <> simhash(b, options) OR simhash_resemblance(a, b, options) < 1
    OR simhash(a) = simhash(b) OR simhash_resemblance(a, b) = 1;
-- Of HTML, the text is read first.
SELECT FROM simhash('<p>read https://a.b/<b>c</b></p>', '{"markup": "html", "ignore": ["urls"]}') AS found
WHERE found <> simhash('read');
SELECT simhash('a', '{"ignore": "urls"}');
SELECT simhash('a', '{"ignore": ["urls", "words"]}');

-- The same numbers: amounts, dates, versions, signs and their order, but no separators of groups.
CREATE TABLE numbers (a text, b text, same boolean);
INSERT INTO numbers VALUES
    ('pay 12.50', 'pay 50.12', false),
    ('due 2026-01-12', 'due 2026-12-01', false),
    ('release 1.2.3', 'release 1.3.2', false),
    ('it is -5 degrees', 'it is 5 degrees', false),
    ('from 10.0.0.1 to 10.0.0.7', 'from 10.0.0.7 to 10.0.0.1', false),
    ('pay 1500', 'pay 1,500', true),
    ('pay 1.500.000,25', 'pay 1,500,000.25', true);
SELECT * FROM numbers WHERE (simhash_resemblance(a, b, '{"same": ["numbers"]}') > 0) <> same;
-- A guard that compares numbers stores all of a few texts that differ in them alone.
SELECT simhash_guard('texts', 'skip', '{"same": ["numbers"]}');
INSERT INTO texts (body) SELECT repeat('Dear customer, this is your monthly account. ', 3) || a FROM numbers WHERE NOT same
UNION ALL SELECT repeat('Dear customer, this is your monthly account. ', 3) || b FROM numbers WHERE NOT same;
SELECT count(*) FROM texts WHERE kind IS NULL HAVING count(*) <> 10;
DROP SCHEMA copies CASCADE;
