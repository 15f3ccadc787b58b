-- simhash_explain: why two texts are near-duplicates or are not.
-- A near-duplicate with another number, by two criteria; and an unrelated text.
SELECT * FROM simhash_explain('The quick brown fox jumps over the lazy dog by the river, on day 1.',
    'the quick brown fox jumps over the lazy dog by the river on day 2');
SELECT * FROM simhash_explain('The quick brown fox jumps over the lazy dog by the river, on day 1.',
    'the quick brown fox jumps over the lazy dog by the river on day 2', '{"resemblance": 0.7}');
SELECT * FROM simhash_explain('one two three four', 'five six');
-- The option "same": numbers are compared by their values, and words.
SELECT * FROM simhash_explain('Invoice 17 of 2026-01-12: 12,000 EUR, not paid',
    'Invoice 18 of 2026-01-12: 12 500 EUR, paid',
    '{"same": ["numbers", "not", "in full", "paid"], "resemblance": 0.01, "bands": 64}');
SELECT what, in_a, in_b, holds
FROM simhash_explain('1 not 12 000 EUR', '1 NOT 12,000 EUR', '{"same": ["numbers", "not"]}')
WHERE what IN ('numbers', 'words');
SELECT what, in_a, in_b, holds FROM simhash_explain('at 1 2 3 4 5', 'at 1 2 7 3 4 5', '{"same": ["numbers"]}')
WHERE what = 'numbers';
SELECT a, b, in_a, in_b FROM (VALUES ('of 12,000 EUR', 'of 12 500 EUR'), ('1 2 345', '12 345'),
    ('-12 000, v1.2.3', '12 000, v1.2.4'), ('030 123 456', '030 123 457'), ('7', 'none'))
    AS t (a, b), simhash_explain(a, b, '{"same": ["numbers"]}') WHERE what = 'numbers';
SELECT what, length(in_a), in_b FROM simhash_explain(repeat('1 ', 1000), 'none', '{"same": ["numbers"]}')
WHERE what = 'numbers';
-- For fingerprints, the distance decides.
SELECT * FROM simhash_explain('one two three four five', 'one two three four six', '{"resemblance": null}');
SELECT what, found, required, holds
FROM simhash_explain('one two three four five', 'one two three four six', '{"max_distance": 64, "tokens": "chars"}')
WHERE required IS NOT NULL OR what = 'near';
-- If fingerprints are compared, "same" has no effect on the result.
SELECT * FROM simhash_explain('one two 3', 'one two 4, not', '{"resemblance": null, "same": ["numbers", "not"]}');
-- If a text has no word, or an argument is NULL, the result is NULL.
SELECT * FROM simhash_explain('', 'one', '{"same": ["numbers"]}');
SELECT * FROM simhash_explain(NULL, 'one');
SELECT * FROM simhash_explain('one', 'one', NULL);

-- The last row has the result of simhash_near. All other rows that require something have this result too, taken
-- together.
CREATE FUNCTION random_piece() RETURNS text VOLATILE LANGUAGE sql
    RETURN (ARRAY['a', 'b', 'c', 'd', 'e', 'not', '1', '2,000', '2 000', '東京都', 'http://a.b/c', '<b>', 'é',
        '.'])[1 + floor(random() * 14)];
CREATE FUNCTION random_text(common text) RETURNS text VOLATILE LANGUAGE sql
    RETURN CASE WHEN random() < 0.05 THEN NULL WHEN random() < 0.05 THEN ''
        ELSE common || coalesce((SELECT string_agg(random_piece(), ' ') FROM generate_series(1, floor(random() * 4)::integer)),
            '') END;
CREATE FUNCTION random_criterion() RETURNS jsonb VOLATILE LANGUAGE sql RETURN (
    SELECT coalesce(jsonb_object_agg(key, value), '{}') FROM (VALUES
        ('resemblance', to_jsonb(random())), ('bands', to_jsonb(1 + floor(random() * 64))), ('tokens', '"chars"'),
        ('ngram', '2'), ('weight', '"tf"'),
        ('weights', '{"a": 0.1, "b": 0}'), ('case_fold', 'false'), ('seed', '7'), ('markup', '"html"'),
        ('ignore', '["numbers", "urls"]'),
        ('same', '["numbers", "not"]')) AS of_key (key, value)
    WHERE random() < 0.3 OR key = 'bands');
CREATE TABLE pairs AS
SELECT n, criterion, random_text(common) AS a, random_text(common) AS b
FROM generate_series(1, 3000) AS n,
    LATERAL (SELECT n AS of, random_criterion() AS criterion,
        (SELECT string_agg(random_piece(), ' ') || ' ' FROM generate_series(1, 12 + n % 2)) AS common) AS drawn;
SELECT count(*) FILTER (WHERE verdict) > 300 AS many_near, count(*) FILTER (WHERE NOT verdict) > 300 AS many_not,
    count(*) FILTER (WHERE verdict IS NULL) > 100 AS many_unknown,
    count(*) FILTER (WHERE verdict IS DISTINCT FROM simhash_near(a, b, criterion)) AS wrong_verdicts,
    count(*) FILTER (WHERE verdict IS DISTINCT FROM together) AS wrong_checks
FROM pairs, LATERAL (
    SELECT bool_and(holds) FILTER (WHERE what = 'near') AS verdict,
        CASE WHEN bool_or(holds IS NULL) FILTER (WHERE required IS NOT NULL) THEN NULL
            ELSE bool_and(holds) FILTER (WHERE required IS NOT NULL) END AS together
    FROM simhash_explain(a, b, criterion)) AS explained;
SELECT count(*) AS wrong_verdicts FROM pairs,
    LATERAL simhash_explain(a, b, criterion - 'resemblance' - 'bands' || '{"resemblance": null, "max_distance": 8}')
        AS explained
WHERE what = 'near' AND holds IS DISTINCT FROM
    simhash_near(simhash(a, criterion - 'resemblance' - 'bands'), simhash(b, criterion - 'resemblance' - 'bands'), 8);

-- What simhash_near refuses, simhash_explain refuses too.
SELECT errors($$SELECT * FROM simhash_explain('a', 'b', '{"resemblance": 0.9, "max_distance": 3}')$$,
    $$SELECT * FROM simhash_explain('a', 'b', '{"resemblance": 2}')$$,
    $$SELECT * FROM simhash_explain('a', 'b', '{"weights": "table"}')$$,
    $$SELECT * FROM simhash_explain('a', 'b', '[]')$$);
