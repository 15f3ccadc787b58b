-- simhash(text, options). What each option does is in the golden vectors, which pg_test computes in SQL too.

-- Options written out with their default values change nothing.
SELECT simhash(body, '{"tokens": "words", "weight": "set", "case_fold": true}') = simhash(body) AS words,
    simhash(body, '{"ngram": 4, "tokens": "chars"}') = simhash(body, '{"tokens": "chars"}') AS chars
FROM (VALUES ('To be, or not to be: that is the question. 生存か死か、それが問題だ。')) AS texts (body);

-- A literal, a jsonb value, and parameters with and without a type.
PREPARE untyped AS SELECT simhash($1, $2);
PREPARE typed (text, jsonb) AS SELECT simhash($1, $2);
SELECT simhash('to be or not', '{"ngram": 2}') AS literal, simhash('to be or not', '{"ngram": 2}'::jsonb) AS jsonb,
    simhash('to be or not', options => '{"ngram": 2}') AS named,
    simhash('to be or not', jsonb_build_object('ngram', 2)) AS built;
EXECUTE untyped ('to be or not', '{"ngram": 2}');
EXECUTE typed ('to be or not', '{"ngram": 2}');

SELECT simhash(NULL::text) IS NULL AND simhash(NULL, '{}') IS NULL AND simhash('a', NULL) IS NULL AS nulls;

-- A criterion has options as jsonb or as text, where they mean the same: numbers count by value, and of a repeated key
-- the last one. The errors are the same too, but for the value, which is shown as it is written.
CREATE FUNCTION pg_temp.near_by(options text) RETURNS text LANGUAGE sql RETURN value_or_error(
    format('SELECT simhash_near(''to be or not to be'', ''to be or not to be'', %s)', options));
SELECT document, as_text, split_part(as_text, ': ', 1) = split_part(as_jsonb, ': ', 1) AS same
FROM unnest(ARRAY['{"ngram": 2.0}', '{"ngram": 0.02e2}', '{"seed": 1e3}', '{"seed": 4.294967295E+9}',
    '{"seed": 3000e-3}',
    '{"ngram": 9, "ngram": 2}', '{"ngram": 2, "ngram": 99}', '{"ngram": 2.50}', '{"ngram": 25e-1}', '{"seed": -0}',
    '{"seed": -1e3}', '{"seed": 18446744073709551616}', '{"seed": 4294967295.0000000000000000000000001}',
    '{"seed": 1e30}', '{"seed": 1e400}', '{"seed": 1e-400}', '{"tokens": ["a", 1e3, {"b": 2.50, "a": null}]}',
    '{"case_fold": null}', '{"weight": 1e0}', '{"a": 1, "tops": 2}', '1e3', '[]']) AS document,
    LATERAL (SELECT pg_temp.near_by(format('%L::text', document)), pg_temp.near_by(format('%L::jsonb', document)))
        AS results (as_text, as_jsonb);

-- The comment lists the options that the error lists: none is missing.
SELECT count(*), string_agg(option[1], ' ')
    FILTER (WHERE obj_description('simhash(text, jsonb)'::regprocedure, 'pg_proc') !~ ('\m' || option[1] || '\M'))
    AS missing
FROM errors($$SELECT simhash('a', '{"": 1}'::jsonb)$$) AS line, regexp_matches(line, '"(\w+)"', 'g') AS option
WHERE line ~ 'HINT';
