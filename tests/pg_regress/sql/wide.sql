-- The option seed, and distances of fingerprints of several words.
SELECT simhash('hello') <> simhash('hello', '{"seed": 1}') AS other,
    simhash('hello', '{"seed": 0}') = simhash('hello') AS seed_0,
    simhash('hello', '{"seed": 1.0}') = simhash('hello', '{"seed": 1}') AS by_value;

-- The distance is the sum over the words. Arrays may start at any number.
SELECT a <~> b AS operator, hamming(a, b), b <~> a AS other_way, a <~> a AS itself,
    (SELECT sum(x <~> y) FROM unnest(a, b) AS words (x, y)) AS sum
FROM (VALUES (ARRAY[0, -1, 5]::bigint[], ARRAY[-1, -1, 6]::bigint[]), ('[-3:-2]={1,2}', '[7:8]={1,3}'),
    (array_fill(0::bigint, ARRAY[1000]), array_fill(-1::bigint, ARRAY[1000]))) AS pairs (a, b);
-- Without words there is no distance: arrays without elements are not fingerprints.
SELECT '{}'::bigint[] <~> '{}' AS empty, NULL::bigint[] <~> '{1}' AS null_left, '{1}'::bigint[] <~> NULL AS null_right;

SELECT errors($$SELECT '{1}'::bigint[] <~> '{1,2}'$$, $$SELECT hamming('{}'::bigint[], ARRAY[1::bigint])$$,
    $$SELECT '{1,NULL}'::bigint[] <~> '{1,2}'$$, $$SELECT '{1,2}'::bigint[] <~> '{NULL,2}'$$,
    $$SELECT '{{1},{2}}'::bigint[] <~> '{1,2}'$$, $$SELECT '{1,2}'::bigint[] <~> '{{1,2}}'$$,
    $$SELECT simhash('a', '{"seed": -1}')$$,
    $$SELECT simhash('a', '{"seed": 18446744073709551616}')$$, $$SELECT simhash('a', '{"seed": "1"}')$$,
    $$SELECT simhash('a', '{"seed": null}'::jsonb)$$);

-- Fingerprints of two words on a table: the first is attached, the second is a column of its own. What the search for
-- the first finds is compared by both.
CREATE TABLE wide (id integer PRIMARY KEY, body text NOT NULL,
    second bigint GENERATED ALWAYS AS (simhash(body, '{"seed": 1}')) STORED);
INSERT INTO wide
SELECT n, string_agg(substr(md5(n % 100 || ' ' || word), 1, 6), ' ' ORDER BY word)
    || CASE WHEN n > 100 THEN ' more' ELSE '' END
FROM generate_series(1, 150) n, generate_series(1, 80) word GROUP BY n;
SELECT simhash_attach('wide', 'body');
SELECT count(*), bool_and(b.id = a.id + 100) AS copies FROM wide a JOIN wide b
    ON simhash_near(b.simhash, a.simhash, 8) AND (a.simhash <~> b.simhash) + (a.second <~> b.second) <= 13
WHERE a.id < b.id;
