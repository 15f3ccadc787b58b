-- Calls of all functions that 0.3.0 has added. Their results are 0.3.0.calls.out.
CREATE TABLE docs (id integer PRIMARY KEY, body text);
INSERT INTO docs VALUES (1, 'the first text'), (2, 'The first text!'), (3, 'the second text');
SET client_min_messages = warning;
SELECT simhash_attach('docs', 'body');

\echo guard
SELECT distance, duplicate, rows FROM simhash_preview('docs');
SELECT simhash_guard('docs', resemblance => 0.9);
INSERT INTO docs VALUES (4, 'the first text');
DROP TABLE docs;
