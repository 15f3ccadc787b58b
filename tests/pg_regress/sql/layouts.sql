-- simhash_layouts: the cost of searches of a table, by the number of blocks.

-- A small table is read as a whole. Of its 400 rows, 100 share the second of four blocks, 120 share all blocks, and 20
-- have no fingerprint.
CREATE TABLE skewed (id integer, simhash bigint);
INSERT INTO skewed
SELECT n, CASE WHEN n % 40 < 10 THEN random_fingerprint(n) & ~(x'ffff'::bigint << 32) | (x'1234'::bigint << 32)
               WHEN n % 40 < 22 THEN -42
               WHEN n % 40 < 38 THEN random_fingerprint(n) END FROM generate_series(1, 400) n;
SELECT * FROM simhash_layouts('skewed');
-- No argument is NULL.
SELECT errors($$SELECT simhash_layouts('skewed', max_distance => NULL)$$, $$SELECT simhash_layouts(NULL)$$,
    $$SELECT simhash_layouts('skewed', NULL)$$, $$SELECT simhash_layouts('skewed', scope => NULL)$$);

-- A larger table is sampled. The exact values are 1/16 of the rows for four blocks, and a quarter at worst.
CREATE TABLE templates AS
SELECT CASE WHEN n % 4 = 0 THEN random_fingerprint(n) & ~(x'ffff'::bigint << 32) | (x'1234'::bigint << 32)
            ELSE random_fingerprint(n) END AS simhash FROM generate_series(1, 200000) n;
SELECT blocks, round(commonest[2]::numeric, 2) AS second_block,
    CASE WHEN blocks > 3 THEN round(candidates::numeric / 200000, 2) END AS candidates,
    CASE WHEN blocks > 3 THEN round(worst::numeric / 200000, 2) END AS worst,
    candidates < 50 AS few FROM simhash_layouts('templates') WHERE blocks <= 4;

-- No candidates: an empty table, a table without fingerprints, a single row.
CREATE TABLE few (simhash bigint);
PREPARE few AS SELECT count(*), max(candidates), max(worst) FROM simhash_layouts('few');
EXECUTE few;
INSERT INTO few VALUES (NULL);
EXECUTE few;
INSERT INTO few VALUES (42);
EXECUTE few;

-- A layout is indexed if it has indexes on as many blocks as a search within the distance needs.
CREATE TABLE docs (
    id integer, body text,
    simhash bigint GENERATED ALWAYS AS (simhash(body)) STORED,
    block0 integer GENERATED ALWAYS AS (simhash_block(simhash(body), 0)) STORED,
    block1 integer GENERATED ALWAYS AS (simhash_block(simhash(body), 1, 4)) STORED,
    block2 integer GENERATED ALWAYS AS (simhash_block(simhash(body), 2)) STORED,
    block3 integer GENERATED ALWAYS AS (simhash_block(simhash(body), 3)) STORED
);
CREATE INDEX ON docs (block0) INCLUDE (simhash);
CREATE INDEX ON docs (block1) INCLUDE (simhash);
CREATE INDEX ON docs (block2) INCLUDE (simhash);
CREATE FUNCTION pg_temp.indexed(target regclass, fingerprint name DEFAULT 'simhash')
RETURNS TABLE (max_distance integer, indexed integer[]) LANGUAGE sql AS $$
    SELECT max_distance, array_agg(blocks ORDER BY blocks) FILTER (WHERE indexed)
    FROM unnest(ARRAY[0, 1, 2, 3, 5]) max_distance, simhash_layouts(target, fingerprint, max_distance)
    GROUP BY max_distance ORDER BY max_distance
$$;
SELECT * FROM pg_temp.indexed('docs');
CREATE INDEX ON docs (block3, simhash);
SELECT * FROM pg_temp.indexed('docs');

-- Partitions are sampled with their parent; a materialized view is treated as a table.
CREATE TABLE parted (id integer, simhash bigint) PARTITION BY HASH (id);
CREATE TABLE parted0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parted1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1) PARTITION BY HASH (id);
CREATE TABLE parted10 PARTITION OF parted1 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parted11 PARTITION OF parted1 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parted SELECT id, simhash FROM skewed;
CREATE MATERIALIZED VIEW "Skew'd ""View""" AS SELECT id, simhash AS "Finger""print; --" FROM skewed;
SELECT name, count(*) AS same_layouts
FROM (VALUES ('parted', 'simhash'), ('"Skew''d ""View"""', 'Finger"print; --'))
        AS tables (name, col),
    LATERAL (SELECT * FROM simhash_layouts(name::regclass, col::name)
             INTERSECT SELECT * FROM simhash_layouts('skewed')) AS same GROUP BY name ORDER BY name;

-- Arguments that simhash_layouts refuses.
CREATE VIEW seen AS SELECT simhash FROM skewed;
ALTER TABLE skewed ADD body text;
SELECT errors($$SELECT simhash_layouts('skewed', 'body')$$, $$SELECT simhash_layouts('skewed', 'id')$$,
    $$SELECT simhash_layouts('skewed', 'ctid')$$,
    $$SELECT simhash_layouts('seen')$$, $$SELECT simhash_layouts('pg_class_oid_index', 'oid')$$,
    $$SELECT simhash_layouts(0)$$,
    $$SELECT simhash_layouts('skewed', max_distance => -1)$$, $$SELECT simhash_layouts('skewed', max_distance => 65)$$);

-- simhash_layouts is for the table's owner, and runs the owner's code as the owner.
GRANT SELECT ON skewed TO regress_reader; SET ROLE regress_reader;
SELECT simhash_layouts('skewed');
RESET ROLE;
CREATE FUNCTION only_as_owner(integer) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS
    $$ BEGIN IF current_user <> 'regress_owner' THEN RAISE 'run by %', current_user; END IF; RETURN $1; END $$;
CREATE TABLE owned (id integer);
CREATE INDEX ON owned (simhash_block(only_as_owner(id), 0), only_as_owner(id));
ALTER TABLE owned OWNER TO regress_owner;
SET ROLE regress_owner;
INSERT INTO owned VALUES (1);
RESET ROLE;
SELECT count(*) FROM simhash_layouts('owned', 'id');
