-- Functions marked LEAKPROOF are leakproof, and others never see hidden rows.

-- They fail for no value: an error would tell a user of a row that a policy hides.
CREATE TABLE numbers AS
SELECT n FROM unnest('{-2147483648, -1, 0, 1, 2, 3, 4, 7, 8, 9, 17, 32, 63, 64, 65, 2147483647}'::integer[]) AS n;
CREATE TABLE fingerprints AS
SELECT f FROM unnest('{-9223372036854775808, -1, 0, 1, 81985529216486895, 9223372036854775807, NULL}'::bigint[]) AS f;
SELECT * FROM (
    SELECT 'hamming', count(*), count(hamming(a.f, b.f)) FROM fingerprints a, fingerprints b
    UNION ALL
    SELECT 'simhash_block', count(*), count(simhash_block(f, a.n, b.n)) FROM fingerprints, numbers a, numbers b
    UNION ALL
    SELECT 'simhash_near', count(*), count(simhash_near(a.f, b.f, n)) FROM fingerprints a, fingerprints b, numbers
) AS called (function, calls, results) ORDER BY function;
-- No other functions are marked.
SELECT proname FROM pg_proc JOIN pg_depend ON classid = 'pg_proc'::regclass AND objid = oid
WHERE deptype = 'e' AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_simhash') AND proleakproof
ORDER BY proname;

-- Searches under row-level security: hidden rows are filtered out before functions that are not leakproof.
CREATE TABLE docs (id integer PRIMARY KEY, reader name, body text);
INSERT INTO docs
SELECT n, CASE WHEN n % 2 = 0 THEN 'regress_reader' ELSE 'somebody else' END, 'text ' || n / 2 || ' of ' || n / 2
FROM generate_series(1, 2000) AS n;
SELECT simhash_attach('docs', 'body', blocks => 4);
CREATE TABLE by_expression AS SELECT id, reader, body FROM docs;
SELECT index_by_hand('by_expression', 'simhash(body)');
ALTER TABLE docs ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON docs USING (reader = current_user);
ALTER TABLE by_expression ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON by_expression USING (reader = current_user);
CREATE VIEW barrier WITH (security_barrier) AS SELECT id, body, simhash FROM docs WHERE id % 2 = 0;
GRANT SELECT ON docs, by_expression, barrier TO regress_reader;
SELECT simhash AS query FROM docs WHERE id = 500 \gset

-- A condition that reports the hidden rows for which it is evaluated.
CREATE FUNCTION report_hidden(id integer) RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS
    $$ BEGIN IF id % 2 = 1 THEN RAISE WARNING 'sees %', id; END IF; RETURN true; END $$;
SELECT id FROM docs WHERE simhash_near(simhash, :query) AND id IN (500, 501) AND report_hidden(id) ORDER BY id;
EXPLAIN (COSTS OFF) SELECT id FROM by_expression ORDER BY simhash(body) <~> :query LIMIT 1;
SET ROLE regress_reader;
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE simhash_near(simhash, :query) AND report_hidden(id);
SELECT id FROM docs WHERE simhash_near(simhash, :query) AND report_hidden(id);
EXPLAIN (COSTS OFF) SELECT id FROM barrier WHERE simhash_near(simhash, :query) AND report_hidden(id);
SELECT id FROM barrier WHERE simhash_near(simhash, :query) AND report_hidden(id);
-- A fingerprint computed in the query is not used for an index scan below the policy: simhash can fail.
EXPLAIN (COSTS OFF) SELECT id FROM by_expression WHERE simhash_near(simhash(body), :query) AND report_hidden(id);
SELECT id FROM by_expression WHERE simhash_near(simhash(body), :query) AND report_hidden(id);
-- Orders by distance do not reveal hidden rows either.
SET enable_sort = off;
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE report_hidden(id) ORDER BY simhash <~> :query LIMIT 2;
SELECT simhash <~> :query AS distance FROM docs WHERE report_hidden(id) ORDER BY simhash <~> :query LIMIT 2;
RESET enable_sort;
EXPLAIN (COSTS OFF) SELECT id FROM by_expression WHERE report_hidden(id) ORDER BY simhash(body) <~> :query LIMIT 1;
SELECT id FROM by_expression WHERE report_hidden(id) ORDER BY simhash(body) <~> :query LIMIT 1;
RESET ROLE;

-- To search by the blocks, a user needs no privilege on them, and gets none.
ALTER TABLE docs DISABLE ROW LEVEL SECURITY;
REVOKE SELECT ON docs FROM regress_reader; GRANT SELECT (id, simhash) ON docs TO regress_reader;
SET ROLE regress_reader;
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE simhash_near(simhash, :query);
SELECT id FROM docs WHERE simhash_near(simhash, :query) ORDER BY id;
SELECT simhash_block0 FROM docs WHERE id = 1;
RESET ROLE; REVOKE SELECT (simhash) ON docs FROM regress_reader; SET ROLE regress_reader;
-- A user who may not select the fingerprint learns nothing.
EXPLAIN SELECT id FROM docs WHERE simhash_near(simhash, :query);
RESET ROLE;

-- A user needs EXECUTE on the function, although the scan does not call it for rows that are not near.
GRANT SELECT ON docs TO regress_reader; REVOKE EXECUTE ON FUNCTION simhash_near(bigint, bigint, integer) FROM PUBLIC;
SELECT errors_as('regress_reader', 'SELECT id FROM docs WHERE simhash_near(simhash, 42)');
GRANT EXECUTE ON FUNCTION simhash_near(bigint, bigint, integer) TO PUBLIC;
