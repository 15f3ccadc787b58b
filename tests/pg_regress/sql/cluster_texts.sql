-- simhash_cluster and simhash_duplicate_of of texts.
CREATE TABLE docs (id text PRIMARY KEY, tenant text, body text);
-- Of words and pairs of words, 1 and 2 share 19 of 21 (.90), 2 and 3 share 19 of 23 (.83), 1 and 3 share 17 of 23
-- (.74); 6 is row 2 in the opposite order of words, and not a copy; 8 has the words of 5, and 7 and 9 have none.
INSERT INTO docs VALUES
    ('one', 'a', 'a b c d e f g h i j'), ('two', 'b', 'a b c d e f g h i j k'), ('three', 'a', 'b c d e f g h i j k l'),
    ('null', 'a', NULL), ('five', 'a', 'the same template, filled in differently'),
    ('six', 'b', 'K, J, i, h, g, f, e, d, c, b, a'), ('seven', NULL, '?!'),
    ('eight', 'b', 'The same template: filled in differently.'), ('nine', 'b', '?!');
ALTER TABLE docs ADD number integer GENERATED ALWAYS AS IDENTITY;
-- A cluster is a chain of near-duplicates; a duplicate is near a row that stays. By .8, three is near two and in its
-- cluster, but two is a duplicate of one, and three is not. In the opposite order, the last rows stay.
\set criterion '{"resemblance": 0.8}'
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
    $$SELECT simhash_cluster(id, body, '{"resemblance": null}') OVER () FROM docs$$,
    $$SELECT simhash_duplicate_of(id, body, '{"max_distance": 3}') OVER () FROM docs$$,
    $$SELECT simhash_duplicate_of(id, body, '{"bands": 65}') OVER () FROM docs$$,
    $$SELECT simhash_cluster(id, body, '{"resemblance": 0.5}') OVER () FROM docs WHERE false$$,
    $$SELECT simhash_cluster(id, body, '{"resemblance": 0.5}') OVER () FROM docs$$,
    $$SELECT simhash_duplicate_of(id, body, '{"ngrams": 2}') OVER () FROM docs WHERE number = 1$$,
    $$SELECT simhash_cluster(id, body || repeat(U&'\0301', 600000)) OVER () FROM docs$$,
    $$SELECT max(simhash_duplicate_of(id, body)) FROM docs$$,
    $$SELECT id FROM docs WHERE simhash_duplicate_of(id, body) OVER () = '1'$$);
DROP TABLE docs CASCADE;

-- The two functions do what their definitions say: for templates with many words in common that are filled in
-- differently, chains of small changes, and copies; for more rows than fit in memory, and long texts out of line.
SET work_mem = '64kB';
CREATE TABLE docs AS
SELECT n AS id, body
FROM generate_series(1, 2000) AS n CROSS JOIN LATERAL
    (SELECT string_agg(md5(CASE WHEN word <= 12 + n % 4 * 10 THEN n % 97 ELSE n / 97 END || ' ' || word), ' ')
         || CASE WHEN n % 500 = 0 THEN repeat(' more words', 10000) ELSE '' END
     FROM generate_series(1, 45) AS word) AS text (body)
UNION ALL SELECT 2000 + n, CASE WHEN n % 2 = 0 THEN '!' END FROM generate_series(1, 10) AS n;
ALTER TABLE docs ALTER body SET STORAGE EXTERNAL;
UPDATE docs SET body = body || '' WHERE id % 500 = 0;
CREATE TABLE expected (id integer, cluster integer, duplicate_of integer);
CREATE FUNCTION compare_with_definitions(criterion jsonb, bands integer, OUT clusters bigint, OUT duplicates bigint,
    OUT wrong bigint)
LANGUAGE plpgsql AS $$
DECLARE
    options jsonb = criterion - '{bands,resemblance}'::text[];
    current_id integer;
BEGIN
    CREATE TABLE bands AS SELECT id, band, simhash_band(body, band, options) AS key
        FROM docs, generate_series(0, bands - 1) AS band;
    -- The near pairs among the pairs that share a band. No other pairs are near, as the table `edited` below shows.
    CREATE TABLE pairs AS SELECT a.id AS a, b.id AS b, simhash_resemblance(a.body, b.body, options) AS resemblance
        FROM (SELECT DISTINCT a.id AS a, b.id AS b FROM bands AS a JOIN bands AS b USING (band, key) WHERE a.id < b.id)
                AS near
            JOIN docs AS a ON a.id = a JOIN docs AS b ON b.id = b
        WHERE simhash_near(a.body, b.body, criterion);
    TRUNCATE expected;
    INSERT INTO expected SELECT id, id FROM bands WHERE band = 0 AND key IS NOT NULL;
    LOOP -- Each row takes the lowest name among its near rows, until none changes.
        UPDATE expected SET cluster = least FROM
            (SELECT p.id, min(other.cluster) AS least FROM expected AS other
            JOIN (SELECT a AS id, b FROM pairs UNION ALL SELECT b, a FROM pairs) AS p ON other.id = p.b
            GROUP BY p.id) AS near
        WHERE near.id = expected.id AND least < cluster;
        EXIT WHEN NOT FOUND;
    END LOOP;
    CREATE INDEX ON pairs (b);
    FOR current_id IN SELECT id FROM expected ORDER BY id LOOP -- row by row, as a guard
        UPDATE expected SET duplicate_of = (SELECT a FROM pairs JOIN expected AS kept
            ON kept.id = a AND kept.duplicate_of IS NULL WHERE b = current_id ORDER BY resemblance DESC, a LIMIT 1)
        WHERE expected.id = current_id;
    END LOOP;
    SELECT count(DISTINCT actual.cluster), count(actual.duplicate_of), count(*) FILTER (
            WHERE (actual.cluster, actual.duplicate_of) IS DISTINCT FROM (expected.cluster, expected.duplicate_of))
        INTO clusters, duplicates, wrong
        FROM (SELECT id, simhash_cluster(id, body, criterion) OVER w AS cluster,
                simhash_duplicate_of(id, body, criterion) OVER w AS duplicate_of
            FROM docs WINDOW w AS (ORDER BY id)) AS actual LEFT JOIN expected USING (id);
    DROP TABLE bands, pairs;
END
$$;
CREATE INDEX ON expected (id);
ANALYZE docs;
SELECT criterion, found.* FROM (VALUES
    ('{"resemblance": 0.84}', 6),
    ('{"resemblance": 0.75}', 12),
    ('{"resemblance": 0.3, "bands": 2}', 2),
    ('{"resemblance": 0.6, "weight": "tf", "ngram": 2}', 24),
    ('{"resemblance": 0.01, "bands": 1, "tokens": "chars"}', 1),
    ('{"resemblance": 0.5, "bands": 6, "same": ["94"]}', 6)
) AS criteria (criterion, bands), compare_with_definitions(criterion::jsonb, bands) AS found;

-- A guard that sees the rows one by one decides the same.
CREATE TABLE guarded (id integer PRIMARY KEY, body text, original integer);
CREATE FUNCTION compare_with_guard(criterion jsonb, OUT duplicates bigint, OUT wrong bigint) LANGUAGE plpgsql AS $$
BEGIN
    TRUNCATE guarded;
    PERFORM simhash_index('guarded', 'body', criterion - '{bands,resemblance,same}'::text[], 12);
    PERFORM simhash_guard('guarded', 'mark', criterion, mark_column => 'original');
    INSERT INTO guarded (id, body) SELECT id, body FROM docs ORDER BY id;
    SELECT count(original), count(*) FILTER (WHERE original IS DISTINCT FROM duplicate_of) INTO duplicates, wrong
        FROM (SELECT id, simhash_duplicate_of(id, body, criterion) OVER (ORDER BY id) AS duplicate_of FROM docs)
            AS expected FULL JOIN guarded USING (id);
END
$$;
SELECT criterion, found.* FROM (VALUES ('{}'), ('{"resemblance": 0.75, "same": ["94"]}'))
    AS criteria (criterion), compare_with_guard(criterion::jsonb) AS found;

-- One template: if the numbers must be the same, only letters with the same number are near-duplicates.
CREATE TABLE letters AS
SELECT n AS id, 'Dear customer, our records show that invoice ' || n % 15000
    || ' has not been paid, although it was due two '
    'weeks ago. Please send the amount to the account named below, or write to us if you have done so already.' AS body
FROM generate_series(1, 16000) AS n;
SELECT criterion, count(DISTINCT cluster) AS clusters, count(duplicate_of) AS duplicates, max(duplicate_of) AS last
FROM (VALUES (jsonb '{}'), ('{"same": ["numbers"]}')) AS criteria (criterion), LATERAL (
    SELECT simhash_cluster(id, body, criterion) OVER w AS cluster,
        simhash_duplicate_of(id, body, criterion) OVER w AS duplicate_of
    FROM letters WINDOW w AS (ORDER BY id)) AS found GROUP BY criterion ORDER BY criterion;

-- Two rows are connected if simhash_near of their texts is true: pairs of texts, one of which is edited, more or less.
-- Some edits are so large that the texts do not share a band.
CREATE TABLE edited AS
SELECT pair, version, string_agg(md5(format('%s %s %s', pair, word, version = 1 AND word <= 1 + pair % 4)), ' '
    ORDER BY word) AS body
FROM generate_series(1, 2000) AS pair, generate_series(0, 1) AS version, generate_series(1, 40) AS word
GROUP BY pair, version;
SELECT simhash_near(a.body, b.body) AS near, count(*), max(simhash_resemblance(a.body, b.body)) >= 0.84 AS resembles,
    count(*) FILTER (WHERE (cluster = 0) <> simhash_near(a.body, b.body)) AS wrong_clusters,
    count(*) FILTER (WHERE (duplicate_of IS NOT NULL) <> simhash_near(a.body, b.body)) AS wrong_duplicates
FROM (SELECT *, simhash_cluster(version, body) OVER w AS cluster,
    simhash_duplicate_of(version, body) OVER w AS duplicate_of
      FROM edited WINDOW w AS (PARTITION BY pair ORDER BY version)) AS b
    JOIN edited AS a USING (pair)
WHERE a.version = 0 AND b.version = 1 GROUP BY near ORDER BY near;

-- Messages of the level debug1 show the progress.
SET client_min_messages = debug1;
SELECT count(DISTINCT cluster) FROM (SELECT simhash_cluster(n, md5((n / 2)::text)) OVER (ORDER BY n) AS cluster
                                     FROM generate_series(1, 220000) AS n) AS found;
