-- simhash_cluster and simhash_duplicate_of: near-duplicates that are confirmed by their texts.
CREATE TABLE verified_docs (id integer PRIMARY KEY, tenant text, fp bigint, body text);
-- All fingerprints but one are near. 1 and 2 share 10 of 11 words (.91), 2 and 3 share 10 of 12 (.83), 1 and 3 share 9 of
-- 12 (.75); 6 is row 2 in another order of words; 11 has the words of 5, and 8 and 9 have none.
INSERT INTO verified_docs VALUES
    (1, 'a', 0, 'a b c d e f g h i j'),
    (2, 'b', 1, 'a b c d e f g h i j k'),
    (3, 'a', 3, 'b c d e f g h i j k l'),
    (4, 'a', 0, NULL),
    (5, 'a', 0, 'the same template, filled in differently'),
    (6, 'b', 1, 'K, J, i, h, g, f, e, d, c, b, a'),
    (7, 'a', NULL, 'a b c d e f g h i j'),
    (8, NULL, 1, '?!'),
    (9, 'b', 1, '?!'),
    (10, 'a', -1, 'a b c d e f g h i j'),
    (11, 'b', 7, 'The same template: filled in differently.');
SELECT a.id AS a, b.id AS b, a.fp <~> b.fp AS distance, round(simhash_resemblance(a.body, b.body)::numeric, 3) AS resemblance
FROM verified_docs AS a JOIN verified_docs AS b ON a.id < b.id AND a.fp <~> b.fp <= 8
WHERE simhash_resemblance(a.body, b.body) > .7 ORDER BY a, b;
-- A cluster is a chain of confirmed pairs; a duplicate is confirmed for a row that is kept. With .8, row 3 is like row 2
-- and in its cluster, but row 2 is a duplicate of row 1, and row 3 is not.
SELECT id, simhash_cluster(fp, body) OVER w AS cluster, simhash_duplicate_of(fp, body) OVER w AS duplicate_of,
    simhash_cluster(fp, body, resemblance => .8) OVER w AS cluster_8,
    simhash_duplicate_of(fp, body, resemblance => .8) OVER w AS duplicate_of_8
FROM verified_docs WINDOW w AS (ORDER BY id) ORDER BY id;
-- In the opposite order, the last rows stay.
SELECT id, row_number() OVER w AS row, simhash_cluster(fp, body, 8, .8) OVER w AS cluster,
    simhash_duplicate_of(fp, body, 8, .8) OVER w AS duplicate_of
FROM verified_docs WINDOW w AS (ORDER BY id DESC) ORDER BY row;
-- The distance counts too: 0 leaves the rows of one fingerprint.
SELECT id, fp, simhash_cluster(fp, body, 0, .8) OVER w AS cluster, simhash_duplicate_of(fp, body, 0, .8) OVER w AS duplicate_of,
    simhash_cluster(fp, body, max_distance => 64, resemblance => 0, radii => '{}') OVER w AS all
FROM verified_docs WINDOW w AS (ORDER BY id) ORDER BY id;
-- Within the distance, some block of the radii is near. Without radii, the distance alone decides. By default, it is 10,
-- and each of four blocks has radius 1.
SELECT n, fp <~> 0 AS distance, simhash_cluster(fp, 'a') OVER w AS by_default,
    simhash_duplicate_of(fp, 'a') OVER w AS duplicate_of,
    simhash_duplicate_of(fp, 'a', radii => '{0,0,0,0}') OVER w AS equal_block,
    simhash_duplicate_of(fp, 'a', radii => '{-1,1,-1,-1}') OVER w AS second_block,
    simhash_duplicate_of(fp, 'a', 9, radii => '{}') OVER w AS within_9,
    simhash_cluster(fp, NULL, resemblance => NULL, radii => '{0,-1}') OVER w AS without_texts
FROM (VALUES (1, 0), (2, x'0001000100010001'::bigint), (3, x'0003000300030003'::bigint),
    (4, x'000f00000000000f'::bigint), (5, x'00ff0000000003ff'::bigint), (6, NULL), (7, x'00ff0000000001fe'::bigint)) AS docs (n, fp)
WINDOW w AS (ORDER BY n) ORDER BY n;
-- Partitions, and NULL as one; frames make no difference.
SELECT tenant, id, row_number() OVER w AS row, simhash_cluster(fp, body) OVER w AS cluster,
    simhash_duplicate_of(fp, body) OVER w AS duplicate_of,
    simhash_duplicate_of(fp, body) OVER (w ROWS BETWEEN CURRENT ROW AND CURRENT ROW EXCLUDE CURRENT ROW) AS with_frame
FROM verified_docs WINDOW w AS (PARTITION BY tenant ORDER BY id) ORDER BY tenant, id;
-- Of several kept rows the nearest, and of equally near ones the earliest.
SELECT id, simhash_duplicate_of(fp, body, 3, .5) OVER (ORDER BY id) AS duplicate_of
FROM (VALUES (1, 3, 'a b c d'), (2, 12, 'c d e f'), (3, 48, 'g h c d'), (4, 0, 'a b c d e f'), (5, 8, 'a b c d e f'),
    (6, 0, 'g h c d e f')) AS docs (id, fp, body) ORDER BY id;
-- A row that was dropped drops no other: with steps of one bit, every fourth row stays.
SELECT string_agg(coalesce(duplicate_of::text, '-'), ' ' ORDER BY id) AS duplicate_of,
    string_agg(cluster::text, ' ' ORDER BY id) AS cluster
FROM (SELECT id, simhash_duplicate_of((1::bigint << id) - 1, 'a', 3) OVER (ORDER BY id) AS duplicate_of,
          simhash_cluster((1::bigint << id) - 1, 'a', 3) OVER (ORDER BY id) AS cluster
      FROM generate_series(0, 12) AS id) AS chain;

-- Without a resemblance, texts do not count.
SELECT id, simhash_duplicate_of(fp, NULL, 1, NULL) OVER w AS duplicate_of, simhash_cluster(fp, body, 1, NULL) OVER w AS cluster,
    simhash_cluster(fp, 1) OVER w AS unverified
FROM verified_docs WINDOW w AS (ORDER BY id) ORDER BY id;
-- A distance, radii or options of NULL: NULL.
SELECT DISTINCT simhash_cluster(fp, body, NULL) OVER () AS a, simhash_duplicate_of(fp, body, NULL) OVER () AS b,
    simhash_cluster(fp, body, options => NULL) OVER () AS c, simhash_duplicate_of(fp, body, options => NULL) OVER () AS d,
    simhash_cluster(fp, body, radii => NULL) OVER () AS e, simhash_duplicate_of(fp, body, radii => NULL) OVER () AS f
FROM verified_docs;
SELECT id, simhash_cluster(fp, body, progress => NULL) OVER (ORDER BY id) AS cluster FROM verified_docs ORDER BY id LIMIT 2;
-- Options change what the texts have in common.
SELECT id, simhash_duplicate_of(1, body, resemblance => .9) OVER w AS words,
    simhash_duplicate_of(1, body, resemblance => .9, options => '{"weight": "tf"}') OVER w AS tf,
    simhash_duplicate_of(1, body, resemblance => .9, options => '{"ngram": 2}') OVER w AS ngram,
    simhash_cluster(1, body, resemblance => .9, options => '{"weight": "tf", "top": 1}') OVER w AS top,
    simhash_cluster(1, body, resemblance => .9, options => '{"case_fold": false}') OVER w AS cases
FROM (VALUES (1, 'a b c'), (2, 'c b a'), (3, 'a b c c c c'), (4, 'd c c'), (5, 'A B C'::varchar)) AS docs (id, body)
WINDOW w AS (ORDER BY id) ORDER BY id;
-- No rows, one row, only NULLs.
SELECT simhash_cluster(fp, body) OVER (), simhash_duplicate_of(fp, body) OVER () FROM verified_docs WHERE false;
SELECT simhash_cluster(fp, body) OVER (), simhash_duplicate_of(fp, body) OVER () FROM verified_docs WHERE id = 5;
SELECT simhash_cluster(fp, body) OVER (), simhash_duplicate_of(fp, body) OVER () FROM verified_docs WHERE fp IS NULL;
-- Evaluated repeatedly: in a correlated sub-select, and by a cursor that moves back.
SELECT n, (SELECT string_agg(cluster::text, ' ' ORDER BY id) FROM
    (SELECT id, simhash_cluster(fp, body, n) OVER (ORDER BY id) AS cluster FROM verified_docs WHERE id > n) AS clusters)
FROM generate_series(0, 3) AS n;
BEGIN;
DECLARE duplicates SCROLL CURSOR FOR
SELECT id, simhash_duplicate_of(fp, body) OVER (ORDER BY id) FROM verified_docs ORDER BY id;
FETCH 2 FROM duplicates;
FETCH LAST FROM duplicates;
FETCH ABSOLUTE 6 FROM duplicates;
ROLLBACK;

-- The overload without texts: arguments of unknown type.
SELECT DISTINCT simhash_cluster(fp, NULL) OVER () FROM verified_docs;
SELECT count(*) FROM (SELECT simhash_cluster(fp, NULL, 3, NULL) OVER () AS a, simhash_cluster(fp, 3) OVER () AS b
                      FROM verified_docs) AS clusters WHERE a IS DISTINCT FROM b;
PREPARE untyped AS SELECT id, simhash_cluster(fp, $1) OVER (ORDER BY id) FROM verified_docs ORDER BY id LIMIT 2;
PREPARE typed (integer) AS SELECT id, simhash_cluster(fp, $1) OVER (ORDER BY id) FROM verified_docs ORDER BY id LIMIT 2;
PREPARE named AS
SELECT id, simhash_cluster(fp, max_distance => $1) OVER (ORDER BY id) FROM verified_docs ORDER BY id LIMIT 2;
EXECUTE typed (8);
EXECUTE named ('8');
SELECT errors($$SELECT simhash_cluster(fp, '8') OVER () FROM verified_docs$$, $$EXECUTE untyped ('8')$$,
    $$EXECUTE untyped ('a text')$$, $$EXECUTE untyped (NULL)$$,
    $$SELECT simhash_cluster(fp, id::text) OVER () FROM verified_docs$$,
    $$SELECT simhash_cluster(fp, 8::smallint, '1') OVER () FROM verified_docs$$);
\set VERBOSITY terse
SELECT simhash_cluster(fp, '8', 'true') OVER () FROM verified_docs;
\set VERBOSITY default
SET plan_cache_mode = force_generic_plan;
SELECT errors($$EXECUTE untyped ('8')$$);
RESET plan_cache_mode;

-- Errors. Invalid arguments are errors whether there is a near row or not.
SELECT errors($$SELECT simhash_duplicate_of(1, 'a')$$, $$SELECT simhash_cluster(fp, body, -1) OVER () FROM verified_docs$$,
    $$SELECT simhash_duplicate_of(fp, body, 65) OVER () FROM verified_docs$$,
    $$SELECT simhash_duplicate_of(fp, body, 3, 1.01) OVER () FROM verified_docs$$,
    $$SELECT simhash_cluster(fp, body, 3, -.5) OVER () FROM verified_docs WHERE id = 1$$,
    $$SELECT simhash_cluster(fp, body, 3, 'NaN') OVER () FROM verified_docs$$,
    $$SELECT simhash_duplicate_of(fp, body, 3, 'Infinity') OVER () FROM verified_docs$$,
    $$SELECT simhash_duplicate_of(fp, body, options => '{"ngrams": 2}') OVER () FROM verified_docs WHERE id = 1$$,
    $$SELECT simhash_cluster(fp, body, options => '{"ngram": 17}') OVER () FROM verified_docs$$,
    $$SELECT simhash_duplicate_of(fp, body, radii => '{1}') OVER () FROM verified_docs WHERE id = 1$$,
    $$SELECT simhash_cluster(fp, body, radii => '{0,0,0,0,0,0,0,0,0}') OVER () FROM verified_docs$$,
    $$SELECT simhash_cluster(fp, body, radii => '{1,1,1,-2}') OVER () FROM verified_docs$$,
    $$SELECT simhash_duplicate_of(fp, body, radii => '{1,NULL}') OVER () FROM verified_docs$$,
    $$SELECT simhash_duplicate_of(fp, body, radii => '{{1,1},{1,1}}') OVER () FROM verified_docs$$,
    $$SELECT simhash_cluster(fp, body || repeat(U&'\0301', 600000)) OVER () FROM verified_docs$$,
    $$SELECT max(simhash_duplicate_of(fp, body)) FROM verified_docs$$,
    $$SELECT id FROM verified_docs WHERE simhash_duplicate_of(fp, body) OVER () = 1$$);
-- A text is read only if its row has a near row.
SELECT id, simhash_cluster(fp, CASE WHEN id = 4 THEN (1 / (id - 4))::text ELSE 'a' END) OVER (ORDER BY id) AS cluster
FROM (VALUES (1, 0), (2, 1), (4, -1), (5, NULL)) AS docs (id, fp) ORDER BY id;
DROP TABLE verified_docs;

-- Real fingerprints: templates with many words in common, filled in differently; chains of small changes; copies. More
-- rows than fit in memory, and long texts out of line.
SET work_mem = '64kB';
CREATE TEMP TABLE verified_many AS
SELECT n AS id, simhash(body) AS fp, body
FROM generate_series(1, 3000) AS n CROSS JOIN LATERAL
    (SELECT string_agg(md5(CASE WHEN word <= 12 + n % 4 * 10 THEN n % 97 ELSE n / 97 END || ' ' || word), ' ')
         || CASE WHEN n % 500 = 0 THEN repeat(' more words', 10000) ELSE '' END
     FROM generate_series(1, 45) AS word) AS text (body)
UNION ALL SELECT 3000 + n, NULL, 'no fingerprint' FROM generate_series(1, 10) AS n;
ALTER TABLE verified_many ALTER body SET STORAGE EXTERNAL;
UPDATE verified_many SET body = body || '' WHERE id % 500 = 0;
CREATE TEMP TABLE verified_found AS
SELECT id, simhash_cluster(fp, body, 12, .75, radii => '{}') OVER w AS cluster, simhash_cluster(fp, 12) OVER w AS near,
    simhash_duplicate_of(fp, body, 12, .75, radii => '{}') OVER w AS duplicate_of
FROM verified_many WINDOW w AS (ORDER BY id);
-- Numbers of rows are ids here.
CREATE TEMP TABLE verified_pairs AS
SELECT a, b, distance FROM (SELECT array_agg(id ORDER BY id) AS ids, array_agg(fp ORDER BY id) AS fps FROM verified_many) AS docs,
    simhash_pairs(ids, fps, 12) JOIN verified_many AS x ON x.id = a JOIN verified_many AS y ON y.id = b
WHERE simhash_resemblance(x.body, y.body) >= .75;
CREATE TEMP TABLE verified_true AS SELECT id, id AS cluster, NULL::integer AS duplicate_of FROM verified_many WHERE fp IS NOT NULL;
DO $$
DECLARE
    changed bigint;
    this record;
BEGIN
    LOOP -- each row takes the lowest name among its confirmed rows, until none changes
        UPDATE verified_true AS t SET cluster = least FROM
            (SELECT t.id, min(other.cluster) AS least FROM verified_true AS t
                JOIN (SELECT a, b FROM verified_pairs UNION ALL SELECT b, a FROM verified_pairs) AS p ON p.a = t.id
                JOIN verified_true AS other ON other.id = p.b GROUP BY t.id) AS near
        WHERE near.id = t.id AND least < cluster;
        GET DIAGNOSTICS changed = ROW_COUNT;
        EXIT WHEN changed = 0;
    END LOOP;
    CREATE INDEX ON verified_pairs (b);
    CREATE INDEX ON verified_true (id);
    FOR this IN SELECT id FROM verified_many WHERE fp IS NOT NULL ORDER BY id LOOP -- row by row, as a guard
        UPDATE verified_true AS t SET duplicate_of =
            (SELECT a FROM verified_pairs JOIN verified_true AS kept ON kept.id = a AND kept.duplicate_of IS NULL
             WHERE b = this.id ORDER BY distance, a LIMIT 1)
        WHERE t.id = this.id;
    END LOOP;
END $$;
SELECT count(*) AS rows, count(cluster) AS fingerprints, count(DISTINCT near) AS near, count(DISTINCT cluster) AS clusters,
    count(duplicate_of) AS duplicates FROM verified_found;
SELECT count(*) AS differences FROM verified_found AS f LEFT JOIN verified_true AS t USING (id)
WHERE f.cluster IS DISTINCT FROM t.cluster OR f.duplicate_of IS DISTINCT FROM t.duplicate_of;
-- Once the duplicates are deleted, no confirmed pair is left. Comparing with the first row of an unverified cluster
-- leaves some.
CREATE TEMP TABLE verified_left AS
SELECT f.id, f.duplicate_of IS NULL AS by_duplicate_of,
    f.near = f.id OR simhash_resemblance(first.body, this.body) < .75 AS by_first_of_cluster
FROM verified_found AS f JOIN verified_many AS this USING (id) JOIN verified_many AS first ON first.id = f.near;
SELECT count(*) AS before, count(*) FILTER (WHERE x.by_duplicate_of AND y.by_duplicate_of) AS by_duplicate_of,
    count(*) FILTER (WHERE x.by_first_of_cluster AND y.by_first_of_cluster) AS by_first_of_cluster
FROM verified_pairs JOIN verified_left AS x ON x.id = a JOIN verified_left AS y ON y.id = b;
RESET work_mem;
