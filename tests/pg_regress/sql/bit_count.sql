-- Distances as applications without the extension compute them: they are searched and ordered as simhash_near and <~>
-- are, and give the same rows as without the scan.

-- With these settings, the planner searches small tables too, at any distance.
SET enable_seqscan = off; SET enable_sort = off;

CREATE FUNCTION hex(number bigint) RETURNS text IMMUTABLE LANGUAGE sql RETURN lpad(to_hex(number), 16, '0');

-- Uniform fingerprints, each with a near one; skewed ones, in two groups that each agree in three blocks; and NULLs.
CREATE TABLE numbers (id integer, fp bigint, seen timestamp, owner integer);
INSERT INTO numbers
SELECT n, CASE
        WHEN n <= 1000 THEN random_fingerprint(n)
        WHEN n <= 2000 THEN random_fingerprint(n - 1000) # (1::bigint << (n % 64)) # (1::bigint << (n * 7 % 64))
        WHEN n <= 2900 THEN random_fingerprint(1) # (random_fingerprint(n) >> 48)
    END, timestamp '2026-01-01' + n * interval '1 minute', n % 7 FROM generate_series(1, 3000) AS n;
CREATE TABLE strings AS SELECT id, fp::bit(64) AS phash FROM numbers;
CREATE TABLE digits AS SELECT id, CASE WHEN id % 2 = 0 THEN upper(hex(fp)) ELSE hex(fp) END AS phash FROM numbers;
SELECT simhash_attach('numbers', 'fp'), simhash_attach('strings', 'phash'),
    simhash_attach('digits', 'phash', options => '{"source": "hex"}');
VACUUM ANALYZE numbers, strings, digits;

-- Whether the queries of each form are searched, how many of them find rows, and whether they find the same without the
-- scan. $Q, $B and $H stand for the query as a number, in bits and in hexadecimal digits; $K for the distance. The
-- queries are in the clusters of uniform and skewed fingerprints, and near nothing.
CREATE FUNCTION compare_forms(source regclass, forms text[])
RETURNS TABLE (form text, searched boolean, finding bigint, same boolean) LANGUAGE sql AS $$
    SELECT form, bool_and(is_searched(statement)), count(same), bool_and(same)
    FROM unnest(forms) WITH ORDINALITY AS f (form, n),
        unnest(ARRAY[random_fingerprint(7) # 1, random_fingerprint(1), 42]) AS query,
        unnest('{0,1,3,6,70}'::integer[]) AS k,
        replace(replace(form, '$Q', query::text), '$K', k::text) AS with_numbers,
        replace(replace(with_numbers, '$B', query::bit(64)::text), '$H', hex(query)) AS condition,
        format('SELECT id FROM %s WHERE %s', source, condition) AS statement,
        LATERAL (SELECT same_rows(statement) OFFSET 0) AS s (same)
    GROUP BY n, form ORDER BY n
$$;

CREATE FUNCTION hamming_distance(a bigint, b bigint) RETURNS integer LANGUAGE sql IMMUTABLE AS
    $$ SELECT bit_count((a # b)::bit(64))::integer $$;
CREATE FUNCTION strict_distance(a bigint, b bigint) RETURNS integer LANGUAGE sql IMMUTABLE STRICT AS
    $$ SELECT bit_count((a # b)::bit(64))::integer $$;
CREATE FUNCTION bits_apart(a bit, b bit) RETURNS bigint LANGUAGE sql AS $$ SELECT bit_count(a # b) $$;

SELECT count(*), searched, finding, same FROM compare_forms('numbers', ARRAY[
    'bit_count((fp # ''$Q'')::bit(64)) <= $K',
    'bit_count((fp # ''$Q'')::bit(64)) < $K',
    'bit_count((fp # ''$Q'')::bit(64)) = $K',
    '$K >= bit_count((''$Q'' # fp)::bit(64))',
    'NOT bit_count((fp # ''$Q'')::bit(64)) > $K',
    'bit_count((fp # ''$Q'')::bit(64))::integer <= $K',
    'bit_count(fp::bit(64) # ''$Q''::bigint::bit(64)) <= $K',
    'bit_count(fp::bit(64) # B''$B'') <= $K',
    'bit_count(fp::bit(64) # (''x'' || ''$H'')::bit(64)) <= $K',
    'hamming_distance(fp, ''$Q'') <= $K',
    'strict_distance(''$Q'', fp) <= $K',
    'bits_apart(fp::bit(64), B''$B'') < $K',
    'bit_count((fp # ''$Q'')::bit(64)) <= $K AND owner = 3 AND seen >= ''2026-01-01 12:00'' AND id <> 7'])
GROUP BY searched, finding, same ORDER BY finding;
SELECT count(*), searched, finding, same FROM compare_forms('strings', ARRAY[
    'bit_count(phash # B''$B'') <= $K',
    'bit_count(phash # ''$B'') <= $K',
    'bit_count(phash::bit varying # ''$B'') <= $K',
    'bit_count(phash::bit(64) # (''x'' || ''$H'')::bit(64)) <= $K',
    'bits_apart(phash, B''$B'') <= $K']) GROUP BY searched, finding, same ORDER BY finding;
SELECT count(*), searched, finding, same FROM compare_forms('digits', ARRAY[
    'bit_count((''x'' || phash)::bit(64) # (''x'' || ''$H'')::bit(64)) <= $K',
    'bit_count(((''x'' || phash)::bit(64)::bigint # ''$Q'')::bit(64)) <= $K'])
GROUP BY searched, finding, same ORDER BY finding;

-- Other meanings do not match: other widths, other digits, other functions, several columns of the same row.
SELECT * FROM compare_forms('numbers', ARRAY[
    'bit_count((fp # ''$Q'')::bit(32)) <= $K',
    'bit_count((fp & ''$Q'')::bit(64)) <= $K',
    'bit_count((fp # id)::bit(64)) <= $K',
    'bit_count(fp::bit(32) # ''$Q''::bigint::bit(32)) <= $K',
    'bit_count(int8send(fp # ''$Q'')) <= $K',
    'bit_count((fp # ''$Q'')::bit(64)) <= $K + .5',
    'octet_length((fp # ''$Q'')::bit(64)) <= $K']);
SELECT * FROM compare_forms('strings', ARRAY[
    'bit_count(phash::bit(32) # B''$B''::bit(32)) <= $K',
    'bit_count(phash & B''$B'') <= $K']);
SELECT * FROM compare_forms('digits', ARRAY[
    'bit_count((''x'' || phash)::bit(32) # (''x'' || ''$H'')::bit(32)) <= $K',
    'bit_count((''x'' || lower(phash))::bit(64) # (''x'' || ''$H'')::bit(64)) <= $K']);
-- A query of another width, or with wrong digits, fails as it does without the scan.
SELECT errors('SELECT id FROM strings WHERE bit_count(phash # B''101'') <= 3',
    'SELECT id FROM digits WHERE bit_count((''x'' || phash)::bit(64) # (''x'' || ''g'')::bit(64)) <= 3');

-- The nearest rows are searched for by each form but that of 32 bits.
SELECT source, distance, is_searched(query) AS searched, same_rows(query) AS same FROM (VALUES
    ('numbers', 'fp <~> 42'),
    ('numbers', 'bit_count((fp # 42)::bit(64))'),
    ('numbers', 'hamming_distance(fp, 42)'),
    ('strings', 'bit_count(phash # 42::bigint::bit(64))'),
    ('digits', 'bit_count((''x'' || phash)::bit(64) # (''x'' || ''000000000000002a'')::bit(64))'),
    ('numbers', 'bit_count((fp # 42)::bit(32))')) AS f (source, distance),
    LATERAL (SELECT format('SELECT array_agg(d) FROM (SELECT %s AS d FROM %s ORDER BY d LIMIT 50) AS nearest',
        distance, source)) AS q (query);
RESET enable_seqscan; RESET enable_sort;
-- A condition and an order of different forms.
EXPLAIN (COSTS OFF) SELECT id FROM strings WHERE bit_count(phash # 42::bigint::bit(64)) BETWEEN 0 AND 8
ORDER BY phash::bigint <~> 42 LIMIT 1;

-- Parameters, in generic plans. A bit string may come as one: if it has another width, the query fails.
SET plan_cache_mode = force_generic_plan;
PREPARE by_number(bigint, bigint) AS SELECT id FROM numbers WHERE bit_count((fp # $1)::bit(64)) <= $2;
PREPARE by_bits AS SELECT id FROM strings WHERE bit_count(phash # $1) <= $2 ORDER BY id;
PREPARE by_digits(text) AS SELECT id FROM digits WHERE bit_count(('x' || phash)::bit(64) # ('x' || $1)::bit(64)) <= 6;
EXPLAIN (COSTS OFF) EXECUTE by_number(1, 1);
SELECT random_fingerprint(7) AS seven, hex(random_fingerprint(7)) AS digits,
    random_fingerprint(7)::bit(64) AS bits \gset
EXECUTE by_number(:seven, 3);
-- A distance below all integers: no row.
EXECUTE by_number(:seven, -3000000000);
EXECUTE by_bits(:'bits', 3);
EXECUTE by_bits('101', 3);
EXECUTE by_digits(:'digits');
EXECUTE by_digits('no digits');
RESET plan_cache_mode;

-- The nearest rows to a column of another table.
CREATE TABLE queries AS SELECT n AS id, random_fingerprint(n) AS q FROM generate_series(5, 7) AS n;
ANALYZE queries;
SELECT queries.id, near.* FROM queries, LATERAL (
    SELECT id AS like_id, bit_count((fp # q)::bit(64)) AS distance FROM numbers
    ORDER BY bit_count((fp # q)::bit(64)) LIMIT 2) AS near ORDER BY queries.id, distance;

-- The estimate is that of simhash_near, with BETWEEN too.
SELECT k, estimated_rows(format('SELECT FROM numbers WHERE simhash_near(fp, 42, %s)', k)) AS near,
    estimated_rows(format('SELECT FROM numbers WHERE bit_count((fp # 42)::bit(64)) <= %s', k)) AS bit_count,
    estimated_rows(format('SELECT FROM numbers WHERE bit_count((fp # 42)::bit(64)) BETWEEN 0 AND %s', k)) AS "between",
    estimated_rows(format('SELECT FROM numbers WHERE bit_count((fp # 42)::bit(32)) <= %s', k)) AS "32 bits"
FROM unnest('{3,25,30}'::integer[]) AS k;

-- In a new session, planning such a query loads the library. A table without block indexes does not.
CREATE TABLE plain AS SELECT * FROM numbers;
ANALYZE plain;
CREATE FUNCTION is_loaded() RETURNS boolean LANGUAGE sql
    RETURN current_setting('pg_simhash.enable_scan', true) IS NOT NULL;
\c -
SELECT is_loaded();
EXPLAIN (COSTS OFF) SELECT id FROM plain WHERE bit_count((fp # 42)::bit(64)) <= 3;
SELECT is_loaded();
EXPLAIN (COSTS OFF) SELECT id FROM numbers WHERE bit_count((fp # 42)::bit(64)) <= 3;
SELECT is_loaded();

-- It does so too for a partition whose indexes have the blocks as expressions.
CREATE TABLE "Parts" (id integer, fp bigint) PARTITION BY RANGE (id);
CREATE TABLE part1 PARTITION OF "Parts" FOR VALUES FROM (0) TO (1000);
CREATE TABLE part2 PARTITION OF "Parts" FOR VALUES FROM (1000) TO (3000);
INSERT INTO "Parts" SELECT n, n * 7919::bigint << 40 FROM generate_series(0, 2999) AS n;
SELECT simhash_attach('"Parts"', 'fp');
\c -
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM part2 WHERE bit_count((fp # 42)::bit(64)) <= 3;
SELECT simhash_detach('"Parts"');
