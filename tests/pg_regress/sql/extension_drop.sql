-- Without CASCADE, DROP is refused: generated columns, their indexes, indexes on expressions, guards and views need the
-- extension.
CREATE TABLE docs (id integer PRIMARY KEY, body text);
INSERT INTO docs VALUES (1, 'a text'), (2, 'another');
SELECT simhash_attach('docs', 'body', blocks => 2),
    simhash_guard('docs', criterion => '{"resemblance": null, "max_distance": 1}'),
    simhash_index('docs', 'body', bands => 2);
CREATE VIEW near_docs AS SELECT id FROM docs WHERE simhash_near(simhash(body), 1);
SET client_min_messages = notice; DROP EXTENSION pg_simhash;
-- CASCADE drops what needs the extension, and leaves nothing of it. All rows stay.
SET client_min_messages = warning; DROP EXTENSION pg_simhash CASCADE;
SELECT id FROM docs ORDER BY id;
\d docs
SELECT (SELECT count(*) FROM pg_proc WHERE probin LIKE '%simhash%' OR proname LIKE '%simhash%') AS functions,
    (SELECT count(*) FROM pg_operator WHERE oprname = '<~>') AS operators, to_regclass('near_docs') AS near_docs;
