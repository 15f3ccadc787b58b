-- simhash_near with radii: at most so many bits differ, and in some block at most as many as its radius.

SELECT simhash_near(0, 7, 3, '{0,0,0,0}') AS equal_blocks, simhash_near(0, 7, 2, '{0,0,0,0}') AS too_far,
    simhash_near(0, x'1001100110011001'::bigint, 8, '{1,1,1,1}') AS two_in_each,
    simhash_near(0, x'1001100110010001'::bigint, 8, '{1,1,1,1}') AS one_in_the_last,
    simhash_near(0, x'1001100110010001'::bigint, 8, '{1,1,1,0}') AS none_in_the_last,
    simhash_near(0, x'1001100110011001'::bigint, 8, '{}') AS without_radii,
    simhash_near(fingerprint => 0, query => 0, max_distance => 0, radii => '{-1,-1,-1,-1}') AS no_block;

SELECT count(*) AS nulls FROM (VALUES (NULL::bigint, 1, 3, '{1,1}'::integer[]), (1, NULL, 3, '{1,1}'),
    (1, 1, NULL, '{1,1}'), (1, 1, 3, NULL)) AS v (f, q, k, radii) WHERE simhash_near(f, q, k, radii) IS NULL;

-- Radii that are those of no layout: an error if they are written in the query, NULL if they come from data.
SELECT errors($$SELECT simhash_near(0, 0, 3, '{1}')$$, $$SELECT simhash_near(0, 0, 3, '{0,0,0,0,0,0,0,0,0}')$$,
    $$SELECT simhash_near(0, 0, 3, '{0,-2}')$$, $$SELECT simhash_near(0, 0, 3, '{0,NULL}')$$,
    $$SELECT simhash_near(0, 0, 3, '{{0,0},{0,0}}')$$, $$SELECT simhash_near(n, 0, 3, '{1}') FROM generate_series(1, 3) AS n$$);
SELECT radii, simhash_near(0, 0, 3, radii) IS NULL AS is_null
FROM (VALUES ('{1}'::integer[]), ('{0,-2}'), ('{0,NULL}'), ('{{0,0},{0,0}}'), ('{0,0}')) AS v (radii);

-- Tables: one with four blocks, of texts that were edited, and one with three.
CREATE TABLE docs (id integer PRIMARY KEY, tenant integer, body text);
INSERT INTO docs
SELECT n, n % 5, (SELECT string_agg(CASE WHEN word = n % 60 OR word * 3 = n % 50 THEN 'edit' || n
        ELSE substr(md5(n / 4 || ' ' || word), 1, 6) END, ' ' ORDER BY word) FROM generate_series(1, 60) AS word)
FROM generate_series(1, 4000) AS n;
SELECT simhash_attach('docs', 'body');
SELECT simhash_attach('docs', 'simhash', blocks => 3, prefix => 'three');
SELECT simhash_attach('docs', 'simhash', blocks => 5, prefix => 'five', scope => '{tenant}');
INSERT INTO docs VALUES (4001, 1, '');
VACUUM ANALYZE docs;

EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE simhash_near(42, simhash, 10, '{0,0,0}') ORDER BY simhash <~> 42 LIMIT 3;
-- The look-ups are those of the radii.
CREATE FUNCTION look_ups(query text) RETURNS SETOF text LANGUAGE sql AS $$
    SELECT plan_lines(query, 'Blocks:|Radii:|Descents:', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF')
$$;
SELECT look_ups('SELECT id FROM docs WHERE simhash_near(simhash, 42, 10, ''{1,1,1,1}'')');
SELECT look_ups('SELECT id FROM docs WHERE tenant = 3 AND simhash_near(simhash, 42, 10, ''{0,0,0,0,0}'')');

-- A generic plan, whose radii are parameters.
SET plan_cache_mode = force_generic_plan;
PREPARE search (bigint, integer, integer[]) AS SELECT count(*) FROM docs WHERE simhash_near(simhash, $1, $2, $3);
EXPLAIN (COSTS OFF) EXECUTE search (42, 10, '{1,1,1,1}');
SELECT simhash AS query FROM docs WHERE id = 1207 \gset
EXECUTE search (:query, 10, '{1,1,1,1}');
EXECUTE search (:query, 10, '{1}');
SELECT count(*) FILTER (WHERE simhash <~> :query <= 10) AS within_10,
    count(*) FILTER (WHERE simhash_near(simhash, :query, 10, '{1,1,1,1}')) AS by_radii_1,
    count(*) FILTER (WHERE simhash_near(simhash, :query, 10, '{0,0,0}')) AS by_three_equal_blocks FROM docs;
