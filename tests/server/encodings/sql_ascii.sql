-- In SQL_ASCII a text is bytes of no known encoding. They are taken for UTF-8, and what cannot be UTF-8 is an error.
\set VERBOSITY sqlstate
\pset tuples_only on
CREATE TABLE texts (body text, name text);
INSERT INTO texts VALUES
    (E'caf\xC3\xA9', 'UTF-8'),
    (E'caf\xE9', 'LATIN1'),
    (E'\xC3', 'cut short'),
    (E'\xED\xA0\x80', 'surrogate');

SELECT simhash(body) = simhash(convert_from('\xC3A9', 'SQL_ASCII')) AS another_text,
    simhash(body) = simhash(body || ' ') AS same_text
FROM texts WHERE name = 'UTF-8';

SELECT simhash(body) FROM texts WHERE name = 'LATIN1';
SELECT simhash(body) FROM texts WHERE name = 'cut short';
SELECT simhash(body) FROM texts WHERE name = 'surrogate';
SELECT simhash(body, '{"ngram": 2}') FROM texts WHERE name = 'LATIN1';
SELECT simhash_of_features(ARRAY['good', body]) FROM texts WHERE name = 'LATIN1';
SELECT simhash_of_features(ARRAY['good', body], ARRAY[1, 2]) FROM texts WHERE name = 'LATIN1';
SELECT simhash_agg(body, 1) FROM texts WHERE name = 'LATIN1';
SELECT * FROM texts, simhash_features(body) WHERE name = 'LATIN1';
SELECT simhash_resemblance('good', body) FROM texts WHERE name = 'LATIN1';

-- A character in the bytes of the server stands for no other: U+F0027 for no quote, and U+F00E9 for no byte e9.
CREATE TABLE docs (id integer PRIMARY KEY, body text);
CREATE TABLE canary ();
SET client_min_messages = error;
SELECT simhash_index('docs', 'body', E'{"weights": {"x\xf3\xb0\x80\xa7 ); DROP TABLE canary; --": 0.5}}') \g /dev/null
SELECT simhash_guard('docs') \g /dev/null
SELECT to_regclass('canary') IS NOT NULL AS is_there,
    position(decode('f3b080a7', 'hex') IN tgargs) > 0 AS has_options FROM pg_trigger WHERE tgname = 'zzz_simhash_guard';
SELECT simhash_attach('docs', 'body', prefix => 'weighted',
    options => E'{"weights": {"x\xf3\xb0\x80\xa7 ); DROP TABLE canary; --": 0.5}}') \g /dev/null
SELECT to_regclass('canary') IS NOT NULL AS is_there, count(*) AS is_attached FROM pg_attribute
WHERE attrelid = 'docs'::regclass AND attname = 'weighted';
SELECT simhash_unguard('docs') \g /dev/null
INSERT INTO docs (id, body) SELECT n, E'one two three \xf3\xb0\x83\xa9' FROM generate_series(1, 2) AS n;
SELECT example_text = body, earlier_text = body FROM docs, simhash_preview('docs', source => 'body') WHERE id = 1 AND duplicate;
