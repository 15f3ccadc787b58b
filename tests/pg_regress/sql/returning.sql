-- A search in RETURNING, of the row that was written.
CREATE TABLE returned (id integer PRIMARY KEY, f bigint);
INSERT INTO returned VALUES (1, 0), (2, 255);
SELECT simhash_attach('returned', 'f', blocks => 2);
INSERT INTO returned VALUES (3, 3) RETURNING id, simhash_near(f, 0) AS near;
UPDATE returned SET f = f + 1 WHERE simhash_near(f, 0) RETURNING id, f, simhash_near(f, 1, 0) AS near;
