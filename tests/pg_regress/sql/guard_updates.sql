-- UPDATE of guarded tables: a row is never its own duplicate.
CREATE TABLE posts (id integer PRIMARY KEY, body text, views integer DEFAULT 0);
SELECT simhash_index('posts', 'body'), simhash_guard('posts');
INSERT INTO posts VALUES (1, 'The quick brown fox jumps over the lazy dog'), (3, 'Another text'), (4, 'One'),
    (5, 'Two'), (7, ''), (8, NULL);
UPDATE posts SET body = body || '!' WHERE id < 6;
UPDATE posts SET body = 'the quick brown fox jumps over the lazy dog' WHERE id = 1;
UPDATE posts SET id = 11 WHERE id = 1;
UPDATE posts SET views = views + 1;
UPDATE posts SET body = 'the quick brown fox jumps over the lazy dog' WHERE id = 3;
UPDATE posts SET body = 'a new text altogether' WHERE id = 3;
INSERT INTO posts VALUES (12, 'Another text');
UPDATE posts SET body = 'a new text altogether' WHERE id = 12;
-- The rows of one statement are decided one after the other.
UPDATE posts SET body = 'all the same' WHERE id > 4;
BEGIN;
-- A swap meets the other row's old text, as with a UNIQUE constraint.
UPDATE posts SET body = CASE id WHEN 3 THEN 'Another text' ELSE 'a new text altogether' END WHERE id IN (3, 12);
ROLLBACK;
SELECT id, body, views FROM posts ORDER BY id;

-- The action mark: which rows are marked, and what counts as an unchanged text.
-- Texts that are stored as they are, compressed, out of line, and both.
SET default_toast_compression = 'pglz';
CREATE FUNCTION words(first integer, count integer, times integer DEFAULT 1) RETURNS text LANGUAGE sql AS $$
    SELECT repeat(string_agg(md5(n::text), ' ' ORDER BY n) || ' ', times)
    FROM generate_series(first, first + count - 1) AS n
$$;
CREATE TABLE docs (id integer PRIMARY KEY, title text, body text, near integer REFERENCES docs ON DELETE SET NULL);
CREATE VIEW source AS
SELECT * FROM (VALUES (1, words(1, 40)), (2, words(1001, 40, 20)), (3, words(2001, 400)), (4, words(3001, 100, 60)))
    AS v (id, body);
SELECT simhash_index('docs', 'body'), simhash_guard('docs', 'mark', mark_column => 'near');
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
-- Under reject and skip, an UPDATE that leaves the text unchanged is stored.
SELECT simhash_guard('docs', 'reject');
UPDATE docs SET title = 'reject', body = words(2001, 400) WHERE id = 3 RETURNING id, title;
SELECT simhash_guard('docs', 'skip');
UPDATE docs SET title = 'skip', body = words(2001, 400) WHERE id = 3 RETURNING id, title;

-- A partition whose columns have other attnums.
CREATE TABLE parted (part integer, id integer, body text, near integer, PRIMARY KEY (part, id))
    PARTITION BY LIST (part);
CREATE TABLE parted_1 (near integer, gone text, body text, id integer NOT NULL, part integer NOT NULL);
ALTER TABLE parted_1 DROP COLUMN gone;
ALTER TABLE parted ATTACH PARTITION parted_1 FOR VALUES IN (1);
SELECT simhash_index('parted', 'body'), simhash_guard('parted', 'mark', mark_column => 'near', scope => '{part}');
INSERT INTO parted VALUES (1, 1, 'one two three'), (1, 2, 'One, two, three!') RETURNING id, near;
UPDATE parted SET body = 'One, two, three!', near = NULL WHERE id = 2 RETURNING id, near;
UPDATE parted SET near = NULL WHERE id = 2 RETURNING id, near;
