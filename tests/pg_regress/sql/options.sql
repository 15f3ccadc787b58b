-- simhash(text, options). The numbers come from simhash/tests/golden/reference.py.
CREATE TEMP TABLE options (options jsonb PRIMARY KEY);
INSERT INTO options VALUES
    ('{}'), ('{"tokens": "words"}'), ('{"tokens": "chars"}'), ('{"ngram": 1}'), ('{"ngram": 2}'), ('{"ngram": 16}'),
    ('{"weight": "set"}'), ('{"weight": "log"}'), ('{"weight": "tf"}'), ('{"case_fold": true}'),
    ('{"case_fold": false}'),
    ('{"top": 1}'), ('{"top": 5}'), ('{"top": 4294967295}'), ('{"weight": "tf", "top": 3}'),
    ('{"weight": "log", "top": 4}'),
    ('{"tokens": "chars", "ngram": 1, "weight": "tf"}'), ('{"tokens": "chars", "ngram": 9, "case_fold": false}'),
    ('{"tokens": "chars", "ngram": 2, "weight": "log", "case_fold": false, "top": 7}');
SELECT options, simhash('To be, or not to be: that is the question. 生存か死か、それが問題だ。To sleep, to Dream.', options)
FROM options ORDER BY options::text;

-- For every option, the array of the features with their weights has the same fingerprint; so has the array of the
-- features alone, if all weigh the same.
CREATE TEMP TABLE texts AS
SELECT string_agg(word, ' ' ORDER BY n) AS body
FROM (SELECT n, n % 10, CASE n % 4 WHEN 0 THEN '検索' WHEN 1 THEN 'Word' ELSE '' END || n * n % 89
      FROM generate_series(1, 600) n) AS words (n, document, word)
GROUP BY document
UNION ALL VALUES (''), ('!'), ('a'), ('ab'), ('あ'), ('あいう'), ('Ⅷ ½ ﬃ'), ('a b a b A B');
SELECT options, count(*), count(simhash(body, options)) AS with_features,
    bool_and(simhash(body, options) IS NOT DISTINCT FROM weighted) AS weighted_array,
    bool_and(simhash(body, options) IS NOT DISTINCT FROM plain) FILTER (WHERE same_weights) AS array,
    bool_and(number <= (options -> 'top')::bigint) AS within_top
FROM options, texts, LATERAL (
    SELECT simhash(array_agg(feature), array_agg(weight)), simhash(array_agg(feature)),
        count(DISTINCT weight) <= 1, count(*)
    FROM simhash_features(body, options)) AS features (weighted, plain, same_weights, number)
GROUP BY options ORDER BY options::text;

-- Options written out with their default values change nothing.
SELECT bool_and(simhash(body) IS NOT DISTINCT FROM simhash(body, written)) AS default_words
FROM texts, (VALUES (jsonb '{}'), ('{"tokens": "words", "weight": "set", "case_fold": true}')) AS defaults (written);
SELECT bool_and(simhash(body, '{"tokens": "chars"}') IS NOT DISTINCT FROM simhash(body, written)) AS default_chars
FROM texts, (VALUES (jsonb '{"ngram": 4, "tokens": "chars"}')) AS defaults (written);

-- A literal, a text value, a jsonb value, and parameters with and without a type.
PREPARE untyped AS SELECT simhash($1, $2);
PREPARE typed (text, jsonb) AS SELECT simhash($1, $2);
SELECT simhash('to be or not', '{"ngram": 2}') AS literal, simhash('to be or not', '{"ngram": 2}'::text) AS text,
    simhash('to be or not', '{"ngram": 2}'::jsonb) AS jsonb,
    simhash('to be or not', options => '{"ngram": 2}') AS named,
    simhash('to be or not', jsonb_build_object('ngram', 2)) AS built;
EXECUTE untyped ('to be or not', '{"ngram": 2}');
EXECUTE typed ('to be or not', '{"ngram": 2}');

-- Different options in each row, alternating.
SELECT n, simhash('to be or not', jsonb_build_object('ngram', 1 + n % 2)) FROM generate_series(1, 4) n;

-- NULL in, NULL out.
SELECT simhash(NULL::text, '{}'::jsonb) IS NULL AND simhash('a', NULL::jsonb) IS NULL
    AND simhash(NULL::text, '{}'::text) IS NULL AND simhash('a', NULL::text) IS NULL AS nulls;

-- Options mean the same as jsonb and as text: numbers count by value, and of a repeated key the last one. The errors
-- are the same too, but for the value, which is shown as it is written.
CREATE FUNCTION pg_temp.outcome(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    result text;
BEGIN
    EXECUTE statement INTO result;
    RETURN result;
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
SELECT document, outcome, split_part(outcome, ': ', 1) = split_part(as_jsonb, ': ', 1) AS same
FROM unnest(ARRAY['{"ngram": 2.0}', '{"ngram": 0.02e2}', '{"top": 1e3}', '{"top": 4.294967295E+9}', '{"top": 3000e-3}',
    '{"ngram": 9, "ngram": 2}', '{"ngram": 2, "ngram": 99}', '{"ngram": 2.50}', '{"ngram": 25e-1}', '{"top": -0}',
    '{"top": -1e3}', '{"top": 18446744073709551616}', '{"top": 4294967295.0000000000000000000000001}',
    '{"top": 1e30}', '{"top": 1e400}', '{"top": 1e-400}', '{"tokens": ["a", 1e3, {"b": 2.50, "a": null}]}',
    '{"case_fold": null}', '{"weight": 1e0}', '{"a": 1, "tops": 2}', '1e3', '[]']) AS document,
    LATERAL (SELECT pg_temp.outcome(format('SELECT simhash(''to be or not to be'', %L::text)', document)),
        pg_temp.outcome(format('SELECT simhash(''to be or not to be'', %L::jsonb)', document))
    ) AS outcomes (outcome, as_jsonb);

-- The comment lists the options that the error lists: none is missing.
SELECT count(*), string_agg(option[1], ' ') FILTER (WHERE obj_description('simhash(text, jsonb)'::regprocedure, 'pg_proc')
    !~ ('\m' || option[1] || '\M')) AS missing
FROM errors($$SELECT simhash('a', '{"": 1}'::jsonb)$$) AS line, regexp_matches(line, '"(\w+)"', 'g') AS option
WHERE line ~ 'HINT';
