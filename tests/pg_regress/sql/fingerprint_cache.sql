-- A backend caches the last text with its fingerprint. Only the time saved may be noticeable.
CREATE FUNCTION pg_temp.is_right(content text, options jsonb) RETURNS boolean LANGUAGE sql AS $$
    SELECT simhash(content, options) IS NOT DISTINCT FROM
        (SELECT simhash_of_features(array_agg(feature), array_agg(weight)) FROM simhash_features(content, options))
$$;
-- In even rounds, each text with all options in a row; in odd rounds, all texts with the same options in a row.
SELECT count(*), bool_and(pg_temp.is_right(content, options)) AS right,
    count(DISTINCT simhash(content, options)) AS fingerprints
FROM (SELECT content, options FROM generate_series(1, 4) AS round,
          unnest(ARRAY['To be or not to be', 'to be or not to be', 'To be or not to b', 'To be or not to be ', '',
              '生存か死か']) WITH ORDINALITY AS texts (content, text_number),
          unnest(ARRAY['{}', '{"ngram": 2}', '{"weight": "tf"}', '{"case_fold": false}', '{"tokens": "chars"}',
              '{"weight": "log"}', '{"ngram": 3}']::jsonb[]) WITH ORDINALITY AS documents (options, options_number)
      ORDER BY round, CASE WHEN round % 2 = 0 THEN text_number ELSE options_number END,
          text_number, options_number) AS calls;

-- The cached fingerprint stays right after an error in the text or in the options, caught in a subtransaction.
SELECT simhash_of_features(ARRAY['remember', 'me'])::text AS expected \gset
SELECT value_or_error($$SELECT simhash('remember me')$$) = :'expected' AS before,
    sqlstate_of($$SELECT simhash('remember me', '{"ngram": 0}')$$) AS invalid_options,
    value_or_error($$SELECT simhash('remember me')$$) = :'expected' AS after;
-- 54000: too many combining marks in a row for normalisation.
SELECT sqlstate_of($$SELECT simhash('a' || repeat(U&'\0301', 600000))$$) AS long_sequence,
    sqlstate_of($$SELECT simhash('a' || repeat(U&'\0301', 600000))$$) AS long_sequence_again,
    simhash('remember me') = simhash_of_features(ARRAY['remember', 'me']) AS after,
    simhash('') IS NULL AS empty_is_null;

-- A statement is cancelled within a text. Then this text, the one cached before and another one have their own
-- fingerprints. (The text has no capitals, so case_fold changes no fingerprint, and only makes other options.)
CREATE TEMP TABLE long_text (content text);
ALTER TABLE long_text ALTER content SET STORAGE EXTERNAL;
INSERT INTO long_text SELECT repeat('ab', 10000000);
SELECT simhash(content, '{"tokens": "chars", "ngram": 16}') AS fingerprint, simhash('short') AS short
FROM long_text \gset
\set VERBOSITY sqlstate
PREPARE cancelled AS SELECT simhash(CASE WHEN pg_cancel_backend(pg_backend_pid()) THEN content END,
    '{"tokens": "chars", "ngram": 16, "case_fold": false}') FROM long_text;
EXECUTE cancelled;
SELECT simhash('short') = :short AS short;
EXECUTE cancelled;
SELECT simhash(content, '{"tokens": "chars", "ngram": 16, "case_fold": false}') = :fingerprint AS fingerprint,
    simhash('short') = :short AS short FROM long_text;
SELECT simhash(left(content, 1000)) = simhash_of_features(ARRAY[left(content, 1000)]) AS another FROM long_text;

-- Longer than what is cached (8 MB), exactly that long, and one byte shorter; each is read twice.
SELECT bool_and(simhash(content) = features AND simhash(content) = features) AS right
FROM (SELECT repeat('x', (8 << 20) + n) FROM generate_series(-1, 1) n) AS texts (content),
    LATERAL simhash_of_features(ARRAY[content]) AS features;

-- Texts in all kinds of storage: whole, compressed, out of line, and both; the rows grouped and alternating. Changed in
-- the same transaction, in the same command, and rolled back.
SET default_toast_compression = 'pglz';
CREATE TABLE stored AS
SELECT id, repeat((SELECT string_agg(md5((n * id)::text), ' ') FROM generate_series(1, words) AS n), times) AS body
FROM (VALUES (3, 1), (3, 100), (300, 1), (300, 100)) AS kinds (words, times), generate_series(1, 3) AS id;
PREPARE are_right AS SELECT bool_and(simhash(body) = simhash(body || '')) FROM stored;
EXECUTE are_right;
BEGIN;
UPDATE stored SET body = 'changed ' || body WHERE id = 1 RETURNING simhash(body) = simhash(body || '') AS right;
EXECUTE are_right;
ROLLBACK;
EXECUTE are_right;
