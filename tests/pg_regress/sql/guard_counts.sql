-- simhash_guard_counts: how many rows each guard has checked in this session, and what became of them.
CREATE SCHEMA guard_counts;
SET search_path = guard_counts, public;
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
\c -
SET search_path = guard_counts, public;
SET client_min_messages = warning;
SELECT * FROM simhash_guard_counts();
SELECT pg_typeof(target), pg_typeof(guard), pg_typeof(checked), pg_typeof(marked) FROM simhash_guard_counts() RIGHT JOIN (VALUES (1)) AS x ON true;
CREATE TABLE a (id integer PRIMARY KEY, f bigint, n integer DEFAULT 0, same_as integer);
SELECT simhash_attach('a', 'f'), simhash_guard('a', fingerprint => 'f');
INSERT INTO a VALUES (1, 0), (2, -1), (3, NULL);
INSERT INTO a VALUES (4, 255), (5, 1);
SELECT * FROM simhash_guard_counts();
-- Only an UPDATE that is checked counts; and what is rolled back counts too.
UPDATE a SET n = 1;
BEGIN;
UPDATE a SET f = 255 WHERE id = 1;
ROLLBACK;
SELECT * FROM simhash_guard_counts();
SELECT simhash_guard('a', 'skip', fingerprint => 'f');
INSERT INTO a VALUES (6, 1), (7, 2);
-- A row that exists already is not stored: only the UPDATE of ON CONFLICT would be checked.
INSERT INTO a VALUES (1, 1) ON CONFLICT DO NOTHING;
INSERT INTO a VALUES (1, 3) ON CONFLICT (id) DO UPDATE SET f = excluded.f;
SELECT * FROM simhash_guard_counts();
SELECT simhash_guard('a', 'mark', mark_column => 'same_as', fingerprint => 'f');
INSERT INTO a VALUES (8, 2), (9, 0) ON CONFLICT DO NOTHING;
INSERT INTO a VALUES (8, 2) ON CONFLICT DO NOTHING;
SELECT * FROM simhash_guard_counts();
-- Partitions count together. A row that moves counts once.
CREATE TABLE p (id integer, f bigint) PARTITION BY LIST (id);
CREATE TABLE p_1 PARTITION OF p FOR VALUES IN (1, 2);
CREATE TABLE p_2 PARTITION OF p DEFAULT;
SELECT simhash_attach('p', 'f'), simhash_guard('p', 'skip', fingerprint => 'f');
INSERT INTO p VALUES (1, 0), (3, -1), (2, 1);
INSERT INTO p_2 VALUES (4, 1);
UPDATE p SET id = 5 WHERE id = 1;
SELECT * FROM simhash_guard_counts();
-- A trigger under another name, a table that was renamed, and one that was dropped
CREATE TRIGGER "Another guard" BEFORE INSERT ON p_1 FOR EACH ROW EXECUTE FUNCTION simhash_dedup('reject', '0', 'f');
INSERT INTO p VALUES (1, 255);
ALTER TABLE p RENAME TO q;
SELECT * FROM simhash_guard_counts();
DROP TABLE q;
SELECT * FROM simhash_guard_counts();
-- Another session has none of them.
\c -
SELECT * FROM simhash_guard_counts();
SET client_min_messages = warning;
DROP SCHEMA guard_counts CASCADE;
