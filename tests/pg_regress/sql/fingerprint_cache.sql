-- Each backend caches the last text with its fingerprint. Only the time saved may be noticeable.
CREATE FUNCTION pg_temp.right(content text, options jsonb) RETURNS boolean LANGUAGE sql AS $$
    SELECT simhash(content, options) IS NOT DISTINCT FROM
        (SELECT simhash(array_agg(feature), array_agg(weight)) FROM simhash_features(content, options))
$$;
-- The same text with other options and the same options with another text, alternating and in a row.
SELECT count(*), bool_and(pg_temp.right(content, options)) AS right,
    count(DISTINCT simhash(content, options)) AS fingerprints
FROM (SELECT content, options
      FROM generate_series(1, 4) AS round,
          unnest(ARRAY['To be or not to be', 'to be or not to be', 'To be or not to b', 'To be or not to be ', '',
              '生存か死か']) WITH ORDINALITY AS texts (content, n),
          unnest(ARRAY['{}', '{"ngram": 2}', '{"weight": "tf"}', '{"case_fold": false}', '{"tokens": "chars"}',
              '{"weight": "log"}', '{"ngram": 3}']::jsonb[]) WITH ORDINALITY AS documents (options, m)
      ORDER BY round, CASE WHEN round % 2 = 0 THEN n ELSE m END, n, m) AS calls;

-- Texts of one length that differ in their last byte, their first, or in the middle; prefixes of one another.
SELECT count(DISTINCT simhash(content)), bool_and(pg_temp.right(content, '{}')) AS right
FROM unnest(ARRAY['aaaaa bbbbb', 'aaaaa bbbbc', 'caaaa bbbbb', 'aaaab bbbbb', 'aaaaa', 'aaaaa b',
    'aaaaa bbbbb bbbbb']) AS content;

-- After an error in the text or in the options, and within a subtransaction.
CREATE FUNCTION pg_temp.failing(content text, options text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RETURN simhash(content, options);
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE;
END
$$;
SELECT pg_temp.failing('remember me', '{}') = simhash(ARRAY['remember', 'me'])::text AS before,
    pg_temp.failing('remember me', '{"ngram": 0}') AS options,
    pg_temp.failing('remember me', '{}') = simhash(ARRAY['remember', 'me'])::text AS after;
SELECT pg_temp.failing('a' || repeat(U&'\0301', 600000), '{}') AS error,
    pg_temp.failing('a' || repeat(U&'\0301', 600000), '{}') AS again,
    simhash('remember me') = simhash(ARRAY['remember', 'me']) AS after,
    simhash('') IS NULL AS none;

-- After a statement that was cancelled within a text: the text that was cached before, the cancelled text again, and
-- another one.
CREATE TEMP TABLE long (content text);
ALTER TABLE long ALTER content SET STORAGE EXTERNAL;
INSERT INTO long SELECT repeat('ab', 10000000);
SELECT simhash(content, '{"tokens": "chars", "ngram": 16}') AS long, simhash('short') AS short FROM long \gset
\set VERBOSITY sqlstate
SELECT simhash(CASE WHEN pg_cancel_backend(pg_backend_pid()) THEN content END, '{"tokens": "chars", "ngram": 16, "case_fold": false}') FROM long;
SELECT simhash('short') = :short AS short;
SELECT simhash(CASE WHEN pg_cancel_backend(pg_backend_pid()) THEN content END, '{"tokens": "chars", "ngram": 16, "case_fold": false}') FROM long;
SELECT simhash(content, '{"tokens": "chars", "ngram": 16, "case_fold": false}') = :long AS long FROM long;
SELECT simhash(content, '{"tokens": "chars", "ngram": 16}') = :long AS long,
    simhash('short') = :short AS short
FROM long;
SELECT simhash(left(content, 1000)) = simhash(ARRAY[left(content, 1000)]) AS another FROM long;

-- Longer than what is cached (8 MB), exactly that long, and one byte shorter.
SELECT bool_and(simhash(content) = simhash(ARRAY[content]) AND simhash(content) = simhash(ARRAY[content])) AS right
FROM (SELECT repeat('x', (8 << 20) + n) FROM generate_series(-1, 1) n) AS texts (content);

-- Texts in all kinds of storage: whole, compressed, out of line, and both; the rows grouped and alternating.
SET default_toast_compression = 'pglz';
CREATE TABLE stored (id int, storage text, body text);
INSERT INTO stored
SELECT id, storage, repeat((SELECT string_agg(md5((n * id)::text), ' ') FROM generate_series(1, words) AS n), times)
FROM (VALUES ('whole', 3, 1), ('compressed', 3, 100), ('out of line', 300, 1), ('both', 300, 100)) AS kinds (storage, words, times),
    generate_series(1, 3) AS id;
SELECT storage, min(length(body)) AS length, max(pg_column_size(body)) < min(length(body)) AS compressed,
    bool_and(simhash(body) = simhash(body || '')) AS right, count(DISTINCT simhash(body)) AS distinct
FROM stored GROUP BY storage ORDER BY 2, 1;
-- Changed in the same transaction, in the same command, and rolled back.
BEGIN;
SELECT count(DISTINCT simhash(body)) FROM stored WHERE storage = 'both';
UPDATE stored SET body = 'changed ' || body WHERE storage = 'both' RETURNING simhash(body) = simhash(body || '') AS right;
SELECT bool_and(simhash(body) = simhash(body || '')) AS right FROM stored;
ROLLBACK;
SELECT bool_and(simhash(body) = simhash(body || '')) AS right FROM stored;
