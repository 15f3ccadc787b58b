-- simhash_components: the connected components of pairs that come from many groups.
SELECT * FROM simhash_components(ARRAY[5, 1, 9, 7, 4], ARRAY[3, 2, 5, 7, 5]);
-- The order of the pairs does not matter, nor that of the two ids, nor how often a pair is given.
SELECT * FROM simhash_components(ARRAY[5, 7, 5, 2, 3, 2], ARRAY[4, 7, 9, 1, 5, 1]);
-- Ids of any type that can be sorted: by value and by reference, of fixed and variable length, domains, rows, enums.
CREATE TYPE row_id AS (kind text, number integer);
CREATE TYPE enum_id AS ENUM ('z', 'y', 'x');
SELECT * FROM simhash_components(ARRAY['one', repeat('three', 3), 'four'], ARRAY['two', 'one', 'five']);
SELECT * FROM simhash_components(ARRAY['NaN', 1.5, '-Infinity']::float8[], ARRAY['Infinity', 'NaN', 2]::float8[]);
SELECT * FROM simhash_components(ARRAY[ROW('x', 2), ROW('y', 1)]::row_id[],
    ARRAY[ROW('x', 1), ROW(NULL, 1)]::row_id[]);
SELECT * FROM simhash_components(ARRAY['x', 'y']::enum_id[], ARRAY['y', 'z']::enum_id[]);
-- Values that are equal are one id, which is shown as it stands first.
SELECT * FROM simhash_components(ARRAY[1.0, 2.50, 1], ARRAY[3, 1.00, 4]);
-- The collation orders the ids, and says which of them are equal.
SELECT id, lower(component COLLATE "C") AS component
FROM simhash_components(ARRAY['b', 'c'] COLLATE no_case, ARRAY['a', other_case('b')]);
SELECT id FROM simhash_components(ARRAY['b', 'a'] COLLATE "C", ARRAY['B', 'A']);
-- If an array is NULL, the result has no rows.
SELECT * FROM simhash_components(NULL::integer[], '{1}');
SELECT * FROM simhash_components(ARRAY[1], NULL);

-- Pairs whose components are known, with ids that are sorted by themselves, by abbreviated keys, which are often equal,
-- or by comparison.
CREATE TABLE steps_of_seven AS SELECT n AS a, n + 7 AS b FROM generate_series(1, 3000) AS n ORDER BY md5(n::text);
CREATE FUNCTION check_ids(id text, OUT right_ones bigint, OUT wrong_ones bigint) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('SELECT count(*) FILTER (WHERE j.n = (i.n - 1) %% 7 + 1),
            count(*) FILTER (WHERE j.n <> (i.n - 1) %% 7 + 1)
        FROM (SELECT array_agg(%s), array_agg(%s) FROM steps_of_seven) AS p (a, b), simhash_components(p.a, p.b) AS c
            JOIN generate_series(1, 3007) AS i (n) ON %s = c.id
            JOIN generate_series(1, 3007) AS j (n) ON %s = c.component',
        replace(id, 'N', 'a'), replace(id, 'N', 'b'), replace(id, 'N', 'i.n'), replace(id, 'N', 'j.n'))
    INTO right_ones, wrong_ones;
END
$$;
SELECT id, check_ids.* FROM unnest(ARRAY['N::smallint', 'N::numeric', $$'2026-01-01'::date + N::integer$$,
    $$'a document ' || lpad(N::text, 5, '0')$$, $$('a document ' || lpad(N::text, 5, '0')) COLLATE "C"$$,
    $$lpad(N::text, 9, '0')::bpchar COLLATE "POSIX"$$, $$lpad(N::text, 32, '0')::uuid$$,
    $$(lpad(N::text, 8, '0') || repeat('0', 24))::uuid$$, $$'10.0.0.0'::inet + N$$]) AS id, check_ids(id);
-- Rows come in the order of ids.
SELECT bool_and(id > before) AS ascending FROM (SELECT id, lag(id) OVER () AS before
    FROM (SELECT array_agg('id ' || md5(a::text)) AS a, array_agg('id ' || md5(b::text)) AS b FROM steps_of_seven)
        AS p, simhash_components(p.a, p.b)) AS rows;

-- A comparison that contradicts itself gives some components; one that fails gives an error.
CREATE FUNCTION compare_wrongly(a row_id, b row_id) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS
    $$ BEGIN RETURN 1 - a.number % 3 + 0 / (a.number - 7); END $$;
CREATE FUNCTION is_less(a row_id, b row_id) RETURNS boolean LANGUAGE sql IMMUTABLE
    RETURN a.number < b.number;
CREATE OPERATOR <<< (LEFTARG = row_id, RIGHTARG = row_id, FUNCTION = is_less);
CREATE OPERATOR CLASS wrong_order DEFAULT FOR TYPE row_id USING btree AS
    OPERATOR 1 <<<, FUNCTION 1 compare_wrongly(row_id, row_id);
SELECT count(*) > 0 AS found FROM simhash_components(
    ARRAY(SELECT ROW('', n * 10)::row_id FROM generate_series(1, 300) AS n),
    ARRAY(SELECT ROW('', n * 10)::row_id FROM generate_series(1, 300) AS n));
SELECT errors($$SELECT * FROM simhash_components(ARRAY[ROW('', 1), ROW('', 7)]::row_id[],
    ARRAY[ROW('', 5), ROW('', 7)]::row_id[])$$);

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
    $$SELECT count(*)
    FROM simhash_components(ARRAY[ROW(1, point(1, 2))], ARRAY[ROW(1, point(1, 1))]) AS c (id, component)$$,
    $$SELECT * FROM simhash_components(ARRAY['a' COLLATE "C"], ARRAY['b' COLLATE "POSIX"])$$);
