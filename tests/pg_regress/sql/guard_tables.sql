-- simhash_guard on all kinds of tables: partitioned, attached online, with indexes on expressions, with other triggers,
-- and with keys of other types.

-- Keys.
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

-- Partitioned.
CREATE TABLE parted (id integer, part integer, body text, same_as integer) PARTITION BY LIST (part);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
-- Other columns, in another order.
CREATE TABLE parted_2 (gone integer, body text, same_as integer, part integer, extra integer, id integer);
ALTER TABLE parted_2 DROP COLUMN gone, DROP COLUMN extra;
ALTER TABLE parted ATTACH PARTITION parted_2 FOR VALUES IN (2);
CREATE TABLE parted_3 PARTITION OF parted FOR VALUES IN (3, 4) PARTITION BY LIST (part);
CREATE TABLE parted_3_3 PARTITION OF parted_3 FOR VALUES IN (3);
SELECT simhash_index('parted', 'body'), simhash_guard('parted');
INSERT INTO parted VALUES (1, 1, 'Number one');
SELECT errors('INSERT INTO parted VALUES (2, 2, ''number one'')',
    'INSERT INTO parted_2 (id, part, body) VALUES (2, 2, ''number one'')',
    'INSERT INTO parted_3_3 (id, part, body) VALUES (2, 3, ''number one'')');
INSERT INTO parted VALUES (2, 2, 'Number two'), (3, 3, 'Number three');
INSERT INTO parted_3 VALUES (4, 3, 'number two');
-- New partitions are searched and guarded.
CREATE TABLE parted_4 PARTITION OF parted_3 FOR VALUES IN (4);
CREATE TABLE parted_5 PARTITION OF parted DEFAULT;
INSERT INTO parted VALUES (5, 4, 'Number five'), (6, 6, 'Number six');
INSERT INTO parted_4 VALUES (7, 4, 'number six');
-- A partition is guarded by the guard of the whole table.
SELECT simhash_guard('parted_2');
SELECT errors($$SELECT simhash_guard('parted_2', 'skip')$$, $$SELECT simhash_unguard('parted_2')$$);
-- Guarded partitions of an unguarded table.
SELECT simhash_unguard('parted'), simhash_guard('parted_3');
SELECT simhash_guard('parted_2');
INSERT INTO parted VALUES (12, 4, 'number three');
INSERT INTO parted VALUES (13, 2, 'number three');
INSERT INTO parted VALUES (14, 2, 'number three');
-- The guard of the whole table replaces theirs.
SELECT simhash_guard('parted', 'skip');
INSERT INTO parted VALUES (16, 4, 'number three') RETURNING id;
SELECT tgrelid::regclass AS relation, tgparentid <> 0 AS is_child, substr(tgargs, 1, 4) = 'skip' AS skips
FROM pg_trigger WHERE tgrelid::regclass::text LIKE 'parted%' ORDER BY tgrelid::regclass::text;

-- Indexes on block expressions of a generated column.
CREATE TABLE by_expression (id integer PRIMARY KEY, body text,
    simhash bigint GENERATED ALWAYS AS (simhash(body, '{"tokens": "chars", "ngram": 3}')) STORED);
SELECT index_by_hand('by_expression', 'simhash', 2);
SELECT simhash_guard('by_expression', 'skip', '{"resemblance": null, "max_distance": 5}');
INSERT INTO by_expression VALUES (1, 'A text of some length, of which one letter differs.'),
    (2, 'A text of some length, of which one letter dithers.'), (3, 'a text of some length, of which one letter differs.')
RETURNING id;

-- Indexes that also contain the fingerprint, as a key or included.
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

-- Other triggers. The guard sees the work of earlier ones.
CREATE TABLE docs (id integer PRIMARY KEY, body text);
CREATE TABLE words (id integer PRIMARY KEY, word text);
SELECT simhash_index('docs', 'body'), simhash_guard('docs');
SELECT simhash_index('words', 'word'), simhash_guard('words', 'skip');
CREATE FUNCTION shorten() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN new.body = split_part(new.body, '':'', 1); RETURN new; END';
CREATE TRIGGER shorten BEFORE INSERT OR UPDATE ON docs FOR EACH ROW EXECUTE FUNCTION shorten();
INSERT INTO docs VALUES (1, 'A text:one');
INSERT INTO docs VALUES (2, 'a text:two');
INSERT INTO docs VALUES (2, 'a second text');
UPDATE docs SET body = 'a text:three' WHERE id = 2;
-- A trigger that inserts into another guarded table, and into the same one.
CREATE FUNCTION split() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO public.words SELECT new.id * 10 + n, word
    FROM string_to_table(new.body, ' ') WITH ORDINALITY AS t (word, n);
    IF new.id < 100 THEN
        INSERT INTO public.docs VALUES (new.id + 100, new.body || ' ' || new.body || ' again');
    END IF;
    RETURN new;
END
$$;
CREATE TRIGGER a_split BEFORE INSERT ON docs FOR EACH ROW EXECUTE FUNCTION split();
INSERT INTO docs VALUES (3, 'some third text');
SELECT id, word FROM words ORDER BY id;
SELECT id, body FROM docs ORDER BY id;
SELECT guard_locks();
DROP TRIGGER a_split ON docs;
-- A row that a later trigger drops does not conflict with what the statement writes after that: in a trigger of the
-- statement, or for its next row.
CREATE FUNCTION filter() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RETURN CASE WHEN new.body NOT LIKE 'bad%' THEN new END; END $$;
CREATE FUNCTION replace_bad() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF pg_trigger_depth() = 1 THEN
        INSERT INTO public.docs SELECT max(id) + 1, 'Bad text, but kept' FROM public.docs
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN new;
END
$$;
BEGIN;
CREATE TRIGGER zzzz_filter BEFORE INSERT ON docs FOR EACH ROW WHEN (new.id < 100) EXECUTE FUNCTION filter();
CREATE TRIGGER replace_bad AFTER INSERT ON docs FOR EACH STATEMENT EXECUTE FUNCTION replace_bad();
INSERT INTO docs VALUES (7, 'bad text but kept');
SELECT id, body FROM docs WHERE body ILIKE 'bad%';
DELETE FROM docs WHERE body ILIKE 'bad%';
DROP TRIGGER replace_bad ON docs;
CREATE TRIGGER a_replace_bad BEFORE INSERT ON docs
    FOR EACH ROW WHEN (new.id = 8) EXECUTE FUNCTION replace_bad();
INSERT INTO docs VALUES (7, 'bad text but kept'), (8, 'number eight');
SELECT id, body FROM docs WHERE body ILIKE 'bad%';
ROLLBACK;
-- A function in RETURNING runs when the row is stored: what a later trigger has changed is not in its way, and what was
-- stored is, until it is deleted. It can change the row itself.
CREATE FUNCTION censor() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN new.body = 'nothing to read'; RETURN new; END $$;
CREATE FUNCTION after_store(new integer, old integer, content text) RETURNS integer LANGUAGE sql AS $$
    DELETE FROM public.docs WHERE id = old;
    INSERT INTO public.docs VALUES (new, content) RETURNING id;
$$;
CREATE FUNCTION touch(docs) RETURNS integer LANGUAGE sql AS
    $$ UPDATE public.docs SET body = body || '!' WHERE id = $1.id RETURNING id $$;
BEGIN;
SELECT simhash_guard('docs', 'skip');
CREATE TRIGGER zzzz_censor BEFORE INSERT ON docs FOR EACH ROW WHEN (new.id = 7) EXECUTE FUNCTION censor();
INSERT INTO docs VALUES (7, 'some bad text here') RETURNING id, after_store(107, 0, 'Some bad text here');
INSERT INTO docs VALUES (8, 'yet more text') RETURNING id, after_store(108, 0, 'Yet more text');
INSERT INTO docs VALUES (9, 'the last text') RETURNING id, after_store(109, 9, 'The last text');
INSERT INTO docs VALUES (10, 'a text to touch') RETURNING id, touch(docs);
SELECT id, body FROM docs WHERE id IN (7, 8, 9, 10, 107, 108, 109) ORDER BY id;
ROLLBACK;
-- A temporary table.
CREATE TEMP TABLE temporary (id integer PRIMARY KEY, f bigint);
SELECT simhash_attach('temporary', 'f'), simhash_guard('temporary', source => 'f');
INSERT INTO temporary VALUES (1, 0), (2, 1);
-- The same row twice in one statement, and through a cursor.
UPDATE temporary SET f = 255 FROM generate_series(1, 2);
WITH first AS (UPDATE temporary SET f = 254 RETURNING id) UPDATE temporary SET f = 253;
INSERT INTO temporary VALUES (1, 0), (2, -1);
BEGIN;
DECLARE rows CURSOR FOR SELECT * FROM temporary ORDER BY id FOR UPDATE;
FETCH rows \gset found_
UPDATE temporary SET f = 3 WHERE CURRENT OF rows;
UPDATE temporary SET f = -4 WHERE CURRENT OF rows;
ROLLBACK;
-- A heap under another name is still a heap.
CREATE ACCESS METHOD heap_too TYPE TABLE HANDLER heap_tableam_handler;
CREATE TABLE too (id integer PRIMARY KEY, f bigint) USING heap_too;
SELECT simhash_attach('too', 'f'), simhash_guard('too', source => 'f');
INSERT INTO too VALUES (1, 0), (2, 1);
-- Domains.
CREATE DOMAIN print AS bigint;
CREATE DOMAIN tenant AS text;
CREATE TABLE domains (id integer PRIMARY KEY, f print, owner tenant);
SELECT simhash_attach('domains', 'f'), simhash_guard('domains', scope => '{owner}', source => 'f');
INSERT INTO domains VALUES (1, 0, 'a'), (2, 0, 'b'), (3, 0, 'a');
-- Rows that all share a block, as texts made from a template do, with statistics that show it.
CREATE TABLE template (id integer PRIMARY KEY, f bigint);
INSERT INTO template SELECT n, random_fingerprint(n) & x'ffffffffffff'::bigint
FROM generate_series(1, 20000) AS n;
ANALYZE template;
SELECT simhash_attach('template', 'f'), simhash_guard('template', source => 'f');
INSERT INTO template SELECT 20001, f # 7 FROM template WHERE id = 17;
INSERT INTO template SELECT 20001, f # 15 FROM template WHERE id = 17;
-- Halves, most of whose probes are looked up as one range: correct even if the range holds too many rows to read.
CREATE TABLE halves (id integer PRIMARY KEY, f bigint);
INSERT INTO halves SELECT n, random_fingerprint(n) FROM generate_series(1, 20000) AS n;
CREATE TABLE crowded (id integer PRIMARY KEY, f bigint);
INSERT INTO crowded SELECT n, (n::bigint << 33) + (random_fingerprint(n) & x'ffffffff'::bigint)
FROM generate_series(1, 20000) AS n;
SELECT simhash_attach(t, 'f', blocks => 2) FROM unnest('{halves, crowded}'::regclass[]) AS t;
SELECT simhash_guard(t, 'skip', source => 'f') FROM unnest('{halves, crowded}'::regclass[]) AS t;
-- Any one bit differs in one half, and two in the other: all are near. With a third bit in the other half, none is.
CREATE FUNCTION flip(place integer) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 1::bigint << place';
CREATE VIEW flips AS
SELECT a, b, flip(a) # flip(b) # flip((b + 7) % 32 + b / 32 * 32) AS near,
    flip(a) # flip(b) # flip((b + 7) % 32 + b / 32 * 32) # flip((b + 9) % 32 + b / 32 * 32) AS far
FROM generate_series(0, 63) AS a, generate_series(0, 63) AS b WHERE a / 32 <> b / 32;
INSERT INTO halves SELECT -1, f # near FROM halves, flips WHERE id = 17 RETURNING id;
INSERT INTO crowded SELECT -1, f # near FROM crowded, flips WHERE id = 17 RETURNING id;
INSERT INTO halves SELECT -1, f # far FROM halves, flips WHERE id = 17 AND a = 63 AND b = 5 RETURNING id;
INSERT INTO crowded SELECT -1, f # far FROM crowded, flips WHERE id = 17 AND a = 63 AND b = 5 RETURNING id;
