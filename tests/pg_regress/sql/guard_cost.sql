-- The cost of a search: it ends when no other row can be nearer. Where fingerprints are skewed, it reads more, and
-- finds the same.

-- The number of pages that a statement reads.
CREATE FUNCTION pages_read(statement text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ' || statement INTO plan;
    plan := plan -> 0 -> 'Plan';
    RETURN (plan ->> 'Shared Hit Blocks')::bigint + (plan ->> 'Shared Read Blocks')::bigint;
END
$$;
CREATE TABLE docs (id integer PRIMARY KEY, body text, near integer);
CREATE FUNCTION words() RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(md5(n::text), ' ') FROM generate_series(1, 50) AS n
$$;
-- A guard reads few pages for a row that is equal to others, and for one with one word more.
CREATE FUNCTION more_words(which integer) RETURNS text LANGUAGE sql AS $$ SELECT words() || ' ' || which $$;
SELECT simhash_index('docs', 'body');
INSERT INTO docs SELECT n, words() FROM generate_series(1, 2000) AS n;
ANALYZE docs;

-- 2,000 equal rows are on 500 pages. A search that read all of them would read more.
SELECT simhash_guard('docs', 'mark', mark_column => 'near');
SELECT pages_read('INSERT INTO docs VALUES (2001, words())') < 250 AS equal,
    pages_read('INSERT INTO docs VALUES (2002, more_words(1))') < 250 AS near;
SELECT simhash_guard('docs', 'skip');
SELECT pages_read('INSERT INTO docs VALUES (2003, words())') < 250 AS equal,
    pages_read('INSERT INTO docs VALUES (2004, more_words(2))') < 250 AS near;
SELECT simhash_guard('docs', 'mark', mark_column => 'near');
INSERT INTO docs VALUES (2005, more_words(3)) RETURNING near IS NOT NULL AS is_marked;
-- Once the session has found the row without a mark, it does not read marked rows, wherever the unmarked row is.
UPDATE docs SET near = 2000 WHERE id < 2000;
UPDATE docs SET body = more_words(4) WHERE id = 2000;
SELECT pages_read('INSERT INTO docs VALUES (2006, more_words(5))') < 250 AS first,
    pages_read('INSERT INTO docs VALUES (2007, more_words(6))') < 250 AS then;
SELECT near FROM docs WHERE id > 2005;

-- Marked rows that are nearer than the row without a mark: most of them are not read, whichever block that row shares,
-- once the session has found that row.
CREATE TABLE copies (id integer PRIMARY KEY, f bigint, near integer, pad text DEFAULT repeat('x', 1500));
SELECT simhash_attach('copies', 'f'), simhash_guard('copies', 'mark', source => 'f', mark_column => 'near');
-- The row without a mark differs from the copies in one bit of each block but one.
CREATE FUNCTION mark_copy(shared integer, OUT few_pages boolean, OUT mark integer) LANGUAGE plpgsql AS $$
BEGIN
    TRUNCATE copies;
    INSERT INTO copies (id, f)
    SELECT 0, bit_or(1::bigint << 16 * (3 - n)) FROM generate_series(0, 3) AS n WHERE n <> shared;
    ALTER TABLE copies DISABLE TRIGGER zzz_simhash_guard;
    INSERT INTO copies (id, f, near) SELECT n, 0, 0 FROM generate_series(1, 1000) AS n;
    ALTER TABLE copies ENABLE TRIGGER zzz_simhash_guard;
    INSERT INTO copies VALUES (1001, 0);
    few_pages := pages_read('INSERT INTO copies VALUES (1002, 0)') < 200;
    SELECT near INTO mark FROM copies WHERE id = 1002;
END
$$;
SELECT shared, few_pages, mark FROM generate_series(0, 3) AS shared, mark_copy(shared);
-- A row without a mark is also found if it is younger than hundreds of marked rows.
DELETE FROM copies WHERE id = 0;
INSERT INTO copies VALUES (3000, 1) RETURNING near;
INSERT INTO copies VALUES (3001, 0) RETURNING near;
-- From then on, the session looks at row 3000 first, also after an UPDATE of that row.
SELECT pages_read('INSERT INTO copies VALUES (3002, 2)') < 200 AS few_pages;
UPDATE copies SET f = 3, pad = '' WHERE id = 3000;
INSERT INTO copies VALUES (3003, 2) RETURNING near;
SELECT pages_read('INSERT INTO copies VALUES (3004, 0)') < 200 AS few_pages;

-- Rows that all share a block, as texts made from a template do, with statistics that show it.
CREATE TABLE template (id integer PRIMARY KEY, f bigint);
INSERT INTO template SELECT n, random_fingerprint(n) & x'ffffffffffff'::bigint FROM generate_series(1, 20000) AS n;
ANALYZE template;
SELECT simhash_attach('template', 'f'), simhash_guard('template', source => 'f');
INSERT INTO template SELECT 20001, f # 7 FROM template WHERE id = 17;
INSERT INTO template SELECT 20001, f # 15 FROM template WHERE id = 17;

-- With two blocks, a search reads a range of block values in place of many probes. In crowded, the range has too many
-- rows to be read: the result is the same.
CREATE TABLE halves (id integer PRIMARY KEY, f bigint);
INSERT INTO halves SELECT n, random_fingerprint(n) FROM generate_series(1, 20000) AS n;
CREATE TABLE crowded (id integer PRIMARY KEY, f bigint);
INSERT INTO crowded SELECT n, (n::bigint << 33) + (random_fingerprint(n) & x'ffffffff'::bigint)
FROM generate_series(1, 20000) AS n;
SELECT simhash_attach(t, 'f', blocks => 2) FROM unnest('{halves, crowded}'::regclass[]) AS t;
SELECT simhash_guard(t, 'skip', source => 'f') FROM unnest('{halves, crowded}'::regclass[]) AS t;
-- Fingerprints that differ from row 17 in one bit of a half and in two of the other: all are near it, and the INSERTs
-- of them print nothing. With a third bit in the other half, they are not near.
CREATE FUNCTION flip(place integer) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 1::bigint << place';
CREATE VIEW flips AS
SELECT a, b, flip(a) # flip(b) # flip((b + 7) % 32 + b / 32 * 32) AS near,
    flip(a) # flip(b) # flip((b + 7) % 32 + b / 32 * 32) # flip((b + 9) % 32 + b / 32 * 32) AS far
FROM generate_series(0, 63) AS a, generate_series(0, 63) AS b WHERE a / 32 <> b / 32;
INSERT INTO halves SELECT -1, f # near FROM halves, flips WHERE id = 17 RETURNING id;
INSERT INTO crowded SELECT -1, f # near FROM crowded, flips WHERE id = 17 RETURNING id;
INSERT INTO halves SELECT -1, f # far FROM halves, flips WHERE id = 17 AND a = 63 AND b = 5 RETURNING id;
INSERT INTO crowded SELECT -1, f # far FROM crowded, flips WHERE id = 17 AND a = 63 AND b = 5 RETURNING id;
