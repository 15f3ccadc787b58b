-- pgaudit's class FUNCTION logs each call that computes a column, or an entry of an index.
CREATE EXTENSION pgaudit;
CREATE TABLE docs (id integer PRIMARY KEY, body text);
CREATE TABLE texts (id integer PRIMARY KEY, body text);
SET client_min_messages = warning;
SELECT simhash_attach('docs', 'body', blocks => 2), simhash_index('texts', 'body', bands => 2);
RESET client_min_messages;
SET pgaudit.log = 'function';
SET pgaudit.log_client = on;
SET pgaudit.log_level = notice;
SET pgaudit.log_statement = off;
INSERT INTO docs VALUES (1, 'a text');
INSERT INTO texts VALUES (1, 'a text');
-- The guard's own computations are not logged.
SELECT simhash_guard('texts', criterion => '{"bands": 2}');
INSERT INTO texts VALUES (2, 'another text');
SELECT id FROM docs WHERE simhash_near(simhash, simhash('a text'));
