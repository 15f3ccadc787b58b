-- simhash_near: its results, for any user and with any indexes. Its plans are in near_plans.sql.

-- Whether two fingerprints differ in at most this many bits; by default, three.
SELECT simhash_near(0, 7) AS three, simhash_near(0, 15) AS four, simhash_near(0, 15, 4) AS within_four,
    simhash_near(-1, -1, 0) AS equal, simhash_near(0, -1, 63) AS within_63, simhash_near(0, -1, 64) AS within_64,
    simhash_near(max_distance => 1, query => 1, fingerprint => 3) AS named;
SELECT simhash_near(1, 1, -1) AS negative, simhash_near(0, -1, -2147483648) AS least,
    simhash_near(0, -1, 2147483647) AS greatest;
SELECT simhash_near(NULL, 1) IS NULL AND simhash_near(1, NULL) IS NULL AND simhash_near(1, 1, NULL) IS NULL AS nulls;
SELECT bool_and(simhash_near(a, b, k) = (a <~> b <= k)) AS same
FROM (VALUES (0), (7), (-1), (9223372036854775807), (-9223372036854775808)) AS a (a),
    (VALUES (0), (5), (-1), (-9223372036854775808)) AS b (b), generate_series(-1, 65) AS k;
SELECT provolatile AS volatility, proisstrict AS strict, proleakproof AS leakproof, proparallel AS parallel,
    prosupport AS support
FROM pg_proc WHERE proname = 'simhash_near';

-- Tables with indexed blocks: of a fingerprint column, and of a fingerprint that is never NULL.
CREATE TABLE documents (
    id integer PRIMARY KEY, fp bigint,
    block0 integer GENERATED ALWAYS AS (simhash_block(fp, 0, 2)) STORED,
    block1 integer GENERATED ALWAYS AS (simhash_block(fp, 1, 2)) STORED);
INSERT INTO documents SELECT n, CASE WHEN n % 10 > 0 THEN n END FROM generate_series(1, 100) n;
CREATE INDEX ON documents (block0);
CREATE INDEX ON documents (block1);
CREATE TABLE never_null (id integer, raw bigint, fp bigint GENERATED ALWAYS AS (coalesce(raw, bigint '0')) STORED);
INSERT INTO never_null (id, raw) VALUES (1, 7), (2, NULL), (3, -1);
CREATE INDEX ON never_null (simhash_block(coalesce(raw, bigint '0'), 0, 2));
CREATE INDEX ON never_null (simhash_block(coalesce(raw, bigint '0'), 1, 2));
CREATE TABLE with_columns (
    id integer, raw bigint, fp bigint GENERATED ALWAYS AS (coalesce(raw, bigint '0')) STORED,
    block0 integer GENERATED ALWAYS AS (simhash_block(coalesce(raw, bigint '0'), 0, 2)) STORED,
    block1 integer GENERATED ALWAYS AS (simhash_block(coalesce(raw, bigint '0'), 1, 2)) STORED);
INSERT INTO with_columns (id, raw) SELECT id, raw FROM never_null;
CREATE INDEX ON with_columns (block0);
CREATE INDEX ON with_columns (block1);
ANALYZE documents;
SET enable_seqscan = off;

-- True, false and unknown differ.
SELECT simhash_near(fp, 64, 1) AS near, count(*) FROM documents GROUP BY near ORDER BY near;
SELECT simhash_near(fp, NULL) AS near, count(*) FROM documents GROUP BY near;
SELECT simhash_near(fp, 64, -1) AS near, count(*) FROM documents GROUP BY near ORDER BY near;
SELECT count(*) FROM documents WHERE NOT simhash_near(fp, 64, 1);
SELECT count(*) FROM documents WHERE simhash_near(fp, 64, 1) IS UNKNOWN;
SELECT id FROM documents WHERE simhash_near(fp, 64, 1) ORDER BY fp <~> 64, id LIMIT 4;

-- A distance known only when the query runs, even one that is too large for probes.
SET plan_cache_mode = force_generic_plan;
PREPARE search (bigint, integer) AS SELECT count(*) FROM documents WHERE simhash_near(fp, $1, $2);
EXECUTE search (64, 1);
EXECUTE search (64, -1);
EXECUTE search (64, 11);
EXECUTE search (64, 12);
EXECUTE search (64, 64);
EXECUTE search (64, NULL);
EXECUTE search (NULL, 1);
DEALLOCATE search;
RESET plan_cache_mode;
SELECT count(*) FROM documents WHERE simhash_near(fp, 64, extract(year FROM timestamptz '0012-01-01')::integer);
SELECT count(*) FROM documents WHERE simhash_near(fp, 64, (SELECT 64));
SELECT k, (SELECT count(*) FROM documents WHERE simhash_near(fp, 64, k)) FROM unnest('{-1,0,1,12,64,NULL}'::int[]) AS k;

-- Outer joins: a row made of NULLs has no blocks, whatever the fingerprint is computed from.
SELECT d.id, simhash_near(n.fp, 0) AS column, simhash_near(coalesce(n.raw, bigint '0'), 0) AS expression
FROM documents AS d LEFT JOIN with_columns AS n ON n.id = d.id WHERE d.id <= 4 ORDER BY d.id;
SELECT d.id FROM documents AS d LEFT JOIN never_null AS n ON n.id = d.id WHERE d.id <= 4 AND NOT simhash_near(n.fp, -1)
ORDER BY d.id;
SELECT d.id FROM documents AS d LEFT JOIN with_columns AS n ON n.id = d.id
WHERE d.id <= 4 AND simhash_near(coalesce(n.raw, bigint '0'), 0) ORDER BY d.id;

-- Grouping sets make columns NULL, too.
SELECT fp, count(*), simhash_near(fp, 1, 0) AS near FROM documents WHERE id < 4 GROUP BY ROLLUP (fp) ORDER BY fp;

-- A partial index with simhash_near as its predicate, which only ON CONFLICT with that predicate can mean.
CREATE UNIQUE INDEX documents_few ON documents ((-id)) WHERE simhash_near(fp, 64, 1);
INSERT INTO documents (id, fp) VALUES (64, 64) ON CONFLICT ((-id)) WHERE simhash_near(fp, 64, 1) DO NOTHING;
INSERT INTO documents AS d (id, fp) VALUES (64, 0) ON CONFLICT (id)
DO UPDATE SET fp = EXCLUDED.fp WHERE simhash_near(d.fp, EXCLUDED.fp, 1) RETURNING id, fp, simhash_near(d.fp, 0, 0);
UPDATE documents SET fp = 64 WHERE id = 64 AND simhash_near(fp, 0, 0) RETURNING id, simhash_near(fp, 64, 0) AS new;
DROP INDEX documents_few;

-- In a view with a check option, a policy for new rows, a constraint, a trigger's condition.
CREATE VIEW near_64 AS SELECT id, fp FROM documents WHERE simhash_near(fp, 64, 1) WITH CHECK OPTION;
INSERT INTO near_64 VALUES (1001, 65);
INSERT INTO near_64 VALUES (1002, 67);
UPDATE near_64 SET fp = 67 WHERE id = 1001;
DELETE FROM near_64 WHERE id = 1001 RETURNING fp;
DROP VIEW near_64;
ALTER TABLE documents ADD CONSTRAINT not_far CHECK (simhash_near(fp, 0, 7));
INSERT INTO documents (id, fp) VALUES (1003, 255);
ALTER TABLE documents DROP CONSTRAINT not_far;
CREATE FUNCTION report() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE NOTICE 'near: %', NEW.fp; RETURN NEW; END$$;
CREATE TRIGGER report BEFORE INSERT OR UPDATE ON documents FOR EACH ROW WHEN (simhash_near(NEW.fp, 64, 1))
EXECUTE FUNCTION report();
UPDATE documents SET fp = fp WHERE id IN (63, 64);
DROP TRIGGER report ON documents;
DROP FUNCTION report;

-- The extension in a schema that is not on the search_path, and that only the view's owner may use.
CREATE SCHEMA hidden;
CREATE ROLE regress_simhash_reader;
CREATE VIEW searched AS SELECT id FROM documents WHERE simhash_near(fp, 64, 0);
GRANT SELECT ON searched TO regress_simhash_reader;
ALTER EXTENSION pg_simhash SET SCHEMA hidden;
SELECT count(*) FROM searched;
SELECT count(*) FROM documents WHERE hidden.simhash_near(fp, 64, 1);
EXPLAIN (COSTS OFF) SELECT id FROM searched;
SET ROLE regress_simhash_reader;
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

-- Column privileges: the block columns need none.
GRANT SELECT (id, fp) ON documents TO regress_simhash_reader;
SET ROLE regress_simhash_reader;
SELECT count(*) FROM documents WHERE simhash_near(fp, 64, 1);
SELECT count(*) FROM documents WHERE block0 = 0;
RESET ROLE;

-- Under row-level security: as the reader's condition, and as the policy.
ALTER TABLE documents ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON documents USING (id < 67);
SET ROLE regress_simhash_reader;
SELECT id FROM documents WHERE simhash_near(fp, 64, 1) ORDER BY id;
RESET ROLE;
DROP POLICY few ON documents;
CREATE POLICY near ON documents USING (simhash_near(fp, 64, 1)) WITH CHECK (simhash_near(fp, 64, 0));
GRANT INSERT (id, fp), UPDATE (fp) ON documents TO regress_simhash_reader;
SET ROLE regress_simhash_reader;
SELECT id FROM documents ORDER BY id;
INSERT INTO documents (id, fp) VALUES (1004, 65);
INSERT INTO documents (id, fp) VALUES (1004, 64) RETURNING id;
RESET ROLE;

DROP TABLE documents, never_null, with_columns CASCADE;
DROP ROLE regress_simhash_reader;
DROP SCHEMA hidden;
