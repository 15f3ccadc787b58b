-- The option weights, and simhash_weights, which learns its value.
SELECT feature, weight FROM simhash_features('The cat, the hat and The rat',
    '{"weights": {"THE": 0.2, "cat": 0.123456789, "hat": 0, "rat": 1, "dog": 0.5}}');

-- Features of weight 0 do not count.
SELECT simhash('w0', '{"weights": {"w0": 0}}') AS nothing_left,
    simhash('w0 w1', '{"weights": {"w0": 0}}') = simhash('w1') AS one_left,
    simhash('w0 w1', '{"weights": {}}') = simhash('w0 w1') AS no_weights,
    simhash('w0 w1', '{"weights": {"w0": 1, "x": 1.0}}') = simhash('w0 w1') AS weights_of_1;

SELECT errors($$SELECT simhash('a', '{"weights": 1}')$$, $$SELECT simhash('a', '{"weights": null}'::jsonb)$$,
    $$SELECT simhash('a', '{"weights": ["a", 0.5]}')$$, $$SELECT simhash('a', '{"weights": {"a": 1.1}}')$$,
    $$SELECT simhash('a', '{"weights": {"a": -0.1}}'::jsonb)$$, $$SELECT simhash('a', '{"weights": {"a": "0.5"}}')$$,
    $$SELECT simhash('a', '{"weights": {"A": 0.5, "a": 0.5}}')$$,
    $$SELECT simhash('a', '{"weights": {"a": 1e-1000}}')$$,
    $$SELECT simhash_near('a', 'a', ('{"weights": ' || repeat('[', 60000) || repeat(']', 60000) || '}'))$$);

-- A thousand weights are read once for all rows, and are constants of a generated column.
SELECT jsonb_build_object('weights', jsonb_object_agg('word' || n, 0.2 * (n % 5))) AS thousand
FROM generate_series(1, 1000) n \gset
CREATE TABLE weighted (id integer, body text);
INSERT INTO weighted
SELECT n, 'word' || n || ' word' || n + 1 || ' text' || n || ' text' FROM generate_series(1, 20000) n;
SELECT simhash_attach('weighted', 'body', options => :'thousand');
SELECT count(*), bool_and(simhash = simhash(body, :'thousand'::jsonb)) AS jsonb FROM weighted;

-- 250 weights of words that do not compress fit into the row of an index.
SELECT jsonb_build_object('weights', jsonb_object_agg(left(md5(n::text), 8), 0.8)) AS hundreds
FROM generate_series(1, 250) n \gset
SELECT length(:'hundreds') AS bytes;
SELECT simhash_index('weighted', 'body', options => :'hundreds', bands => 1);

-- simhash_weights: the features of most texts weigh least. Of 100 texts all have "the", half "even" or "odd", a tenth a
-- digit: ln(1 + ln(100 / (1 + df))) / ln(1 + ln(100 / 2)) is 0, .32 and .73.
CREATE TEMP TABLE docs AS
SELECT n, 'The text' || n || CASE WHEN n % 2 = 0 THEN ' even ' ELSE ' odd ' END || n % 10 || ' the' AS body
FROM generate_series(1, 100) n;
SELECT simhash_weights(body, '{}') FROM docs;
SELECT simhash_weights(body, '{"weight": "tf", "weights": {"the": 0}}') = simhash_weights(body, '{}') AS no_effect,
    simhash_weights(body, '{"seed": 1}') = simhash_weights(body, '{}') AS seed FROM docs;
SELECT simhash_weights(body, '{}' ORDER BY n DESC) = simhash_weights(body, '{}' ORDER BY n) AS any_order FROM docs;
SELECT simhash_weights(body, '{}') = (SELECT simhash_weights(body, '{}') FROM docs) AS copies_do_not_matter
FROM (SELECT body FROM docs UNION ALL SELECT body FROM docs WHERE n < 50 UNION ALL VALUES (NULL), ('')) AS more;
-- The sample of more than 300 texts is the same in any order.
SELECT simhash_weights(body, '{}') = simhash_weights(body, '{}' ORDER BY n DESC) AS sampled
FROM (SELECT m, body || m % 7 FROM docs, generate_series(1, 9) AS more (m)) AS many (n, body);
-- Without texts to learn from, the result has no weights.
SELECT simhash_weights(body, '{}') AS no_rows FROM docs WHERE false;
SELECT simhash_weights(NULL, '{}') AS no_texts, simhash_weights('', '{}') AS no_words,
    simhash_weights('a b', '{}') AS one_text FROM docs;
SELECT n % 2 AS odd, simhash_weights(body, '{}') FROM docs GROUP BY n % 2 ORDER BY 1;
-- The result is a value of the option. It fits into an index, whatever the features are.
SELECT count(simhash(body, jsonb_build_object('weights', weights))) AS fingerprints
FROM docs, (SELECT simhash_weights(body, '{}') FROM docs) AS learnt (weights);
CREATE TABLE hashes AS SELECT n || ' ' || string_agg(md5(word::text), ' ') AS body
FROM generate_series(1, 20) AS n, generate_series(1, 400) AS word GROUP BY n;
SELECT jsonb_build_object('weights', simhash_weights(body, '{}')) AS options FROM hashes \gset
SELECT count(*) FROM jsonb_object_keys(:'options'::jsonb -> 'weights');
SELECT simhash_index('hashes', 'body', :'options', bands => 1);

SELECT errors($$SELECT simhash_weights(body, NULL) FROM docs$$,
    $$SELECT simhash_weights(body, jsonb_build_object('seed', n)) FROM docs$$,
    $$SELECT simhash_weights(body, '{"ngrams": 2}') FROM docs$$);
