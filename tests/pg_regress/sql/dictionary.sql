-- The option tokens: "dictionary": scripts without spaces are cut into words of a dictionary.
CREATE FUNCTION pg_temp.words(content text, ngram integer DEFAULT 1) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(feature, ' | ')
    FROM simhash_features(content, jsonb_build_object('tokens', 'dictionary', 'ngram', ngram))
$$;
SELECT pg_temp.words(body), pg_temp.words(body, 2) AS pairs
FROM (VALUES ('中华人民共和国的法律'), ('数据库，人民法院'), ('東京の図書館では、コンピューターを'), ('สวัสดีประเทศไทย'),
    ('ພາສາລາວ'), ('ភាសាខ្មែរជាភាសា'), ('မြန်မာဘာသာစကား'), ('Two words'), ('龘龘'), ('法')) AS texts (body);
-- Spaced scripts are cut as by default.
SELECT
    simhash('No spaceless script here', '{"tokens": "dictionary"}') = simhash('No spaceless script here') AS as_words,
    simhash('数据库的法律', '{"tokens": "dictionary"}') = simhash(ARRAY['数据', '库', '的', '法律']) AS of_words,
    simhash('数据库的法律', '{"tokens": "dictionary", "ngram": 2}') = simhash(ARRAY['数据库', '库的', '的法律']) AS of_pairs,
    simhash('数据库的法律', '{"tokens": "dictionary", "weights": {"的": 0}}') = simhash(ARRAY['数据', '库', '法律']) AS weighted,
    simhash('', '{"tokens": "dictionary"}') AS empty;
-- Long runs are cut where words end, so that the words are the same.
SELECT count(*) AS words, sum(weight) AS occurrences, min(weight) = max(weight) AS equal
FROM simhash_features(repeat('数据库的法律', 50000), '{"tokens": "dictionary", "weight": "tf"}');
