-- simhash_guard on tables with all kinds of keys, with indexes that are made by hand, with domains, and on temporary
-- ones. (Partitioned tables: guard_partitions; with other triggers: guard_triggers; with skewed fingerprints:
-- guard_cost.)

-- An error names the near row by its primary key, unless that is deferrable. A mark is that key.
CREATE TABLE by_text (id text PRIMARY KEY, f bigint, same_as text);
CREATE TABLE by_two (a integer, b text, f bigint, PRIMARY KEY (b, a));
CREATE TABLE by_none (id integer UNIQUE, f bigint);
CREATE TABLE by_deferred (id integer PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, f bigint);
SELECT simhash_attach(t, 'f'), simhash_guard(t, source => 'f')
FROM unnest('{by_text, by_two, by_none, by_deferred}'::regclass[]) t;
INSERT INTO by_text VALUES (E'one, (two)\nthree', 0), ('', 1);
INSERT INTO by_two VALUES (1, 'a', 0), (2, 'b', 2);
INSERT INTO by_none VALUES (1, 0), (2, 1);
INSERT INTO by_deferred VALUES (1, 0), (2, 1);
SELECT simhash_guard('by_text', 'mark', mark_column => 'same_as', source => 'f');
INSERT INTO by_text VALUES ('b', 0), ('a', 1), ('A', 2), (repeat('long ', 1000), 3) RETURNING left(id, 10), same_as;
INSERT INTO by_text VALUES ('c', 8) RETURNING id, same_as;
-- A long key that is stored out of line.
CREATE TABLE by_long (id text PRIMARY KEY, f bigint, same_as text);
ALTER TABLE by_long ALTER id SET STORAGE EXTERNAL;
SELECT simhash_attach('by_long', 'f'),
    simhash_guard('by_long', 'mark', mark_column => 'same_as', source => 'f');
INSERT INTO by_long VALUES ((SELECT string_agg(md5(n::text), '') FROM generate_series(1, 80) n), 0), ('b', 1);
DELETE FROM by_long WHERE f = 0;
SELECT length(same_as), md5(same_as) = md5((SELECT string_agg(md5(n::text), '') FROM generate_series(1, 80) n)) AS same
FROM by_long;

-- A guard searches indexes on block expressions of a generated column.
CREATE TABLE by_expression (id integer PRIMARY KEY, body text,
    simhash bigint GENERATED ALWAYS AS (simhash(body, '{"tokens": "chars", "ngram": 3}')) STORED);
SELECT index_by_hand('by_expression', 'simhash', 2);
SELECT simhash_guard('by_expression', 'skip', '{"resemblance": null, "max_distance": 5}');
INSERT INTO by_expression VALUES (1, 'A text of some length, of which one letter differs.'),
    (2, 'A text of some length, of which one letter dithers.'),
    (3, 'a text of some length, of which one letter differs.') RETURNING id;

-- The guard searches indexes that also contain the fingerprint, as a key or included.
CREATE TABLE covered (id integer PRIMARY KEY, f bigint);
CREATE INDEX ON covered (simhash_block(f, 0, 4), f);
CREATE INDEX ON covered (simhash_block(f, 1, 4)) INCLUDE (id, f);
CREATE INDEX ON covered (simhash_block(f, 2, 4), id DESC, f DESC);
CREATE INDEX ON covered (simhash_block(f, 3, 4), f);
SELECT simhash_guard('covered', source => 'f');
INSERT INTO covered VALUES (1, 0), (2, -1), (3, NULL), (4, 15);
SELECT errors('INSERT INTO covered VALUES (5, 1 + (1 << 16) + (1::bigint << 32))',
    'INSERT INTO covered VALUES (5, 1 + (1 << 16) + (1::bigint << 48))',
    'INSERT INTO covered VALUES (5, 1 + (1::bigint << 32) + (1::bigint << 48))',
    'INSERT INTO covered VALUES (5, (1 << 16) + (1::bigint << 32) + (1::bigint << 48))',
    'INSERT INTO covered VALUES (5, 14)');

-- A temporary table is guarded.
CREATE TEMP TABLE temporary (id integer PRIMARY KEY, f bigint);
SELECT simhash_attach('temporary', 'f'), simhash_guard('temporary', source => 'f');
INSERT INTO temporary VALUES (1, 0);
INSERT INTO temporary VALUES (2, 1);
-- One row twice in one statement, and through a cursor.
UPDATE temporary SET f = 255 FROM generate_series(1, 2);
WITH first AS (UPDATE temporary SET f = 254 RETURNING id) UPDATE temporary SET f = 253;
SELECT id, f FROM temporary;
DELETE FROM temporary;
INSERT INTO temporary VALUES (1, 0), (2, -1);
BEGIN;
DECLARE rows CURSOR FOR SELECT * FROM temporary ORDER BY id FOR UPDATE;
FETCH rows;
UPDATE temporary SET f = 3 WHERE CURRENT OF rows;
UPDATE temporary SET f = -4 WHERE CURRENT OF rows;
ROLLBACK;

-- A heap under another name is still a heap.
CREATE ACCESS METHOD heap_too TYPE TABLE HANDLER heap_tableam_handler;
CREATE TABLE too (id integer PRIMARY KEY, f bigint) USING heap_too;
SELECT simhash_attach('too', 'f'), simhash_guard('too', source => 'f');
INSERT INTO too VALUES (1, 0), (2, 1);

-- A fingerprint and a scope may be of domains.
CREATE DOMAIN print AS bigint;
CREATE DOMAIN tenant AS text;
CREATE TABLE domains (id integer PRIMARY KEY, f print, owner tenant);
SELECT simhash_attach('domains', 'f'), simhash_guard('domains', scope => '{owner}', source => 'f');
INSERT INTO domains VALUES (1, 0, 'a'), (2, 0, 'b'), (3, 0, 'a');
