-- All that is made of the texts on standard input. Every database must print the same for the same texts, whatever its
-- encoding. A text comes with a boolean: whether the encoding has all characters of its normalised form, in which
-- simhash_features shows it (LATIN1 has the micro sign, but not the Greek letter that it stands for).
\set ON_ERROR_STOP on
\pset format unaligned
\pset tuples_only on
CREATE TABLE texts (id bigint GENERATED ALWAYS AS IDENTITY, features_fit boolean, body text);
\copy texts (features_fit, body) FROM pstdin

\echo simhash(text)
SELECT id, body, simhash(body) FROM texts ORDER BY id;

\echo simhash(text, jsonb)
SELECT id, simhash(body, '{"tokens": "chars", "ngram": 3}'), simhash(body, '{"case_fold": false, "ngram": 2}')
FROM texts ORDER BY id;

\echo simhash_band, simhash_size
SELECT id, simhash_band(body, 0), simhash_band(body, 63), simhash_band(body, 5, '{"tokens": "chars", "ngram": 3}'),
    simhash_size(body)
FROM texts ORDER BY id;

CREATE VIEW words AS
SELECT id, word, number::double precision AS weight
FROM texts, unnest(string_to_array(body, ' ')) WITH ORDINALITY AS words (word, number);

\echo simhash(text[]), simhash(text[], double precision[]), simhash_agg
SELECT id, simhash_of_features(array_agg(word)), simhash_of_features(array_agg(word), array_agg(weight)), simhash_agg(word, weight)
FROM words GROUP BY id ORDER BY id;

\echo simhash_resemblance
SELECT one.id, other.id, simhash_resemblance(one.body, other.body, '{"tokens": "chars", "ngram": 2}')
FROM texts AS one, texts AS other WHERE one.id <= other.id ORDER BY one.id, other.id;

\echo simhash_features
SELECT id, features.*
FROM texts, simhash_features(body) AS features
WHERE features_fit
ORDER BY id, hash;

\echo the near row in the error of a guard
SET client_min_messages = warning;
CREATE TABLE keyed (body text PRIMARY KEY, f bigint);
SELECT FROM simhash_attach('keyed', 'f');
SELECT FROM simhash_guard('keyed', source => 'f');
CREATE FUNCTION near(body text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    reported text;
BEGIN
    INSERT INTO keyed VALUES (near.body, 0), ('', 1);
    RETURN 'no error';
EXCEPTION WHEN exclusion_violation THEN
    GET STACKED DIAGNOSTICS reported = PG_DATATYPE_NAME;
    RETURN reported;
END
$$;
SELECT id, near(body) FROM texts ORDER BY id;

\echo the near row in a mark
CREATE TABLE marked (text_id bigint, body text, f bigint, near jsonb, PRIMARY KEY (text_id, body));
SELECT FROM simhash_attach('marked', 'f');
SELECT FROM simhash_guard('marked', 'mark', scope => '{text_id}', mark_column => 'near', source => 'f');
INSERT INTO marked SELECT id, body, 0 FROM texts;
INSERT INTO marked SELECT id, '', 1 FROM texts;
SELECT text_id, near, near ->> 'body' = texts.body AS is_same
FROM marked JOIN texts ON id = text_id WHERE marked.body = '' ORDER BY text_id;
