-- simhash_pairs: all pairs of an array's fingerprints within the distance.
SELECT * FROM simhash_pairs(ARRAY[10, 20, 30, 40], ARRAY[0, 1, 7, -1]::bigint[]) ORDER BY a, b;
SELECT * FROM simhash_pairs(ARRAY[10, 20, 30, 40], ARRAY[0, 1, 7, -1]::bigint[], 1) ORDER BY a, b;
SELECT * FROM simhash_pairs(ARRAY[10, 20, 30, 40], ARRAY[0, 1, 7, -1]::bigint[], max_distance => 64) ORDER BY a, b;
-- `a` stands before `b` in the arrays, whatever the ids are; equal ids make pairs like others.
SELECT * FROM simhash_pairs(ARRAY[3, 2, 1, 1], ARRAY[5, 5, 4, 5]::bigint[], 0) ORDER BY a, b;
-- A row without a fingerprint is near no other, not even one that also has none.
SELECT * FROM simhash_pairs(ARRAY[1, 2, 3, 4], ARRAY[NULL, 8, NULL, 8]::bigint[], 64);
-- Ids of any type: of variable length, and rows.
CREATE TYPE row_id AS (kind text, number integer);
SELECT * FROM simhash_pairs(ARRAY['one', 'two', repeat('three', 3)], ARRAY[1, 2, 3]::bigint[], 1) ORDER BY a, b;
SELECT * FROM simhash_pairs(ARRAY[ROW('x', 1), ROW('y', 2)]::row_id[], ARRAY[1, 2]::bigint[]);
-- No rows, or only one.
SELECT * FROM simhash_pairs('{}'::integer[], '{}');
SELECT * FROM simhash_pairs(ARRAY[1], ARRAY[1]::bigint[], 64);
SELECT * FROM simhash_pairs(NULL::integer[], ARRAY[1]::bigint[]);
SELECT * FROM simhash_pairs(ARRAY[1], NULL);
SELECT * FROM simhash_pairs(ARRAY[1, 2], ARRAY[1, 1]::bigint[], NULL);

-- tests/load/hostile, and a property of the crate, check that all pairs are found.
-- In a SELECT list the pairs come one by one: of half a billion, the first hundred come at once.
SELECT count(*) FROM (SELECT simhash_pairs(ids, fps) FROM
    (SELECT array_agg(n) AS ids, array_agg(42::bigint) AS fps FROM generate_series(1, 33000) AS n) AS same LIMIT 100)
        AS first;
-- Toasted arrays of a row that is deleted before all pairs are fetched.
CREATE TEMP TABLE toasted AS SELECT array_agg('id ' || n) AS ids, array_agg(n % 500::bigint) AS fps
FROM generate_series(1, 2000) AS n;
BEGIN;
DECLARE pairs CURSOR FOR SELECT simhash_pairs(ids, fps, 0) FROM toasted;
FETCH 1 FROM pairs;
DELETE FROM toasted;
FETCH 1 FROM pairs;
MOVE ALL FROM pairs;
ROLLBACK;

SELECT errors($$SELECT * FROM simhash_pairs(ARRAY[1, 2], ARRAY[1]::bigint[])$$,
    $$SELECT * FROM simhash_pairs('{}'::integer[], ARRAY[1]::bigint[])$$,
    $$SELECT * FROM simhash_pairs(ARRAY[1, NULL], ARRAY[1, 2]::bigint[])$$,
    $$SELECT * FROM simhash_pairs(ARRAY[NULL, 'a'], ARRAY[NULL, 1]::bigint[])$$,
    $$SELECT * FROM simhash_pairs(ARRAY[[1, 2], [3, 4]], ARRAY[1, 2, 3, 4]::bigint[])$$,
    $$SELECT * FROM simhash_pairs(ARRAY[1, 2, 3, 4], ARRAY[[1, 2], [3, 4]]::bigint[])$$,
    $$SELECT * FROM simhash_pairs(ARRAY[1, 2], ARRAY[1, 2]::bigint[], -1)$$,
    $$SELECT * FROM simhash_pairs(ARRAY[1, 2], ARRAY[1, 2]::bigint[], 65)$$);
