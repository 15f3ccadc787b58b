-- Savepoints: a row that was rolled back does not count. A row that was stored before, or that was released, counts.
CREATE TABLE docs (id integer PRIMARY KEY, body text);
SELECT simhash_index('docs', 'body'), simhash_guard('docs');
BEGIN;
SAVEPOINT a;
INSERT INTO docs VALUES (1, 'twenty');
ROLLBACK TO a;
INSERT INTO docs VALUES (2, 'Twenty');
SAVEPOINT b;
DELETE FROM docs WHERE id = 2;
INSERT INTO docs VALUES (3, 'TWENTY');
ROLLBACK TO b;
INSERT INTO docs VALUES (4, 'TWENTY');
ROLLBACK TO b;
INSERT INTO docs VALUES (5, 'thirty');
RELEASE b;
INSERT INTO docs VALUES (6, 'Thirty');
ROLLBACK;
