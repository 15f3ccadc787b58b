-- pgaudit's class FUNCTION logs each call that computes a column, or an entry of an index.
CREATE EXTENSION pgaudit;
CREATE TABLE docs (id integer PRIMARY KEY, body text);
CREATE TABLE without_columns (id integer PRIMARY KEY, body text);
SET client_min_messages = warning;
SELECT simhash_attach('docs', 'body'), simhash_index('without_columns', 'body', bands => 2);
RESET client_min_messages;
SET pgaudit.log = 'function';
SET pgaudit.log_client = on;
SET pgaudit.log_level = notice;
SET pgaudit.log_statement = off;
INSERT INTO docs VALUES (1, 'a text');
INSERT INTO without_columns VALUES (1, 'a text');
-- A guard computes the fingerprint of the new row once more.
SELECT simhash_guard('docs', criterion => '{"resemblance": null}');
INSERT INTO docs VALUES (2, 'another text');
SELECT id FROM docs WHERE simhash_near(simhash, simhash('a text'));
