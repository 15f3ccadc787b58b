-- The common part of two texts (simhash_containment), their difference (simhash_difference), and the option "same".
SELECT * FROM simhash_difference('Forty thousand tonnes in May', 'forty thousand barrels in June, in May');
-- In order of the text, with a's features first; nothing for equal sets of features.
SELECT count(*) FROM simhash_difference('to be or not to be', 'NOT to be, or?');
SELECT * FROM simhash_difference('to be or not to be', 'not to be, or', '{"weight": "tf"}');
SELECT * FROM simhash_difference('the cat', 'the dog', '{"weights": {"cat": 0.25, "dog": 0}}');
SELECT * FROM simhash_difference('a b c', 'a c b', '{"ngram": 2}');
SELECT * FROM simhash_difference(NULL, 'one');

SELECT simhash_containment('to be', 'To be, or not to be') AS excerpt,
    simhash_containment('To be, or not to be', 'to be') AS whole,
    simhash_containment('a b', 'c') AS nothing, simhash_containment('a', '') AS empty,
    simhash_containment('', 'a') AS of_nothing, simhash_containment('a', NULL) AS unknown;
SELECT simhash_containment('a a a b', 'a b b', '{"weight": "tf"}') AS tf,
    simhash_containment('a b c d', 'x b c', '{"ngram": 2}') AS pairs_of_words;

-- The option "same" changes no fingerprint. (What it means for a resemblance: simhash/tests/resemblance.rs.)
\set same '{"same": ["numbers"]}'
SELECT simhash('4,000 tonnes', :'same') = simhash('4,000 tonnes') AS fingerprint,
    simhash_containment('4,000 tonnes', '5,000 tonnes', :'same') = 0.6 AS containment,
    (SELECT count(*) FROM simhash_features('4,000 tonnes', :'same')) AS features;
SELECT errors($$SELECT simhash('a', '{"same": "numbers"}')$$);
SELECT simhash('a', '{"same": ["no", "?!"]}');
SELECT simhash('a', '{"same": ["number"]}');
-- A text is compared with several others, including its numbers.
SELECT body, simhash_resemblance('invoice 17 is overdue', body, :'same')
FROM (VALUES ('invoice 17 is overdue'), ('invoice 18 is overdue'), ('Invoice: 17 is overdue'), ('invoice'))
    AS v (body);
