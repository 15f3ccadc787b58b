-- simhash_features: the features that a fingerprint was made of, in the order of the text. Checked against
-- simhash/tests/golden/reference.py.
SELECT * FROM simhash_features('The cat, the CAT and 2 dogs.');
SELECT * FROM simhash_features('The cat, the CAT and 2 dogs.', '{"case_fold": false, "weight": "tf"}');
SELECT * FROM simhash_features('to be or not to be', '{"ngram": 2, "weight": "log"}');
SELECT * FROM simhash_features('to be or not to be', '{"weight": "tf", "top": 2}');
SELECT * FROM simhash_features('東京の図書館で、本を3冊 read した');
-- Manku's textbook shingles.
SELECT string_agg(feature, ' ') FROM simhash_features('Python is sexy', '{"tokens": "chars", "ngram": 4}');

-- A text without features gives no row, and neither does NULL.
SELECT (SELECT count(*) FROM simhash_features('?!')) AS separators,
    (SELECT count(*) FROM simhash_features(NULL)) AS no_text,
    (SELECT count(*) FROM simhash_features('a', NULL)) AS no_options;

-- A feature's hash is the fingerprint of that feature alone.
SELECT count(*), count(DISTINCT feature), bool_and(hash = simhash(ARRAY[feature])) AS same
FROM generate_series(1, 50) n, simhash_features(repeat('word' || n || ' 検索する文 ', 3) || n);

-- The columns' names and types.
SELECT pg_typeof(feature) AS feature, pg_typeof(weight) AS weight, pg_typeof(hash) AS hash FROM simhash_features('a');

-- In a select list; read only in part; in a join.
SELECT n, simhash_features('one two') FROM generate_series(1, 2) n;
SELECT simhash_features('one two three') LIMIT 1;
SELECT count(*) FROM (SELECT simhash_features(string_agg('w' || n, ' '))
    FROM generate_series(1, 5000) n LIMIT 10) AS first;
SELECT body, feature
FROM (VALUES (1, 'b a'), (2, NULL), (3, '-'), (4, 'c')) AS documents (id, body)
    LEFT JOIN LATERAL simhash_features(body) ON true
ORDER BY id, feature;
SELECT count(*), sum(weight) FROM simhash_features(repeat('a b ', 100000), '{"weight": "tf"}');
