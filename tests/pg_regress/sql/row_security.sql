-- Row-level security: hidden rows reveal nothing by an error, or by what is computed from them. (Searches by leakproof
-- functions: security_leakproof.)

CREATE TABLE documents (id int PRIMARY KEY, reader name, fingerprint bigint, block int, blocks int, distance int);
INSERT INTO documents
SELECT n, CASE WHEN n % 2 = 0 THEN 'regress_reader' ELSE 'somebody else' END,
    random_fingerprint(n / 4) # (1::bigint << n % 4), 0, 4, 3 FROM generate_series(1, 4000) n;
ALTER TABLE documents ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON documents USING (reader = current_user);
GRANT SELECT ON documents TO regress_reader; SET enable_seqscan = off;
-- A function that raises an error for a hidden row reveals its values. If block numbers come from data, wrong ones give
-- NULL, even if only hidden rows have them.
UPDATE documents SET block = 9, blocks = 99 WHERE id IN (41, 42);
SET ROLE regress_reader;
SELECT count(*) AS visible FROM documents WHERE simhash_block(fingerprint, block, blocks) IS NULL;
-- A wrong layout written in the query is an error, whether such a row is visible, hidden or missing.
SELECT id FROM documents WHERE id = 42 AND simhash_block(fingerprint, 9) IS NULL;
SELECT id FROM documents WHERE id = 41 AND simhash_block(fingerprint, 9) IS NULL;
SELECT id FROM documents WHERE id = 5000 AND simhash_block(fingerprint, 9) IS NULL;
-- A wrong block number as a parameter is not an error, whatever the row.
SET plan_cache_mode = force_generic_plan;
PREPARE hidden (int, int) AS SELECT id FROM documents WHERE id = $1 AND simhash_block(fingerprint, $2) IS NULL;
EXECUTE hidden (41, 9);
EXECUTE hidden (42, 9);
RESET plan_cache_mode; RESET ROLE;

-- A condition on texts is not leakproof. Indexes on bands still serve it, because a probe of a band reveals nothing,
-- and cleaned() is not called for hidden rows. A sequence counts its calls, from 2 on.
CREATE SEQUENCE calls;
GRANT ALL ON SEQUENCE calls TO regress_reader;
CREATE FUNCTION cleaned(content text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS
    $$ BEGIN PERFORM nextval('public.calls'); RETURN lower(content); END $$;
CREATE TABLE texts (reader name, body text);
INSERT INTO texts SELECT 'somebody else', 'some text that is hidden from the reader' FROM generate_series(1, 100);
ALTER TABLE texts ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON texts USING (reader = current_user);
GRANT SELECT ON texts TO regress_reader;
SELECT simhash_index('texts', 'cleaned(body)');
SET ROLE regress_reader;
PREPARE search AS SELECT body FROM texts WHERE simhash_near(cleaned(body), 'some text that is hidden from the reader');
EXPLAIN (COSTS OFF) EXECUTE search;
SELECT setval('calls', 1);
EXECUTE search;
SELECT nextval('calls') - 2 AS calls;
RESET ROLE;
INSERT INTO texts VALUES ('regress_reader', 'Some text that is hidden from the reader');
SET ROLE regress_reader;
SELECT setval('calls', 1);
EXECUTE search;
SELECT nextval('calls') - 2 AS calls;
