-- Since PostgreSQL 18: virtual generated columns, which are the default if STORED is not given.
CREATE TABLE virtual (id integer PRIMARY KEY, a bigint, b bigint, title text, body text, twin bigint,
    f bigint GENERATED ALWAYS AS (a # b),
    number bigint GENERATED ALWAYS AS (1) VIRTUAL,
    number_block1 integer GENERATED ALWAYS AS (1) VIRTUAL,
    both_texts text GENERATED ALWAYS AS (title || ' ' || body),
    short varchar(3) GENERATED ALWAYS AS (title),
    twin_of integer GENERATED ALWAYS AS (id));
-- Every tenth f differs in one bit from the one before.
INSERT INTO virtual (id, a, b, title, body)
SELECT n, n, n # hashint8extended(n - near, 0) # near, 'Title ' || n, 'a body of ' || n / 2
FROM generate_series(1, 1000) AS n, LATERAL (SELECT (n % 10 = 0)::integer AS near) AS tenth;

-- PostgreSQL itself allows no functions of extensions in them.
SELECT errors($$ALTER TABLE virtual ADD simhash bigint GENERATED ALWAYS AS (simhash(body))$$);
-- A column of fingerprints must be stored.
SELECT errors(
    $$SELECT simhash_attach('virtual', 'f')$$,
    $$SELECT simhash_guard('virtual', source => 'f')$$);
-- A virtual column with the name of a fingerprint; the detail says what is missing.
SELECT errors($$SELECT simhash_attach('virtual', 'body', prefix => 'number')$$);
-- The expression of a column does not include the limit of its type. Neither an expression nor a scope may have a
-- virtual column.
SELECT errors($$SELECT simhash_attach('virtual', 'short')$$, $$SELECT simhash_index('virtual', 'short')$$,
    $$SELECT simhash_index('virtual', 'upper(both_texts)')$$,
    $$SELECT simhash_index('virtual', 'body', scope => '{twin_of}')$$);
SELECT count(*) AS columns FROM pg_attribute WHERE attrelid = 'virtual'::regclass AND attnum > 0;

-- The source text may be virtual: it is replaced by its expression, as a stored one is.
SELECT simhash_attach('virtual', 'both_texts', blocks => 2);
SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'virtual'::regclass AND adnum =
    (SELECT attnum FROM pg_attribute WHERE attrelid = 'virtual'::regclass AND attname = 'simhash');
SELECT count(*), count(*) FILTER (WHERE simhash = simhash(both_texts)) AS right FROM virtual;
SET client_min_messages = notice;
SELECT simhash_attach('virtual', 'both_texts', blocks => 2);
SELECT errors($$SELECT simhash_guard('virtual', scope => '{twin_of}')$$,
    $$SELECT simhash_guard('virtual', 'mark', '{"resemblance": null}', mark_column => 'twin_of')$$);
SELECT simhash_detach('virtual');
SELECT simhash_index('virtual', 'both_texts', bands => 1);
SELECT pg_get_indexdef('virtual_simhash_band0_idx'::regclass);
SELECT simhash_index('virtual', 'both_texts', bands => 1);
SELECT simhash_index('virtual', 'title || '' '' || body', bands => 1);

-- Searches of a virtual column use its expression, and so do indexes.
CREATE INDEX ON virtual (simhash_block(a # b, 0, 2), (a # b));
CREATE INDEX ON virtual (simhash_block(a # b, 1, 2), (a # b));
ANALYZE virtual;
SELECT f AS query FROM virtual WHERE id = 10 \gset
EXPLAIN (COSTS OFF) SELECT id FROM virtual WHERE simhash_near(f, :query, 1);
SELECT array_agg(id ORDER BY id) AS found FROM virtual WHERE simhash_near(f, :query, 1);
SELECT count(*) AS pairs FROM virtual a JOIN virtual b ON simhash_near(a.f, b.f, 1) WHERE a.id < b.id;
SELECT count(*) - count(DISTINCT cluster) AS clustered
FROM (SELECT simhash_cluster(f, f, 1) OVER () AS cluster FROM virtual) AS clusters;
-- A guard is refused: in stored rows, it would read NULL as the virtual column.
SELECT errors($$SELECT simhash_guard('virtual', criterion => '{"max_distance": 1}', source => 'f')$$);
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON virtual FOR EACH ROW
    EXECUTE FUNCTION simhash_dedup('reject', '{"max_distance": 1, "resemblance": null}', 'f');
SELECT errors($$INSERT INTO virtual (id, a, b) SELECT 2000, a, b FROM virtual WHERE id = 10$$,
    $$UPDATE virtual SET a = 0 WHERE id = 10$$);
DROP TRIGGER guard ON virtual;

-- In a partitioned table, the column of fingerprints must be stored too.
CREATE TABLE virtual_parts (id integer, a bigint, f bigint GENERATED ALWAYS AS (a + 1)) PARTITION BY LIST (id);
SELECT errors($$SELECT simhash_guard('virtual_parts', source => 'f')$$,
    $$SELECT simhash_attach('virtual_parts', 'f')$$);
