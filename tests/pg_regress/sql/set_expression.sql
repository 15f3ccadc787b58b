-- Since PostgreSQL 17: a new expression for a generated column.
CREATE TABLE changing (id integer PRIMARY KEY, title text, body text);
INSERT INTO changing SELECT n, 'title ' || n / 2, 'body ' || md5(n::text) FROM generate_series(1, 1000) AS n;
SELECT simhash_attach('changing', 'body', blocks => 2);
SELECT simhash_guard('changing', criterion => '{"resemblance": null, "max_distance": 1}');
SET enable_seqscan = off;
PREPARE find(text) AS SELECT id FROM changing WHERE simhash_near(simhash, simhash($1), 0) ORDER BY id;
EXPLAIN (COSTS OFF) EXECUTE find('body ' || md5('42'));
EXECUTE find('body ' || md5('42'));
-- The blocks no longer belong to the fingerprint: neither searches nor guards use them.
ALTER TABLE changing ALTER simhash SET EXPRESSION AS (simhash(title));
EXPLAIN (COSTS OFF) EXECUTE find('title 21');
EXECUTE find('title 21');
INSERT INTO changing VALUES (1001, 'title 21', 'another body');
SELECT simhash_attach('changing', 'body', blocks => 2);
-- When all blocks are changed, searches and the guard use them again.
ALTER TABLE changing ALTER simhash_block0 SET EXPRESSION AS (simhash_block(simhash(title), 0, 2)),
    ALTER simhash_block1 SET EXPRESSION AS (simhash_block(simhash(title), 1, 2));
SELECT simhash_attach('changing', 'title', blocks => 2);
EXPLAIN (COSTS OFF) EXECUTE find('title 21');
EXECUTE find('title 21');
INSERT INTO changing VALUES (1001, 'title 21', 'another body');
