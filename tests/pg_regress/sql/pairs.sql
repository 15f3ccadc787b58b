-- simhash_pairs: all pairs of an array's fingerprints within the distance.
SELECT * FROM simhash_pairs(ARRAY[10, 20, 30, 40], ARRAY[0, 1, 7, -1]::bigint[]) ORDER BY a, b;
SELECT * FROM simhash_pairs(ARRAY[10, 20, 30, 40], ARRAY[0, 1, 7, -1]::bigint[], 1) ORDER BY a, b;
SELECT * FROM simhash_pairs(ARRAY[10, 20, 30, 40], ARRAY[0, 1, 7, -1]::bigint[], max_distance => 64) ORDER BY a, b;
-- `a` stands before `b` in the arrays, whatever the ids are; equal ids make pairs like others.
SELECT * FROM simhash_pairs(ARRAY[3, 2, 1, 1], ARRAY[5, 5, 4, 5]::bigint[], 0) ORDER BY a, b;
-- A row without a fingerprint is near no other, not even one that also has none.
SELECT * FROM simhash_pairs(ARRAY[1, 2, 3, 4], ARRAY[NULL, 8, NULL, 8]::bigint[], 64);
-- Ids of any type: by value and by reference, of fixed and variable length, domains, rows.
CREATE DOMAIN pairs_id AS text CHECK (VALUE <> '');
CREATE TYPE pairs_row AS (kind text, number integer);
SELECT * FROM simhash_pairs(ARRAY['one', 'two', repeat('three', 3)], ARRAY[1, 2, 3]::bigint[], 1) ORDER BY a, b;
SELECT * FROM simhash_pairs(ARRAY['a', 'b']::pairs_id[], ARRAY[1, 2]::bigint[]);
SELECT * FROM simhash_pairs(ARRAY[7, -8]::bigint[], ARRAY[1, 2]::bigint[]);
SELECT * FROM simhash_pairs(ARRAY['00000000-0000-0000-0000-000000000001', 'ffffffff-ffff-ffff-ffff-ffffffffffff']::uuid[],
    ARRAY[1, 2]::bigint[]);
SELECT * FROM simhash_pairs(ARRAY[ROW('x', 1), ROW('y', 2)]::pairs_row[], ARRAY[1, 2]::bigint[]);
SELECT pg_typeof(a) AS a, pg_typeof(b) AS b, pg_typeof(distance) AS distance
FROM simhash_pairs(ARRAY['2026-01-01', '2026-01-02']::date[], ARRAY[1, 2]::bigint[]);
-- The bounds of arrays do not matter.
SELECT * FROM simhash_pairs('[-1:0]={1,2}'::integer[], '[5:6]={3,3}'::bigint[]);
-- No rows, or only one.
SELECT * FROM simhash_pairs('{}'::integer[], '{}');
SELECT * FROM simhash_pairs(ARRAY[1], ARRAY[1]::bigint[], 64);
SELECT * FROM simhash_pairs(NULL::integer[], ARRAY[1]::bigint[]);
SELECT * FROM simhash_pairs(ARRAY[1], NULL);
SELECT * FROM simhash_pairs(ARRAY[1, 2], ARRAY[1, 1]::bigint[], NULL);

-- Typical queries: over a table, which may be empty, by groups, and streaming.
CREATE TABLE pairs_docs (id bigint PRIMARY KEY, tenant integer, fp bigint);
SELECT p.* FROM (SELECT array_agg(id) AS ids, array_agg(fp) AS fps FROM pairs_docs) AS docs, simhash_pairs(ids, fps) AS p;
-- Six variants of each of 333 random fingerprints, far apart in the table; one in ten is NULL.
INSERT INTO pairs_docs
SELECT n, n % 2, CASE WHEN n % 10 <> 0 THEN ('x' || left(md5((n % 333)::text), 16))::bit(64)::bigint
    # ((ARRAY[0, 1, 1 + (1 << 20), 0, 1 << 20, 1 + (1 << 10) + (1 << 20)])[1 + n / 333 % 6]::bigint << n % 40) END
FROM generate_series(1, 1998) AS n;
CREATE TABLE pairs_found AS
SELECT p.* FROM (SELECT array_agg(id ORDER BY id) AS ids, array_agg(fp ORDER BY id) AS fps FROM pairs_docs) AS docs,
    simhash_pairs(ids, fps) AS p;
CREATE TABLE pairs_true AS
SELECT a.id AS a, b.id AS b, hamming(a.fp, b.fp) AS distance
FROM pairs_docs AS a JOIN pairs_docs AS b ON a.id < b.id AND hamming(a.fp, b.fp) <= 3;
SELECT distance, count(*) FROM pairs_found GROUP BY distance ORDER BY distance;
SELECT count(*) AS differences FROM
    ((TABLE pairs_found EXCEPT ALL TABLE pairs_true) UNION ALL (TABLE pairs_true EXCEPT ALL TABLE pairs_found)) AS different;
SELECT tenant, count(*), (SELECT count(*) FROM pairs_true JOIN pairs_docs AS a ON a.id = pairs_true.a
    JOIN pairs_docs AS b ON b.id = pairs_true.b WHERE a.tenant = docs.tenant AND b.tenant = docs.tenant) AS expected
FROM (SELECT tenant, array_agg(id) AS ids, array_agg(fp) AS fps FROM pairs_docs GROUP BY tenant) AS docs,
    simhash_pairs(ids, fps) AS p GROUP BY tenant ORDER BY tenant;
-- In a SELECT list the pairs come one by one: of half a billion, the first hundred come at once.
SELECT count(*) FROM (SELECT simhash_pairs(ids, fps) FROM
    (SELECT array_agg(n) AS ids, array_agg(42::bigint) AS fps FROM generate_series(1, 33000) AS n) AS same LIMIT 100) AS first;
-- The same rows in the same order give the same pairs in the same order.
SELECT count(*) AS pairs, bool_and(first = again) AS same_order FROM
    (SELECT array_agg(id ORDER BY id) AS ids, array_agg(fp ORDER BY id) AS fps FROM pairs_docs) AS docs,
    ROWS FROM (simhash_pairs(ids, fps), simhash_pairs(ids, fps)) AS p(a, b, d, a2, b2, d2),
    LATERAL (SELECT ROW(a, b, d) AS first, ROW(a2, b2, d2) AS again) AS rows;
-- Toasted arrays of a row that is deleted before all pairs are fetched.
CREATE TEMP TABLE pairs_arrays AS SELECT array_agg('id ' || id ORDER BY id) AS ids, array_agg(fp ORDER BY id) AS fps
FROM pairs_docs;
BEGIN;
DECLARE pairs CURSOR FOR SELECT simhash_pairs(ids, fps, 0) FROM pairs_arrays;
FETCH 1 FROM pairs;
DELETE FROM pairs_arrays;
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
DROP TABLE pairs_docs, pairs_found, pairs_true, pairs_arrays;
DROP DOMAIN pairs_id;
DROP TYPE pairs_row;
