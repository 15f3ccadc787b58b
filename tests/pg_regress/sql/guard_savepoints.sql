-- Savepoints: a row that was rolled back does not count.
CREATE TABLE docs (id integer PRIMARY KEY, body text);
SELECT simhash_index('docs', 'body'), simhash_guard('docs');
BEGIN;
SAVEPOINT a;
INSERT INTO docs VALUES (20, 'twenty');
ROLLBACK TO a;
INSERT INTO docs VALUES (21, 'Twenty');
SAVEPOINT b;
DELETE FROM docs WHERE id = 21;
INSERT INTO docs VALUES (23, 'TWENTY');
ROLLBACK TO b;
INSERT INTO docs VALUES (24, 'TWENTY');
