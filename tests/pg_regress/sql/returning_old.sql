-- Since PostgreSQL 18: a search in RETURNING of the row that was written, and of the old one.
CREATE TABLE returned (id integer PRIMARY KEY, f bigint);
INSERT INTO returned VALUES (2, 255), (1, 1), (3, 4);
SELECT simhash_attach('returned', 'f', blocks => 2);
UPDATE returned SET f = f * 2 RETURNING id, old.f AS before, new.f AS after, simhash_near(old.f, 1, 0) AS before_near,
    simhash_near(new.f, 2, 0) AS after_near, simhash_near(old.f, new.f) AS near;
MERGE INTO returned USING (VALUES (1, -1), (9, 9)) AS s (id, f) ON returned.id = s.id
WHEN MATCHED THEN UPDATE SET f = s.f
WHEN NOT MATCHED THEN INSERT (id, f) VALUES (s.id, s.f)
RETURNING merge_action(), returned.id, simhash_near(old.f, 2, 0) AS before_near,
    simhash_near(new.f, -1, 0) AS after_near;
