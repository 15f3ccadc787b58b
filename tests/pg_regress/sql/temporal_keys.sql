-- Since PostgreSQL 18: keys WITHOUT OVERLAPS. A guard reports rows by them. Two rows whose keys are equal except for
-- the range are different rows.
CREATE TABLE temporal (id int4range, valid daterange, f bigint, PRIMARY KEY (id, valid WITHOUT OVERLAPS));
SELECT simhash_attach('temporal', 'f', blocks => 2);
SELECT simhash_guard('temporal', source => 'f');
INSERT INTO temporal VALUES ('[1,2)', '[2026-01-01,2026-02-01)', 0);
INSERT INTO temporal VALUES ('[1,2)', '[2026-02-01,2026-03-01)', 1);
INSERT INTO temporal VALUES ('[1,2)', '[2026-01-01,2026-02-01)', 1);
INSERT INTO temporal VALUES ('[1,2)', '[2026-01-15,2026-02-15)', -1);
INSERT INTO temporal VALUES ('[1,2)', '[2026-02-01,2026-03-01)', -1);
UPDATE temporal SET f = 1;
SELECT * FROM temporal ORDER BY valid;
