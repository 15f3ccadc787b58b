-- MERGE fires guards, and its searches use the indexes.
CREATE TABLE merged (id integer PRIMARY KEY, f bigint);
SELECT simhash_attach('merged', 'f'), simhash_guard('merged', 'skip', source => 'f');
INSERT INTO merged VALUES (1, 0), (2, -1);
-- Row 1 is near only itself, 2 is skipped as an UPDATE, 3 as an INSERT.
MERGE INTO merged USING (VALUES (1, 1), (2, 0), (3, 2), (4, 255)) AS s (id, f) ON merged.id = s.id
WHEN MATCHED THEN UPDATE SET f = s.f
WHEN NOT MATCHED THEN INSERT (id, f) VALUES (s.id, s.f);
SELECT id, f FROM merged ORDER BY id;
SELECT simhash_guard('merged', 'reject');
MERGE INTO merged USING (VALUES (5, 254)) AS s (id, f) ON merged.id = s.id
WHEN NOT MATCHED THEN INSERT (id, f) VALUES (s.id, s.f);
-- A search finds the rows to merge.
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) MERGE INTO merged USING (VALUES (1::bigint), (2)) AS s (f) ON simhash_near(merged.f, s.f, 0)
WHEN MATCHED THEN DELETE;
