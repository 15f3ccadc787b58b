-- simhash_components: the connected components of pairs that come from many groups.
SELECT * FROM simhash_components(ARRAY[5, 1, 9, 7, 4], ARRAY[3, 2, 5, 7, 5]);
-- The order of the pairs does not matter, nor that of the two ids, nor how often a pair is given.
SELECT * FROM simhash_components(ARRAY[5, 7, 5, 2, 3, 2], ARRAY[4, 7, 9, 1, 5, 1]);
-- Ids of any type that can be sorted: by value and by reference, of fixed and variable length, domains, rows, enums.
CREATE DOMAIN components_id AS text CHECK (VALUE <> '');
CREATE TYPE components_row AS (kind text, number integer);
CREATE TYPE components_enum AS ENUM ('z', 'y', 'x');
SELECT * FROM simhash_components(ARRAY['one', repeat('three', 3), 'four'], ARRAY['two', 'one', 'five']);
SELECT * FROM simhash_components(ARRAY['a', 'b']::components_id[], ARRAY['b', 'c']::components_id[]);
SELECT * FROM simhash_components(ARRAY['c', 'b']::"char"[], ARRAY['b', 'a']::"char"[]);
SELECT * FROM simhash_components(ARRAY[7, -8, -32768]::smallint[], ARRAY[-8, 9, 32767]::smallint[]);
SELECT * FROM simhash_components(ARRAY[7, -8, -2147483648], ARRAY[-8, 9, 2147483647]);
SELECT * FROM simhash_components(ARRAY[7, -8, -9223372036854775808], ARRAY[-8, 9, 9223372036854775807]);
SELECT * FROM simhash_components(ARRAY['NaN', 1.5, '-Infinity']::float8[], ARRAY['Infinity', 'NaN', 2]::float8[]);
SELECT * FROM simhash_components(ARRAY[ROW('x', 2), ROW('y', 1)]::components_row[], ARRAY[ROW('x', 1), ROW(NULL, 1)]::components_row[]);
SELECT * FROM simhash_components(ARRAY['x', 'y']::components_enum[], ARRAY['y', 'z']::components_enum[]);
SELECT pg_typeof(id) AS id, pg_typeof(component) AS component
FROM simhash_components(ARRAY['2026-01-01']::date[], ARRAY['2026-01-02']::date[]) LIMIT 1;
-- Values that are equal are one id, which is shown as it stands first.
SELECT * FROM simhash_components(ARRAY[1.0, 2.50, 1], ARRAY[3, 1.00, 4]);
-- The collation orders the ids, and says which of them are equal. Without ICU, none ignores case.
SELECT EXISTS (SELECT FROM pg_collation WHERE collname = 'und-x-icu') AS has_icu \gset
\if :has_icu
CREATE COLLATION components_no_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
\else
CREATE COLLATION components_no_case FROM "C";
\endif
SELECT CASE WHEN :'has_icu' THEN 'B' ELSE 'b' END AS equal \gset
SELECT id, lower(component COLLATE "C") AS component FROM simhash_components(ARRAY['b', 'c'] COLLATE components_no_case, ARRAY['a', :'equal']);
SELECT id FROM simhash_components(ARRAY['b', 'a'] COLLATE "C", ARRAY['B', 'A']);
-- Bounds of arrays do not matter.
SELECT * FROM simhash_components('[-1:0]={1,2}'::integer[], '[5:6]={3,3}'::integer[]);
-- No pairs, or none that is known.
SELECT * FROM simhash_components('{}'::integer[], '{}');
SELECT * FROM simhash_components('{}'::text[], '{}');
SELECT * FROM simhash_components(NULL::integer[], '{1}');
SELECT * FROM simhash_components(ARRAY[1], NULL);
SELECT * FROM simhash_components(ARRAY[1], ARRAY[2], NULL);
SELECT c.* FROM (SELECT array_agg(a) AS a, array_agg(b) AS b FROM (SELECT 1, 2 LIMIT 0) AS none (a, b)) AS p,
    simhash_components(p.a, p.b) AS c;

-- Eight variants of each of 400 random fingerprints, far apart in the table, and copies; one in ten is NULL. A chain of
-- steps of one bit goes through many of the groups that are made below.
CREATE TABLE components_docs AS
SELECT n AS id, CASE WHEN n % 10 <> 0 THEN ('x' || left(md5((n % 400)::text), 16))::bit(64)::bigint
    # ((ARRAY[0, 1, 3, 7, 1 + (1 << 20), 0, 15 << 10, 1 << 20])[1 + n / 400 % 8]::bigint << n % 40) END AS fp
FROM generate_series(1, 3600) AS n
UNION ALL SELECT 5000 - n, (1::bigint << n) - 1 FROM generate_series(0, 62) AS n;
-- Clusters, named by their smallest id.
CREATE TABLE components_true AS
SELECT id, min(id) OVER (PARTITION BY cluster) AS component, count(*) OVER (PARTITION BY cluster) AS rows
FROM (SELECT id, simhash_cluster(id, fp) OVER (ORDER BY id) AS cluster FROM components_docs) AS clusters WHERE cluster IS NOT NULL;
SELECT count(*) AS documents, count(DISTINCT component) AS components, max(rows) AS largest, count(*) FILTER (WHERE rows = 1) AS alone
FROM components_true;
CREATE FUNCTION components_differ(query text) RETURNS TABLE (found_rows bigint, differences bigint) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TEMP TABLE components_found AS SELECT * FROM (%s) AS x (id, component)', query);
    RETURN QUERY SELECT (SELECT count(*) FROM components_found), count(*) FROM (
        (SELECT id, component FROM components_true WHERE rows > 1 EXCEPT ALL TABLE components_found) UNION ALL
        (TABLE components_found EXCEPT ALL SELECT id, component FROM components_true WHERE rows > 1)) AS different;
    DROP TABLE components_found;
END
$$;
-- The components of all pairs are the clusters that have several rows.
CREATE TABLE components_pairs AS
SELECT p.a, p.b FROM (SELECT array_agg(id) AS ids, array_agg(fp) AS fps FROM components_docs) AS docs, simhash_pairs(ids, fps) AS p;
SELECT * FROM components_differ(
    'SELECT c.* FROM (SELECT array_agg(a) AS a, array_agg(b) AS b FROM components_pairs) AS p, simhash_components(p.a, p.b) AS c');
-- So they are with ids of other types: sorted by themselves, by abbreviated keys, which are often equal, or by comparison.
SELECT id, d.* FROM unnest(ARRAY['N::smallint', 'N::integer', 'N::oid', 'N::numeric', 'N::float8',
    $$'2026-01-01'::date + N::integer$$, $$'2026-01-01'::timestamptz + N * interval '1 s'$$,
    $$'a document ' || lpad(N::text, 5, '0')$$, $$('a document ' || lpad(N::text, 5, '0')) COLLATE "C"$$,
    $$lpad(N::text, 9, '0')::bpchar COLLATE "POSIX"$$, $$lpad(N::text, 5, '0')::name$$, $$decode(lpad(N::text, 24, '0'), 'hex')$$,
    $$lpad(N::text, 32, '0')::uuid$$, $$(lpad(N::text, 8, '0') || repeat('0', 24))::uuid$$, $$'10.0.0.0'::inet + N$$,
    $$lpad(N::text, 12, '0')::macaddr$$]) AS id,
    components_differ(format('SELECT i.id, j.id FROM (SELECT array_agg(%s), array_agg(%s) FROM components_pairs) AS p (a, b),
        simhash_components(p.a, p.b) AS c JOIN components_docs AS i ON %s = c.id JOIN components_docs AS j ON %s = c.component',
        replace(id, 'N', 'a'), replace(id, 'N', 'b'), replace(id, 'N', 'i.id'), replace(id, 'N', 'j.id'))) AS d;
-- Searched in 64 groups: each row is in four, by a block of its fingerprint and the block's four upper bits. Two rows
-- within distance 3 agree on a block, so some group has both.
CREATE TABLE components_keyed AS
SELECT i * 16 + (simhash_block(fp, i) >> 12) AS key, id, fp FROM components_docs, generate_series(0, 3) AS i WHERE fp IS NOT NULL;
CREATE TABLE components_of_groups AS
SELECT DISTINCT p.a, p.b
FROM (SELECT array_agg(id ORDER BY id) AS ids, array_agg(fp ORDER BY id) AS fps FROM components_keyed GROUP BY key) AS groups,
    simhash_pairs(ids, fps) AS p;
SELECT count(*) AS pairs, count(*) FILTER (WHERE (a, b) IN (SELECT least(a, b), greatest(a, b) FROM components_pairs)) AS expected,
    (SELECT count(*) FROM components_pairs) AS all_pairs
FROM components_of_groups;
SELECT * FROM components_differ('SELECT c.* FROM (SELECT array_agg(a) AS a, array_agg(b) AS b FROM components_of_groups) AS p,
    simhash_components(p.a, p.b) AS c');
-- Components of groups are pairs themselves: of an id and its component. So are the clusters of a group.
SELECT * FROM components_differ('SELECT c.* FROM (SELECT array_agg(x.id) AS a, array_agg(x.component) AS b
        FROM (SELECT array_agg(a) AS a, array_agg(b) AS b FROM components_pairs GROUP BY a % 50) AS p,
            simhash_components(p.a, p.b) AS x WHERE x.id <> x.component) AS p,
    simhash_components(p.a, p.b) AS c');
SELECT * FROM components_differ('SELECT c.* FROM (SELECT array_agg(id) AS a, array_agg(first) AS b
        FROM (SELECT id, first_value(id) OVER (PARTITION BY key, cluster ORDER BY id) AS first
              FROM (SELECT key, id, simhash_cluster(id, fp) OVER (PARTITION BY key) AS cluster FROM components_keyed) AS clusters
             ) AS firsts WHERE id <> first) AS p,
    simhash_components(p.a, p.b) AS c');
-- For distance 5: six blocks, of 11 or 10 bits.
SELECT count(*) AS pairs, (SELECT count(*) FROM (SELECT array_agg(id ORDER BY id) AS ids, array_agg(fp ORDER BY id) AS fps
    FROM components_docs) AS docs, simhash_pairs(ids, fps, 5)) AS all_pairs
FROM (SELECT DISTINCT a, b FROM (SELECT array_agg(id ORDER BY id) AS ids, array_agg(fp ORDER BY id) AS fps
    FROM components_docs, generate_series(0, 5) AS i WHERE fp IS NOT NULL
    GROUP BY i * 16 + (simhash_block(fp, i, 6) >> (64 / 6 + (i < 64 % 6)::integer - 4))) AS groups, simhash_pairs(ids, fps, 5)) AS found;
-- Rows come in the order of ids. In a SELECT list they come one by one.
SELECT bool_and(id > before) AS ascending FROM (SELECT id, lag(id) OVER () AS before
    FROM (SELECT array_agg(a) AS a, array_agg(b) AS b FROM components_pairs) AS p, simhash_components(p.a, p.b)) AS rows;
SELECT bool_and(id > before) AS ascending FROM (SELECT id, lag(id) OVER () AS before
    FROM (SELECT array_agg('id ' || md5(a::text)) AS a, array_agg('id ' || md5(b::text)) AS b FROM components_pairs) AS p,
        simhash_components(p.a, p.b)) AS rows;
SELECT (simhash_components(ARRAY['b', 'c'], ARRAY['a', 'd'])).* LIMIT 3;
-- Toasted arrays of a row that is deleted before all ids are fetched.
CREATE TEMP TABLE components_arrays AS SELECT array_agg('id ' || a) AS a, array_agg('id ' || b) AS b FROM components_pairs;
BEGIN;
DECLARE components CURSOR FOR SELECT simhash_components(a, b) FROM components_arrays;
FETCH 1 FROM components;
DELETE FROM components_arrays;
FETCH 1 FROM components;
MOVE ALL FROM components;
ROLLBACK;

-- A million different ids.
SELECT count(*) FROM (SELECT array_agg(hashint8extended(n, 0)), array_agg(hashint8extended(n, 1))
    FROM generate_series(1, 1000000) AS n) AS many (a, b), simhash_components(a, b);

-- A comparison that fails, and one that contradicts itself: an error, and some components.
CREATE FUNCTION components_compare(a components_row, b components_row) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN 1 - a.number % 3 + 0 / (a.number - 7);
END
$$;
CREATE FUNCTION components_less(a components_row, b components_row) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT a.number < b.number';
CREATE OPERATOR <<< (LEFTARG = components_row, RIGHTARG = components_row, FUNCTION = components_less);
CREATE OPERATOR CLASS components_order DEFAULT FOR TYPE components_row USING btree AS
    OPERATOR 1 <<<, FUNCTION 1 components_compare(components_row, components_row);
SELECT count(*) > 0 AS found FROM (SELECT array_agg(ROW('', n * 10)::components_row) AS a FROM generate_series(1, 300) AS n) AS x, simhash_components(a, a);
SELECT errors($$SELECT * FROM simhash_components(ARRAY[ROW('', 1), ROW('', 7)]::components_row[], ARRAY[ROW('', 5), ROW('', 7)]::components_row[])$$);

\set VERBOSITY terse
SELECT * FROM simhash_components(ARRAY[1, 2], ARRAY['a', 'b']);
\set VERBOSITY default
SELECT errors($$SELECT * FROM simhash_components(ARRAY[1, 2], ARRAY[1])$$,
    $$SELECT * FROM simhash_components('{}', ARRAY['a'])$$,
    $$SELECT * FROM simhash_components(ARRAY[1, NULL], ARRAY[1, 2])$$,
    $$SELECT * FROM simhash_components(ARRAY['a', 'b'], ARRAY[NULL, 'a'])$$,
    $$SELECT * FROM simhash_components(ARRAY[[1, 2], [3, 4]], ARRAY[1, 2, 3, 4])$$,
    $$SELECT * FROM simhash_components(ARRAY[1, 2, 3, 4], ARRAY[[1, 2], [3, 4]])$$,
    $$SELECT * FROM simhash_components(ARRAY['(1,1)']::point[], ARRAY['(1,2)']::point[])$$,
    $$SELECT * FROM simhash_components('{}'::json[], '{}')$$,
    $$SELECT count(*) FROM simhash_components(ARRAY[ROW(1, point(1, 2))], ARRAY[ROW(1, point(1, 1))]) AS c (id, component)$$,
    $$SELECT * FROM simhash_components(ARRAY['a' COLLATE "C"], ARRAY['b' COLLATE "POSIX"])$$);
DROP TABLE components_docs, components_true, components_pairs, components_keyed, components_of_groups, components_arrays;
DROP FUNCTION components_differ;
DROP OPERATOR CLASS components_order USING btree CASCADE;
DROP OPERATOR <<< (components_row, components_row);
DROP FUNCTION components_less, components_compare;
DROP COLLATION components_no_case;
DROP DOMAIN components_id;
DROP TYPE components_row, components_enum;
