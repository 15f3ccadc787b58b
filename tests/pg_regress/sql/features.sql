-- simhash_features: the features that a fingerprint was made of, in the order of the text.
SELECT * FROM simhash_features('The cat, the CAT and 2 dogs.');
SELECT * FROM simhash_features('to be or not to be', '{"weight": "tf"}');
-- Four characters in a row, without spaces between words.
SELECT string_agg(feature, ' ') FROM simhash_features('Python is sexy', '{"tokens": "chars", "ngram": 4}');

-- A text without features gives no row, and neither does NULL.
SELECT (SELECT count(*) FROM simhash_features('?!')) AS separators,
    (SELECT count(*) FROM simhash_features(NULL)) AS no_text,
    (SELECT count(*) FROM simhash_features('a', NULL)) AS no_options;

-- In a select list, the set is repeated for each row.
SELECT n, simhash_features('one two') FROM generate_series(1, 2) n;
-- With LIMIT, only the first row is asked for.
SELECT simhash_features('one two three') LIMIT 1;
