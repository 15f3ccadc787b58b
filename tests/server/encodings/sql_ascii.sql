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
SELECT simhash(ARRAY['good', body]) FROM texts WHERE name = 'LATIN1';
SELECT simhash(ARRAY['good', body], ARRAY[1, 2]) FROM texts WHERE name = 'LATIN1';
SELECT simhash_agg(body, 1) FROM texts WHERE name = 'LATIN1';
SELECT * FROM texts, simhash_features(body) WHERE name = 'LATIN1';
SELECT simhash_resemblance('good', body) FROM texts WHERE name = 'LATIN1';
