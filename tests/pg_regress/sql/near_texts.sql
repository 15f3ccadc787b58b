-- simhash_near of two texts: they share a band, their fingerprints are near, and they resemble each other, by a
-- criterion. (Plans: near_texts_plans.)

SELECT simhash_near('one two three', 'One, two: THREE!'), simhash_near('one two three', 'four five six'),
    simhash_near(query => 'one', criterion => '{"resemblance": 0.9}', content => 'ONE') AS named;
-- For a text without a word, and for NULL, the result is NULL.
SELECT simhash_near(' ', 'one') AS first, simhash_near('one', '...') AS second, simhash_near('', '') AS both,
    simhash_near('one', NULL) AS null_text, simhash_near('one', 'one', NULL::jsonb) AS null_criterion,
    simhash_near('1 2', '-', '{"same": ["numbers"]}') AS second_and_same,
    simhash_near('the', 'the', '{"weights": {"the": 0}}') AS weighs_nothing;

-- Literals, values with a type, and parameters without one: each mixture means texts if one of them is a text, and
-- fingerprints if one of them is an integer.
CREATE FUNCTION types_of(call text) RETURNS regtype[] LANGUAGE plpgsql AS $$
DECLARE
    types regtype[];
BEGIN
    EXECUTE 'PREPARE untyped AS SELECT ' || call;
    types := (SELECT parameter_types FROM pg_prepared_statements WHERE name = 'untyped');
    DEALLOCATE untyped;
    RETURN types;
END
$$;
SELECT count(*) AS calls, count(*) FILTER (WHERE value_of(format('SELECT simhash_near(%s, %s%s)', a, b, c))::boolean)
    AS near
FROM unnest('{"''a b''","''a b''::text","''a b''::varchar(9)","''a b''::name"}'::text[]) AS a,
    unnest('{"''A B''","''A B''::text","''A B''::varchar(9)"}'::text[]) AS b,
    unnest('{"",", ''{}''",", ''{}''::jsonb",", ''{}''::text",", ''{}''::varchar",
        ", criterion => ''{\"bands\": 2}''"}'::text[]) AS c;
SELECT call, types_of(call)
FROM unnest('{"simhash_near($1, $2)","simhash_near($1, $2, $3)","simhash_near(''a'', $1, $2)",
    "simhash_near($1, ''a'', ''{}'')",
    "simhash_near($1::varchar, $2, $3)","simhash_near($1, $2, $3::jsonb)","simhash_near($1, $2, criterion => $3)",
    "simhash_near($1::bigint, $2)","simhash_near($1, 7, $2)","simhash_near($1, $2, 3)",
    "simhash_near($1, $2, $3::integer)",
    "simhash_near(max_distance => $3, query => $2, fingerprint => $1)"}'::text[]) AS call;

-- The definition, for texts of all degrees of resemblance. It is symmetric.
CREATE TABLE docs (id integer PRIMARY KEY, body text);
INSERT INTO docs
SELECT n, body FROM generate_series(1, 240) AS n, LATERAL (
    SELECT string_agg(CASE WHEN word * 7 % 50 < n % 12 AND word % 3 = n % 3 THEN 'edit' || n
        ELSE substr(md5(n / 6 || ' ' || word), 1, 6) END, ' ' ORDER BY word) AS body
    FROM generate_series(1, 50 - n % 6 * 2) AS word) AS text;
INSERT INTO docs VALUES (0, '...');
CREATE TABLE criteria (criterion jsonb, resemblance float8, bands integer, options jsonb DEFAULT '{}');
INSERT INTO criteria VALUES ('{}', .84, 6), ('{"resemblance": 0.8}', .8, 6), ('{"resemblance": 0.79}', .79, 12),
    ('{"resemblance": 0.7}', .7, 12), ('{"resemblance": 0.6}', .6, 24), ('{"resemblance": 0.5, "bands": 3}', .5, 3),
    ('{"bands": 1}', .84, 1), ('{"resemblance": 0.01, "bands": 64}', .01, 64), ('{"resemblance": 1}', 1, 6);
INSERT INTO criteria VALUES ('{"tokens": "chars", "resemblance": 0.7}', .7, 12, '{"tokens": "chars"}'),
    ('{"ngram": 2, "seed": 9, "resemblance": 0.6}', .6, 24, '{"ngram": 2, "seed": 9}'),
    ('{"weights": {"edit7": 0.1}, "weight": "tf"}', .84, 6, '{"weights": {"edit7": 0.1}, "weight": "tf"}'),
    ('{"same": ["numbers"], "resemblance": 0.6}', .6, 24, '{"same": ["numbers"]}');
CREATE TABLE keys AS SELECT criterion, resemblance, options, id, body,
    ARRAY(SELECT simhash_band(body, band, options) FROM generate_series(0, bands - 1) AS band) AS bands,
    simhash(body, options) AS fingerprint, CASE bands WHEN 6 THEN 20 WHEN 12 THEN 24 ELSE 28 END AS most
FROM criteria, docs;
SELECT criterion, count(*) FILTER (WHERE defined) AS near,
    count(*) FILTER (WHERE resembles AND NOT defined) AS without_band,
    count(*) FILTER (WHERE defined IS NULL) AS nulls,
    bool_and(simhash_near(a.body, b.body, criterion) IS NOT DISTINCT FROM defined) AS as_defined,
    bool_and(simhash_near(b.body, a.body, criterion) IS NOT DISTINCT FROM defined) AS exchanged
FROM keys AS a JOIN keys AS b USING (criterion),
    LATERAL (SELECT simhash_resemblance(a.body, b.body, a.options) >= a.resemblance AS resembles) AS r,
    LATERAL (SELECT CASE WHEN resembles
        THEN EXISTS (SELECT FROM unnest(a.bands, b.bands) AS band (a, b) WHERE band.a = band.b)
            AND hamming(a.fingerprint, b.fingerprint) <= a.most
            ELSE resembles END AS defined) AS d
WHERE a.id % 30 < 3 AND b.id / 6 IN (a.id / 6, 0) GROUP BY criterion ORDER BY criterion;

-- Criteria that are wrong, in a query of no row; or about fingerprints.
SELECT errors(
    $$SELECT FROM docs WHERE id < 0 AND simhash_near(body, 'a', '{"resemblence": 0.9}')$$,
    $$SELECT FROM docs WHERE id < 0 AND simhash_near(body, 'a', '{"resemblance": 2}')$$,
    $$SELECT FROM docs WHERE id < 0 AND simhash_near(body, 'a', '{"resemblance": 0.59}')$$,
    $$SELECT FROM docs WHERE id < 0 AND simhash_near(body, 'a', '{"bands": 0}')$$,
    $$SELECT FROM docs WHERE id < 0 AND simhash_near(body, 'a', '{"bands": 65}'::jsonb)$$,
    $$SELECT FROM docs WHERE id < 0 AND simhash_near(body, 'a', '[]')$$,
    $$SELECT FROM docs WHERE id < 0 AND simhash_near(body, 'a', '{')$$,
    $$SELECT FROM docs WHERE id < 0 AND simhash_near(body, 'a', '{"ngram": 17}')$$,
    $$SELECT FROM docs WHERE id < 0 AND simhash_near(body, 'a', '{"resemblance": null}')$$,
    $$SELECT FROM docs WHERE id < 0 AND simhash_near(body, 'a', '{"max_distance": 3, "resemblance": null}')$$,
    $$SELECT FROM docs WHERE id < 0 AND simhash_near(body, 'a', '{"max_distance": 3}')$$);
-- Bands are numbered from 0 to 63.
SELECT errors($$SELECT simhash_band('a', -1)$$, $$SELECT simhash_band('a', 64)$$);
-- A criterion that comes from a row has the same errors.
SELECT errors(
    $$SELECT simhash_near('a', 'a', criterion) FROM (VALUES ('{"max_distance": 3}'::jsonb)) AS v (criterion)$$,
    $$SELECT simhash_near('a', 'a', criterion) FROM (VALUES ('{"bands": -1}')) AS v (criterion)$$);
