-- Bad input: an error with a SQLSTATE, the reason, the wrong value, and a hint if the user can act.
CREATE FUNCTION pg_temp.errors(VARIADIC expressions text[]) RETURNS SETOF text LANGUAGE sql AS $$
    SELECT regexp_replace(line, '^SELECT ', '')
    FROM errors(VARIADIC ARRAY(SELECT 'SELECT ' || unnest(expressions))) AS line
$$;

-- Unknown options, as jsonb and as text, in every function.
SELECT pg_temp.errors(
    $$simhash('a', '{"ngrams": 2}'::jsonb)$$, $$simhash('a', '{"ngrams": 2}')$$,
    $$simhash_features('a', '{"ngrams": 2}')$$, $$simhash_resemblance('a', 'a', '{"ngrams": 2}')$$,
    $$simhash('a', '{"": 1}')$$, $$simhash('a', '{"Tokens": "words"}')$$,
    $$simhash('', '{"ngrams": 2}')$$, $$simhash('a', '{"ngram": 2, "é\"\\": null}')$$);
-- Values of options that are out of range, or of another type.
SELECT pg_temp.errors(
    $$simhash('a', '{"tokens": "letters"}')$$, $$simhash('a', '{"tokens": ["words"]}'::jsonb)$$,
    $$simhash('a', '{"ngram": 17}'::jsonb)$$, $$simhash('a', '{"ngram": 2.5}'::jsonb)$$,
    $$simhash('a', '{"ngram": null}')$$, $$simhash('a', '{"ngram": 99999999999999999999999999}'::jsonb)$$,
    $$simhash('a', '{"weight": "idf"}')$$, $$simhash('a', '{"weight": {"a": 1}}'::jsonb)$$,
    $$simhash('a', '{"case_fold": 1}')$$, $$simhash('a', '{"case_fold": null}')$$);
-- Options must be an object.
SELECT pg_temp.errors(
    $$simhash('a', '[]'::jsonb)$$, $$simhash('a', '"ngram"'::jsonb)$$, $$simhash('a', 'null')$$, $$simhash('a', '3')$$,
    $$simhash_features('a', '[{"ngram": 2}]')$$);
-- A criterion as text is parsed by the extension.
SELECT pg_temp.errors(
    $$simhash_near('a', 'a', ''::text)$$, $$simhash_near('a', 'a', 'ngram=2'::text)$$,
    $$simhash_near('a', 'a', '{"ngram": 2'::text)$$, $$simhash_near('a', 'a', '{"ngram": 2} {}'::text)$$);
-- Options that are too long to be read, even if only because of spaces.
SELECT pg_temp.errors(
    $$simhash_near('a', 'a', repeat(' ', 131073))$$, $$simhash('a', jsonb_build_object(repeat('a', 140000), 1))$$,
    $$simhash('a', to_jsonb(array_fill(1, ARRAY[1000000])))$$,
    $$simhash_near('a', 'a', '{"ngram": 2}' || repeat(' ', 131072 - 12))$$,
    $$simhash('a', ('[' || repeat('1e131000,', 3) || '1]')::jsonb)$$, $$simhash_headline('a', 'a', repeat(' ', 65537))$$);

-- Arrays of features and weights must have the same length, no NULL and valid weights.
SELECT pg_temp.errors(
    $$simhash_of_features(ARRAY['a', 'b'], ARRAY[1])$$, $$simhash_of_features(ARRAY['a'], ARRAY[1, 2])$$,
    $$simhash_of_features(ARRAY['a'], '{}')$$, $$simhash_of_features('{}'::text[], ARRAY[1])$$,
    $$simhash_of_features(ARRAY['a', NULL, 'c'])$$, $$simhash_of_features(ARRAY[NULL]::text[], ARRAY[1])$$,
    $$simhash_of_features(ARRAY['a', 'b'], ARRAY[NULL, 1])$$, $$simhash_of_features(ARRAY['a'], ARRAY['NaN'::float8])$$,
    $$simhash_of_features(ARRAY['a'], ARRAY['Infinity'::float8])$$,
    $$simhash_of_features(ARRAY['a'], ARRAY['-Infinity'::float8])$$, $$simhash_of_features(ARRAY['a'], ARRAY[-1])$$,
    $$simhash_of_features(ARRAY['a', 'b'], ARRAY[1, -0.5])$$, $$simhash_of_features(ARRAY['a'], ARRAY[1000000000.5])$$,
    $$simhash_of_features(ARRAY[['a', 'b'], ['c', 'd']])$$, $$simhash_of_features(ARRAY[['a']], ARRAY[1])$$,
    $$simhash_of_features(ARRAY['a'], ARRAY[[1]])$$);
-- So must the weights of aggregated rows be valid.
SELECT pg_temp.errors(
    $$simhash_agg('a', 'NaN')$$, $$simhash_agg('a', 'Infinity')$$, $$simhash_agg('a', -1)$$,
    $$simhash_agg('a', 1000000001)$$,
    $$simhash_agg(f, w) FROM (VALUES ('a', 1), ('b', -2)) AS rows (f, w)$$);
-- A layout has 2 to 8 blocks, which are numbered from 0.
SELECT pg_temp.errors(
    $$simhash_block(1, -1)$$, $$simhash_block(1, 2, 2)$$, $$simhash_block(1, 0, 9)$$, $$simhash_block(1, 0, 0)$$,
    $$simhash_block(1, -2147483648, -2147483648)$$);

-- A wrong block of a column is an error when the query is planned, with or without rows.
SELECT simhash_block(fingerprint, 4) FROM (SELECT 1::bigint WHERE false) AS none (fingerprint);
-- A wrong parameter is an error in a custom plan. A generic plan finds out only while it runs, when a leakproof
-- function must not fail: the result is NULL.
PREPARE block (bigint, int, int) AS SELECT simhash_block($1, $2, $3);
SET plan_cache_mode = force_custom_plan;
EXECUTE block (-1, 3, 4);
EXECUTE block (-1, 4, 4);
SET plan_cache_mode = force_generic_plan;
EXECUTE block (-1, 3, 4);
EXECUTE block (-1, 4, 4);
-- A valid text that is refused: its combining sequence is too long.
SELECT simhash('a' || repeat(U&'\0301', 600000));
