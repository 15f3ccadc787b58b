-- simhash_near: its results, for any user and with any indexes. Its plans are in near_plans.sql.

-- Whether two fingerprints differ in at most this many bits; by default, three.
SELECT simhash_near(0, 7) AS three, simhash_near(0, 15) AS four, simhash_near(0, 15, 4) AS within_four,
    simhash_near(-1, -1, 0) AS equal, simhash_near(0, -1, 63) AS within_63, simhash_near(0, -1, 64) AS within_64,
    simhash_near(max_distance => 1, query => 1, fingerprint => 3) AS named;
SELECT simhash_near(1, 1, -1) AS negative, simhash_near(0, -1, -2147483648) AS least,
    simhash_near(0, -1, 2147483647) AS greatest;
SELECT simhash_near(NULL, 1) IS NULL AND simhash_near(1, NULL) IS NULL AND simhash_near(1, 1, NULL) IS NULL AS nulls;

-- A table with indexed blocks. Random conditions and plans are in tests/load/queries.
CREATE TABLE documents (
    id integer PRIMARY KEY, fp bigint,
    block0 integer GENERATED ALWAYS AS (simhash_block(fp, 0, 2)) STORED,
    block1 integer GENERATED ALWAYS AS (simhash_block(fp, 1, 2)) STORED);
INSERT INTO documents SELECT n, CASE WHEN n % 10 > 0 THEN n END FROM generate_series(1, 100) n;
CREATE INDEX ON documents (block0, fp);
CREATE INDEX ON documents (block1, fp);
ANALYZE documents; SET enable_seqscan = off;

-- True, false and unknown differ.
SELECT simhash_near(fp, 64, 1) AS near, count(*) FROM documents GROUP BY near ORDER BY near;
SELECT id FROM documents WHERE simhash_near(fp, 64, 1) ORDER BY fp <~> 64, id LIMIT 4;

-- A partial index whose predicate is simhash_near: only ON CONFLICT with the same predicate infers it.
CREATE UNIQUE INDEX documents_few ON documents ((-id)) WHERE simhash_near(fp, 64, 1);
INSERT INTO documents (id, fp) VALUES (64, 64) ON CONFLICT ((-id)) WHERE simhash_near(fp, 64, 1) DO NOTHING;
INSERT INTO documents AS d (id, fp) VALUES (64, 0) ON CONFLICT (id)
DO UPDATE SET fp = EXCLUDED.fp WHERE simhash_near(d.fp, EXCLUDED.fp, 1) RETURNING id, fp, simhash_near(d.fp, 0, 0);
UPDATE documents SET fp = 64 WHERE id = 64 AND simhash_near(fp, 0, 0) RETURNING id, simhash_near(fp, 64, 0) AS new;
DROP INDEX documents_few;

-- In a view with a check option.
CREATE VIEW near_64 AS SELECT id, fp FROM documents WHERE simhash_near(fp, 64, 1) WITH CHECK OPTION;
SELECT errors('INSERT INTO near_64 VALUES (1001, 65)', 'INSERT INTO near_64 VALUES (1002, 67)',
    'DELETE FROM near_64 WHERE id = 1001');
DROP VIEW near_64;

-- The extension in a schema that is not on the search_path, and that only the view's owner may use.
CREATE SCHEMA hidden;
CREATE VIEW searched AS SELECT id FROM documents WHERE simhash_near(fp, 64, 0);
GRANT SELECT ON searched TO regress_reader;
ALTER EXTENSION pg_simhash SET SCHEMA hidden;
SELECT count(*) FROM searched;
SELECT count(*) FROM documents WHERE hidden.simhash_near(fp, 64, 1);
EXPLAIN (COSTS OFF) SELECT id FROM searched;
SET ROLE regress_reader;
SELECT count(*) FROM searched;
EXPLAIN (COSTS OFF) SELECT id FROM searched;
SELECT hidden.simhash_near(1, 1);
RESET ROLE;
-- Functions and operators of the same names are not mistaken for the extension's.
CREATE FUNCTION hamming(bigint, bigint) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN 0; END';
CREATE FUNCTION simhash_block(bigint, integer, integer) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS
    'BEGIN RETURN 0; END';
SELECT count(*) FROM documents WHERE hidden.simhash_near(fp, 64, 1);
DROP FUNCTION hamming, simhash_block;
ALTER EXTENSION pg_simhash SET SCHEMA public;

-- A policy of row-level security may call simhash_near.
GRANT SELECT (id, fp) ON documents TO regress_reader;
ALTER TABLE documents ENABLE ROW LEVEL SECURITY;
CREATE POLICY near ON documents USING (simhash_near(fp, 64, 1)) WITH CHECK (simhash_near(fp, 64, 0));
GRANT INSERT (id, fp), UPDATE (fp) ON documents TO regress_reader; SET ROLE regress_reader;
SELECT id FROM documents ORDER BY id;
INSERT INTO documents (id, fp) VALUES (1004, 65);
INSERT INTO documents (id, fp) VALUES (1004, 64) RETURNING id;
