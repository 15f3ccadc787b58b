-- Since PostgreSQL 19: INSERT ... ON CONFLICT DO SELECT. A guard leaves a row whose key exists to the statement, as
-- with DO NOTHING.
CREATE TABLE selected (url text PRIMARY KEY, f bigint);
SELECT simhash_attach('selected', 'f', blocks => 2);
SELECT simhash_guard('selected', source => 'f');
INSERT INTO selected VALUES ('a', 0), ('b', -1);
INSERT INTO selected VALUES ('a', 1) ON CONFLICT (url) DO SELECT RETURNING url, f;
INSERT INTO selected VALUES ('a', 1) ON CONFLICT (url) DO NOTHING RETURNING url, f;
INSERT INTO selected VALUES ('a', 1) ON CONFLICT (url) DO SELECT FOR UPDATE WHERE selected.f = 0 RETURNING url, f;
INSERT INTO selected VALUES ('c', 1) ON CONFLICT (url) DO SELECT RETURNING url, f;
SELECT simhash_guard('selected', 'skip', source => 'f');
INSERT INTO selected VALUES ('a', 1), ('c', 1), ('d', 255) ON CONFLICT (url) DO SELECT RETURNING url, f;
SELECT url, f FROM selected ORDER BY url;
