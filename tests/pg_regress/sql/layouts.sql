-- simhash_layouts: what searches of a table cost, by the number of blocks.
-- Three digits, as the function returns them.
CREATE FUNCTION pg_temp.digits(n double precision) RETURNS double precision LANGUAGE sql IMMUTABLE AS
    $$ SELECT round(n::numeric, 2 - floor(log(n))::int)::float8 WHERE n > 0 UNION ALL SELECT 0 WHERE n = 0 $$;

-- Uniform fingerprints: as many candidates as theory predicts, the rows times the share of values that are probed.
CREATE TABLE uniform AS SELECT random_fingerprint(n) AS simhash FROM generate_series(1, 200000) n;
CREATE FUNCTION pg_temp.theory(rows float8, blocks int, max_distance int) RETURNS float8 LANGUAGE sql AS $$
    SELECT rows * (1 - exp(sum(ln(1 - cardinality(simhash_probes(0, i, blocks, max_distance))
                                      / 2.0 ^ (64 / blocks + CASE WHEN i < 64 % blocks THEN 1 ELSE 0 END)))))
    FROM generate_series(0, blocks - 1) i
$$;
SELECT blocks, probes, cardinality(commonest) AS commonest, best,
    probes = (SELECT sum(cardinality(simhash_probes(0, i, blocks, 3)))
              FROM generate_series(0, blocks - 1) i) AS counted,
    candidates / pg_temp.theory(200000, blocks, 3) BETWEEN .97 AND 1.15 AS as_theory_says
FROM simhash_layouts('uniform');
SELECT max_distance, array_agg(blocks ORDER BY blocks) AS layouts, min(blocks) FILTER (WHERE best) AS best,
    bool_and(candidates / pg_temp.theory(200000, blocks, max_distance) BETWEEN .97 AND 1.3) AS as_theory_says
FROM unnest(ARRAY[0, 1, 5, 8]) max_distance, simhash_layouts('uniform', 'simhash', max_distance)
GROUP BY max_distance ORDER BY max_distance;
-- The same table gives the same result.
SELECT count(*) AS layouts
FROM (SELECT * FROM simhash_layouts('uniform') INTERSECT SELECT * FROM simhash_layouts('uniform')) AS same;
DROP TABLE uniform;

-- A small table is read as a whole. Of its 400 rows, 100 share the second of four blocks, 120 share all blocks, and 20
-- have no fingerprint.
CREATE TABLE skewed (id integer, simhash bigint);
INSERT INTO skewed
SELECT n, CASE WHEN n % 40 < 10 THEN random_fingerprint(n) & ~(x'ffff'::bigint << 32) | (x'1234'::bigint << 32)
               WHEN n % 40 < 22 THEN -42
               WHEN n % 40 < 38 THEN random_fingerprint(n) END
FROM generate_series(1, 400) n;
SELECT * FROM simhash_layouts('skewed');
-- The truth: for each search, the other rows that share a probed block.
CREATE FUNCTION pg_temp.truth(max_distance int)
RETURNS TABLE (blocks int, commonest float8[], candidates float8, worst float8) LANGUAGE sql AS $$
    WITH looked_up AS (
        SELECT blocks, id, i, simhash_block(simhash, i, blocks) AS block,
            simhash_probes(simhash, i, blocks, max_distance) AS probes
        FROM skewed, generate_series(2, 8) blocks, generate_series(0, blocks - 1) i
        WHERE simhash IS NOT NULL
    ), fetched AS (
        SELECT a.blocks, a.id, count(DISTINCT b.id) - 1 AS rows
        FROM looked_up a CROSS JOIN unnest(a.probes) probe
            JOIN looked_up b ON a.blocks = b.blocks AND a.i = b.i AND b.block = probe
        GROUP BY a.blocks, a.id
    ), ranked AS (
        SELECT *, row_number() OVER (PARTITION BY blocks ORDER BY rows DESC) AS rank FROM fetched
    ), common AS (
        SELECT blocks, i, max(rows) / (SELECT count(simhash) FROM skewed) AS share
        FROM (SELECT blocks, i, count(*)::float8 AS rows FROM looked_up GROUP BY blocks, i, block) AS counts
        GROUP BY blocks, i
    )
    SELECT blocks,
        (SELECT array_agg(round(share::numeric, 4)::float8 ORDER BY i) FROM common WHERE common.blocks = ranked.blocks),
        pg_temp.digits(avg(rows)::float8),
        pg_temp.digits((avg(rows) FILTER (WHERE rank <= ceil((SELECT count(simhash) FROM skewed) / 100.0)))::float8)
    FROM ranked GROUP BY blocks
$$;
WITH truth AS MATERIALIZED (
    SELECT max_distance, truth.* FROM unnest(ARRAY[0, 3, 4]) max_distance, pg_temp.truth(max_distance) AS truth
)
SELECT max_distance, count(*) AS layouts,
    count(*) FILTER (WHERE truth.commonest = advice.commonest) AS commonest_as_counted,
    count(*) FILTER (WHERE truth.candidates = advice.candidates) AS candidates_as_counted,
    count(*) FILTER (WHERE truth.worst = advice.worst) AS worst_as_counted
FROM truth JOIN LATERAL simhash_layouts('skewed', max_distance => max_distance) AS advice USING (blocks)
GROUP BY max_distance ORDER BY max_distance;
-- Without a distance: the searches whose share of copies is known. Best are those of which no other finds as many for
-- less. Without flips, the candidates are the other rows near by the radii, at any distance.
SELECT * FROM simhash_layouts('skewed', max_distance => NULL);
SELECT radii, candidates = pg_temp.digits((
        SELECT count(*) / 380.0 - 1 FROM skewed AS a JOIN skewed AS b ON simhash_near(a.simhash, b.simhash, 64, radii)
    )::float8) AS as_counted
FROM simhash_layouts('skewed', max_distance => NULL) WHERE radii <> '{}' AND flips = '{}';
SELECT radii, indexed FROM simhash_layouts('skewed', max_distance => NULL) WHERE blocks = 4;
CREATE INDEX ON skewed (simhash_block(simhash, 0));
CREATE INDEX ON skewed (simhash_block(simhash, 1));
CREATE INDEX ON skewed (simhash_block(simhash, 2));
SELECT count(*) FROM simhash_layouts('skewed', max_distance => NULL) WHERE indexed;
CREATE INDEX ON skewed (simhash_block(simhash, 3));
SELECT within, radii FROM simhash_layouts('skewed', max_distance => NULL) WHERE indexed;
DROP INDEX skewed_simhash_block_idx, skewed_simhash_block_idx1, skewed_simhash_block_idx2, skewed_simhash_block_idx3;
-- Layouts that need too many probes are left out; at distance 64 every row is a candidate.
SELECT array_agg(blocks) AS layouts FROM simhash_layouts('skewed', max_distance => 12);
SELECT blocks, candidates FROM simhash_layouts('skewed', max_distance => 64) WHERE blocks = 8;

-- A larger table is sampled: close to the truth, which is 1/16 of the rows for four blocks and a quarter at worst.
CREATE TABLE templates AS
SELECT CASE WHEN n % 4 = 0 THEN random_fingerprint(n) & ~(x'ffff'::bigint << 32) | (x'1234'::bigint << 32)
            ELSE random_fingerprint(n) END AS simhash
FROM generate_series(1, 200000) n;
SELECT blocks, round(commonest[2]::numeric, 2) AS second_block,
    CASE WHEN blocks > 3 THEN round(candidates::numeric / 200000, 2) END AS candidates,
    CASE WHEN blocks > 3 THEN round(worst::numeric / 200000, 2) END AS worst,
    candidates < 50 AS few
FROM simhash_layouts('templates') WHERE blocks <= 4;
SELECT blocks IN (2, 3) AS wide_blocks_are_best FROM simhash_layouts('templates') WHERE best;
DROP TABLE templates;
-- Identical fingerprints are found in any layout.
CREATE TABLE duplicates AS SELECT 7::bigint AS simhash FROM generate_series(1, 300000);
SELECT * FROM simhash_layouts('duplicates');
DROP TABLE duplicates;

-- No candidates: an empty table, a table without fingerprints, a single row.
CREATE TABLE few (simhash bigint);
SELECT * FROM simhash_layouts('few');
INSERT INTO few VALUES (NULL), (NULL);
SELECT * FROM simhash_layouts('few') WHERE blocks = 4;
INSERT INTO few VALUES (7);
SELECT * FROM simhash_layouts('few') WHERE blocks = 4;
-- Of no table, column or scope, nothing.
SELECT * FROM simhash_layouts(NULL);
SELECT * FROM simhash_layouts('few', NULL);
SELECT * FROM simhash_layouts('few', scope => NULL);
DROP TABLE few;

-- Which layouts are indexed: by generated columns or expressions, on as many blocks as a search at the distance needs.
CREATE TABLE docs (
    id integer, body text,
    simhash bigint GENERATED ALWAYS AS (simhash(body)) STORED,
    block0 integer GENERATED ALWAYS AS (simhash_block(simhash(body), 0)) STORED,
    block1 integer GENERATED ALWAYS AS (simhash_block(simhash(body), 1, 4)) STORED,
    block2 integer GENERATED ALWAYS AS (simhash_block(simhash(body), 2)) STORED,
    block3 integer GENERATED ALWAYS AS (simhash_block(simhash(body), 3)) STORED
);
CREATE INDEX ON docs (block0);
CREATE INDEX ON docs (block1);
CREATE INDEX ON docs (block2);
CREATE FUNCTION pg_temp.indexed(target regclass, fingerprint name DEFAULT 'simhash')
RETURNS TABLE (max_distance integer, indexed integer[]) LANGUAGE sql AS $$
    SELECT max_distance, array_agg(blocks ORDER BY blocks) FILTER (WHERE indexed)
    FROM unnest(ARRAY[0, 1, 2, 3, 5]) max_distance, simhash_layouts(target, fingerprint, max_distance)
    GROUP BY max_distance ORDER BY max_distance
$$;
SELECT * FROM pg_temp.indexed('docs');
CREATE INDEX ON docs (block3) WHERE id > 0;
CREATE INDEX ON docs USING hash (block3);
CREATE INDEX ON docs (id, block3);
CREATE INDEX ON docs (simhash_block(simhash, 0, 2));
CREATE INDEX docs_half ON docs (simhash_block(simhash, 1, 2));
SELECT * FROM pg_temp.indexed('docs');
CREATE INDEX ON docs (block3, simhash);
DROP INDEX docs_half;
SELECT * FROM pg_temp.indexed('docs');
SELECT * FROM pg_temp.indexed('skewed');
DROP TABLE docs;

-- Partitions and children are sampled with their parent; a materialized view is treated as a table.
CREATE TABLE parted (id integer, simhash bigint) PARTITION BY HASH (id);
CREATE TABLE parted0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parted1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1) PARTITION BY HASH (id);
CREATE TABLE parted10 PARTITION OF parted1 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parted11 PARTITION OF parted1 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parted SELECT id, simhash FROM skewed;
CREATE TABLE parent (id integer, simhash bigint);
CREATE TABLE child () INHERITS (parent);
INSERT INTO parent SELECT id, simhash FROM skewed WHERE id <= 200;
INSERT INTO child SELECT id, simhash FROM skewed WHERE id > 200;
CREATE MATERIALIZED VIEW "Skew'd ""View""" AS SELECT id, simhash AS "Finger""print; --" FROM skewed;
SELECT name, count(*) AS same_layouts
FROM (VALUES ('parted', 'simhash'), ('parent', 'simhash'), ('"Skew''d ""View"""', 'Finger"print; --'))
        AS tables (name, col),
    LATERAL (SELECT * FROM simhash_layouts(name::regclass, col::name)
             INTERSECT SELECT * FROM simhash_layouts('skewed')) AS same
GROUP BY name ORDER BY name;
DROP MATERIALIZED VIEW "Skew'd ""View""";
CREATE DOMAIN fingerprint AS bigint;
ALTER TABLE child NO INHERIT parent;
ALTER TABLE child ALTER simhash TYPE fingerprint;
SELECT count(*) AS layouts FROM simhash_layouts('child');
DROP TABLE parent, child, parted;
DROP DOMAIN fingerprint;

-- search_path does not matter.
CREATE SCHEMA hostile;
CREATE FUNCTION hostile.equal(oid, oid) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'called'; END $$;
CREATE OPERATOR hostile.= (LEFTARG = oid, RIGHTARG = oid, FUNCTION = hostile.equal);
CREATE FUNCTION hostile.sum(bigint) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RAISE 'called'; END $$;
CREATE DOMAIN hostile.int8 AS text;
CREATE TABLE hostile.pg_inherits (inhrelid oid, inhparent oid);
CREATE TABLE hostile.skewed (simhash text);
SELECT 'skewed'::regclass::oid AS skewed, format('%I.simhash_layouts', n.nspname) AS simhash_layouts
FROM pg_extension e JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'pg_simhash' \gset
CREATE TEMP TABLE expected AS SELECT * FROM simhash_layouts('skewed');
SET search_path = hostile, pg_catalog;
SELECT count(*) FROM (SELECT * FROM :simhash_layouts(:skewed) INTERSECT SELECT * FROM pg_temp.expected) AS same;
RESET search_path;
DROP TABLE expected;
SET client_min_messages = warning;
DROP SCHEMA hostile CASCADE;
RESET client_min_messages;

-- Errors.
CREATE VIEW seen AS SELECT simhash FROM skewed;
ALTER TABLE skewed ADD body text;
SELECT errors($$SELECT simhash_layouts('skewed', 'body')$$, $$SELECT simhash_layouts('skewed', 'id')$$,
    $$SELECT simhash_layouts('skewed', 'Simhash')$$, $$SELECT simhash_layouts('skewed', 'ctid')$$,
    $$SELECT simhash_layouts('seen')$$, $$SELECT simhash_layouts('pg_class_oid_index', 'oid')$$, $$SELECT simhash_layouts(0)$$,
    $$SELECT simhash_layouts('skewed', max_distance => -1)$$, $$SELECT simhash_layouts('skewed', max_distance => 65)$$);

-- It reads as its caller: without SELECT on the column there is no result, and hidden rows never count.
CREATE ROLE regress_simhash_layouts;
GRANT SELECT (id) ON skewed TO regress_simhash_layouts;
SET ROLE regress_simhash_layouts;
SELECT simhash_layouts('skewed');
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
GRANT SELECT (simhash) ON skewed TO regress_simhash_layouts;
ALTER TABLE skewed ENABLE ROW LEVEL SECURITY;
SET ROLE regress_simhash_layouts;
SELECT blocks, commonest, candidates FROM simhash_layouts('skewed') WHERE blocks = 4;
RESET ROLE;
CREATE POLICY template ON skewed USING (id % 40 < 10);
SET ROLE regress_simhash_layouts;
SELECT blocks, commonest, candidates FROM simhash_layouts('skewed') WHERE blocks = 4;
RESET ROLE;
DROP VIEW seen;
DROP TABLE skewed;
DROP ROLE regress_simhash_layouts;
