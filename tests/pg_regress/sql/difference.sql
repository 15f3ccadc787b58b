-- What two texts have in common: simhash_containment, and simhash_difference; and the option "same".
SELECT * FROM simhash_difference('Forty thousand tonnes in May', 'forty thousand barrels in June, in May');
-- In order of the text, with a's features first; nothing for equal sets of features.
SELECT count(*) FROM simhash_difference('to be or not to be', 'NOT to be, or?');
SELECT * FROM simhash_difference('to be or not to be', 'not to be, or', '{"weight": "tf"}');
SELECT * FROM simhash_difference('the cat', 'the dog', '{"weights": {"cat": 0.25, "dog": 0}}');
SELECT * FROM simhash_difference('天地人和', '天地人安', '{}');
SELECT * FROM simhash_difference('a b c', 'a c b', '{"ngram": 2}');
SELECT * FROM simhash_difference('', 'one');
SELECT count(*) FROM simhash_difference('', '!');
SELECT * FROM simhash_difference(NULL, 'one');

SELECT simhash_containment('to be', 'To be, or not to be') AS excerpt,
    simhash_containment('To be, or not to be', 'to be') AS whole,
    simhash_containment('a b', 'c') AS nothing, simhash_containment('a', '') AS empty,
    simhash_containment('', 'a') AS of_nothing, simhash_containment('a', NULL) AS unknown;
SELECT simhash_containment('a a a b', 'a b b', '{"weight": "tf"}') AS tf,
    simhash_containment('a b c d', 'x b c', '{"ngram": 2}') AS pairs_of_words;

-- A difference lists words alone. Containment and resemblance also have pairs of neighbouring words.
SELECT count(*) FROM simhash_difference('a b c', 'c b a');

-- A difference of long texts can be cancelled, and of a LIMIT no more rows are made.
SELECT side, feature FROM simhash_difference(repeat('a b ', 10), (SELECT string_agg(n::text, ' ')
    FROM generate_series(1, 100000) AS n)) LIMIT 3;

-- By the option "same", texts whose numbers differ, or of which one has a word, do not resemble each other. No
-- fingerprint changes.
\set same '{"same": ["numbers"]}'
SELECT simhash_resemblance('4,000 tonnes', '5,000 tonnes') AS any, simhash_resemblance('4,000 tonnes', '5,000 tonnes', :'same') AS same,
    simhash_resemblance('4,000 tonnes', '4,000: tonnes!', :'same') AS equal,
    simhash_resemblance('1 1 2', '1 2 2', :'same') AS how_often,
    simhash_resemblance('A4', 'a4 ', :'same') AS folded,
    simhash_resemblance('٣ rows', '٤ rows', :'same') AS arabic,
    simhash_resemblance('三 rows', '四 rows', :'same') AS letters,
    simhash_resemblance('17', '', :'same') AS no_word;
SELECT simhash('4,000 tonnes', :'same') = simhash('4,000 tonnes') AS fingerprint,
    simhash_wide('4,000 tonnes', 2, :'same') = simhash_wide('4,000 tonnes') AS wide,
    simhash_containment('4,000 tonnes', '5,000 tonnes', :'same') = 0.6 AS containment,
    (SELECT count(*) FROM simhash_features('4,000 tonnes', :'same')) AS features;
SELECT simhash('a', '{"same": ["a"]}') = simhash('a') AS same;
SELECT simhash_resemblance(a, b) >= .84 AS copy, simhash_resemblance(a, b, '{"same": ["not", "numbers"]}') AS same
FROM (VALUES ('Visitors are allowed to take photographs and short films in all rooms of the old castle and in its garden',
    'Visitors are not allowed to take photographs and short films in all rooms of the old castle and in its garden'))
    AS rules (a, b);
SELECT simhash('a', '{"same": "numbers"}');
\echo :LAST_ERROR_SQLSTATE
SELECT simhash('a', '{"same": ["no", "?!"]}');
-- The features of a text that is compared with many are remembered, with its numbers.
SELECT body, simhash_resemblance('invoice 17 is overdue', body, :'same')
FROM (VALUES ('invoice 17 is overdue'), ('invoice 18 is overdue'), ('Invoice: 17 is overdue'), ('invoice'))
    AS v (body);
-- Clusters and duplicates.
\set criterion '{"max_distance": 20, "resemblance": 0.8}'
CREATE TEMP TABLE invoices AS
SELECT n AS id, 'please pay the invoice with the number ' || n / 2 || ', which was due on the first of the month' AS body
FROM generate_series(2, 7) AS n;
SELECT id, simhash_cluster(id, body, :'criterion') OVER w AS any,
    simhash_cluster(id, body, :'criterion'::jsonb || :'same') OVER w AS same,
    simhash_duplicate_of(id, body, :'criterion'::jsonb || :'same') OVER w AS duplicate_of
FROM invoices WINDOW w AS (ORDER BY id) ORDER BY id;
DROP TABLE invoices;
