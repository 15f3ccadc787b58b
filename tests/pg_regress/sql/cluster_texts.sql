-- simhash_cluster and simhash_duplicate_of of texts: what simhash_near connects.
CREATE TABLE docs (id text PRIMARY KEY, tenant text, body text);
-- Of words and pairs of words, 1 and 2 share 19 of 21 (.90), 2 and 3 share 19 of 23 (.83), 1 and 3 share 17 of 23 (.74);
-- 6 is row 2 in the opposite order of words, and no copy; 8 has the words of 5, and 7 and 9 have none.
INSERT INTO docs VALUES
    ('one', 'a', 'a b c d e f g h i j'), ('two', 'b', 'a b c d e f g h i j k'), ('three', 'a', 'b c d e f g h i j k l'),
    ('null', 'a', NULL), ('five', 'a', 'the same template, filled in differently'),
    ('six', 'b', 'K, J, i, h, g, f, e, d, c, b, a'), ('seven', NULL, '?!'),
    ('eight', 'b', 'The same template: filled in differently.'), ('nine', 'b', '?!');
ALTER TABLE docs ADD number integer GENERATED ALWAYS AS IDENTITY;
-- A cluster is a chain of near-duplicates; a duplicate is near a row that stays. By .8, three is like two and in its
-- cluster, but two is a duplicate of one, and three is not. In the opposite order, the last rows stay.
\set criterion '{"max_distance": 64, "radii": [], "resemblance": 0.8}'
SELECT id, simhash_cluster(id, body, :'criterion') OVER w AS cluster,
    simhash_duplicate_of(id, body, :'criterion') OVER w AS duplicate_of,
    simhash_cluster(id, body, :'criterion') OVER (ORDER BY number DESC) AS cluster_from_the_end,
    simhash_duplicate_of(id, body, :'criterion') OVER (ORDER BY number DESC) AS duplicate_from_the_end,
    simhash_duplicate_of(id, body, :'criterion') OVER (PARTITION BY tenant ORDER BY number
        ROWS BETWEEN CURRENT ROW AND CURRENT ROW EXCLUDE CURRENT ROW) AS of_tenant
FROM docs WINDOW w AS (ORDER BY number) ORDER BY number;

-- Keys by reference and of any length, NULLs, one row, no row.
SELECT simhash_cluster(docs, body) OVER w AS rows, simhash_duplicate_of(ARRAY[number, 0], body) OVER w AS arrays,
    simhash_cluster(nullif(number, 5), body) OVER w AS nulls FROM docs WINDOW w AS (ORDER BY number) ORDER BY number;
SELECT DISTINCT simhash_cluster(id, body, NULL::jsonb) OVER () AS a, simhash_duplicate_of(id, body, NULL) OVER () AS b,
    simhash_cluster(id, NULL::text) OVER () AS c FROM docs;
SELECT simhash_cluster(id, body) OVER (), simhash_duplicate_of(id, body) OVER () FROM docs WHERE number = 5;
SELECT simhash_cluster(id, body) OVER (), simhash_duplicate_of(id, body) OVER () FROM docs WHERE false;

-- Errors, whether there is a near row or not.
SELECT errors($$SELECT simhash_duplicate_of(1, 'a'::text)$$,
    $$SELECT simhash_cluster(id, body, '{"max_distance": 65}') OVER () FROM docs$$,
    $$SELECT simhash_duplicate_of(id, body, '{"ngrams": 2}') OVER () FROM docs WHERE number = 1$$,
    $$SELECT simhash_cluster(id, body || repeat(U&'\0301', 600000)) OVER () FROM docs$$,
    $$SELECT max(simhash_duplicate_of(id, body)) FROM docs$$,
    $$SELECT id FROM docs WHERE simhash_duplicate_of(id, body) OVER () = '1'$$);
DROP TABLE docs CASCADE;

-- The definitions, on templates with many words in common that are filled in differently, chains of small changes, and
-- copies. More rows than fit in memory, and long texts out of line.
SET work_mem = '64kB';
CREATE TABLE docs AS
SELECT n AS id, body
FROM generate_series(1, 2000) AS n CROSS JOIN LATERAL
    (SELECT string_agg(md5(CASE WHEN word <= 12 + n % 4 * 10 THEN n % 97 ELSE n / 97 END || ' ' || word), ' ')
         || CASE WHEN n % 500 = 0 THEN repeat(' more words', 10000) ELSE '' END
     FROM generate_series(1, 45) AS word) AS text (body)
UNION ALL SELECT 2000 + n, CASE WHEN n % 2 = 0 THEN '!' END FROM generate_series(1, 10) AS n;
ALTER TABLE docs ALTER body SET STORAGE EXTERNAL, ADD fp bigint GENERATED ALWAYS AS (simhash(body)) STORED;
UPDATE docs SET body = body || '' WHERE id % 500 = 0;
CREATE TABLE expected (id integer, cluster integer, duplicate_of integer);
CREATE FUNCTION differences(criterion jsonb, near integer, OUT clusters bigint, OUT duplicates bigint, OUT wrong bigint)
LANGUAGE plpgsql AS $$
DECLARE
    this record;
BEGIN
    EXECUTE format('CREATE TABLE pairs AS
        WITH docs AS MATERIALIZED (SELECT id, body, simhash(body, %L) AS fp FROM docs)
        SELECT a.id AS a, b.id AS b, a.fp <~> b.fp AS distance FROM docs AS a JOIN docs AS b
            ON a.id < b.id AND a.fp <~> b.fp <= %s AND simhash_near(a.body, b.body, %L)',
        criterion - '{max_distance,radii,flips,resemblance}'::text[], near, criterion);
    TRUNCATE expected;
    INSERT INTO expected SELECT id, id FROM docs WHERE fp IS NOT NULL;
    LOOP -- Each row takes the lowest name among its near rows, until none changes.
        UPDATE expected AS t SET cluster = least FROM
            (SELECT p.id, min(other.cluster) AS least FROM expected AS other
            JOIN (SELECT a AS id, b FROM pairs UNION ALL SELECT b, a FROM pairs) AS p ON other.id = p.b
            GROUP BY p.id) AS near
        WHERE near.id = t.id AND least < cluster;
        EXIT WHEN NOT FOUND;
    END LOOP;
    CREATE INDEX ON pairs (b);
    FOR this IN SELECT id FROM expected ORDER BY id LOOP -- row by row, as a guard
        UPDATE expected AS t SET duplicate_of = (SELECT a FROM pairs JOIN expected AS kept
            ON kept.id = a AND kept.duplicate_of IS NULL WHERE b = this.id ORDER BY distance, a LIMIT 1)
        WHERE t.id = this.id;
    END LOOP;
    EXECUTE format('SELECT count(DISTINCT f.cluster), count(f.duplicate_of), count(*) FILTER (WHERE
            f.cluster IS DISTINCT FROM t.cluster OR f.duplicate_of IS DISTINCT FROM t.duplicate_of)
        FROM (SELECT id, simhash_cluster(id, body, %1$L) OVER w AS cluster, simhash_duplicate_of(id, body, %1$L) OVER w
                AS duplicate_of FROM docs WINDOW w AS (ORDER BY id)) AS f LEFT JOIN expected AS t USING (id)', criterion)
    INTO clusters, duplicates, wrong;
    DROP TABLE pairs;
END
$$;
CREATE INDEX ON expected (id);
ANALYZE docs;
SELECT criterion, found.* FROM (VALUES
    ('{"resemblance": 0.75, "flips": []}', 10),
    ('{"resemblance": 0.6, "radii": [], "max_distance": 12}', 12),
    ('{"resemblance": null}', 3),
    ('{"resemblance": 0.7, "radii": [2, -1, 0], "flips": [], "max_distance": 12, "weight": "tf"}', 12),
    ('{"resemblance": 0, "radii": [], "max_distance": 3, "tokens": "chars"}', 3)
) AS criteria (criterion, distance), differences(criterion::jsonb, distance) AS found;
