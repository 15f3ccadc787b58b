-- UPDATE under the action mark: which rows are marked, and what counts as an unchanged text.
CREATE SCHEMA guard_updates;
SET search_path = guard_updates, public;
SET client_min_messages = warning;

-- Only unmarked rows count, so an original is never marked with its own duplicate.
CREATE TABLE prints (id integer PRIMARY KEY, f bigint, near integer);
SELECT simhash_attach('prints', 'f');
SELECT simhash_guard('prints', 'mark', mark_column => 'near', fingerprint => 'f');
INSERT INTO prints VALUES (1, 0), (2, 1), (3, 2) RETURNING id, near;
UPDATE prints SET f = 4 WHERE id = 1 RETURNING id, near;
UPDATE prints SET f = f # 8;
SELECT id, f, near FROM prints ORDER BY id;
-- Row 4 is near rows 2 and 3, but not near the row that these are marked with. It is stored as under skip: unmarked.
INSERT INTO prints VALUES (4, 8 + 3 + 16 + 32) RETURNING id, near;
-- The original leaves. The next row that is near the others becomes the original, whether it is new or updated.
UPDATE prints SET f = -1 WHERE id IN (1, 4) RETURNING id, near;
INSERT INTO prints VALUES (5, 8) RETURNING id, near;
UPDATE prints SET f = 9 + 16 WHERE id = 2 RETURNING id, near;
-- An original that comes near another one is marked, and the rows that are marked with it lead there.
UPDATE prints SET f = -2 WHERE id = 5 RETURNING id, near;
SELECT id, f, near FROM prints ORDER BY id;

-- Texts that are stored as they are, compressed, out of line, and both.
SET default_toast_compression = 'pglz';
CREATE FUNCTION words(first integer, count integer, times integer DEFAULT 1) RETURNS text LANGUAGE sql AS $$
    SELECT repeat(string_agg(md5(n::text), ' ' ORDER BY n) || ' ', times) FROM generate_series(first, first + count - 1) AS n
$$;
CREATE TABLE docs (id integer PRIMARY KEY, title text, body text, near integer REFERENCES docs ON DELETE SET NULL);
CREATE VIEW source AS
SELECT * FROM (VALUES (1, words(1, 40)), (2, words(1001, 40, 20)), (3, words(2001, 400)), (4, words(3001, 100, 60))) AS v (id, body);
SELECT simhash_attach('docs', 'body');
SELECT simhash_guard('docs', 'mark', mark_column => 'near');
INSERT INTO docs SELECT id, 'old', body FROM source;
INSERT INTO docs SELECT id + 10, 'old', body || 'copy' FROM source;
SELECT id, length(body) AS length, pg_column_size(body) < length(body) AS compressed, near FROM docs ORDER BY id;
-- An application saves whole rows, with the text that it has read and no mark.
UPDATE docs SET title = 'new', body = source.body, near = NULL FROM source WHERE docs.id = source.id;
UPDATE docs SET title = 'new', body = source.body || 'copy', near = NULL FROM source WHERE docs.id = source.id + 10;
INSERT INTO docs SELECT id + 10, 'newer', body || 'copy' FROM source
ON CONFLICT (id) DO UPDATE SET title = excluded.title, body = excluded.body, near = excluded.near;
SELECT id, title, near FROM docs ORDER BY id;
-- A statement that writes the mark but not the text sets the mark, as the foreign key does.
UPDATE docs SET near = NULL WHERE id = 11;
DELETE FROM docs WHERE id = 2;
SELECT id, title, near FROM docs WHERE id IN (11, 12) ORDER BY id;
UPDATE docs SET near = 11 WHERE id = 11 RETURNING id, near;
-- A text that has changed is marked whatever the statement says.
UPDATE docs SET body = body || ' again', near = NULL WHERE id IN (13, 14) RETURNING id, near;
-- Under reject and skip, a change beside an unchanged text is stored.
SELECT simhash_guard('docs', 'reject');
UPDATE docs SET title = 'reject', body = words(2001, 400) WHERE id = 3 RETURNING id, title;
SELECT simhash_guard('docs', 'skip');
UPDATE docs SET title = 'skip', body = words(2001, 400) WHERE id = 3 RETURNING id, title;

-- Partitions whose columns have other numbers.
CREATE TABLE parted (part integer, id integer, body text, near integer, PRIMARY KEY (part, id)) PARTITION BY LIST (part);
CREATE TABLE parted_1 (near integer, gone text, body text, id integer NOT NULL, part integer NOT NULL);
ALTER TABLE parted_1 DROP COLUMN gone;
ALTER TABLE parted ATTACH PARTITION parted_1 FOR VALUES IN (1);
SELECT simhash_attach('parted', 'body');
SELECT simhash_guard('parted', 'mark', mark_column => 'near', scope => '{part}');
INSERT INTO parted VALUES (1, 1, 'one two three'), (1, 2, 'One, two, three!') RETURNING id, near;
UPDATE parted SET body = 'One, two, three!', near = NULL WHERE id = 2 RETURNING id, near;
UPDATE parted SET near = NULL WHERE id = 2 RETURNING id, near;
DROP SCHEMA guard_updates CASCADE;
