-- Memory and locks do not grow with the rows. The locks of a row are released before the next row is fetched.
CREATE TABLE prints (id integer PRIMARY KEY, f bigint, part bigint);
SELECT simhash_attach('prints', 'f'), simhash_guard('prints', 'skip', source => 'f');
CREATE FUNCTION context_bytes() RETURNS bigint LANGUAGE sql VOLATILE AS
    'SELECT sum(used_bytes)::bigint FROM pg_backend_memory_contexts';
BEGIN;
INSERT INTO prints (id, f, part) SELECT n, random_fingerprint(n % 90000),
    CASE WHEN n IN (1, 1000, 89000) THEN context_bytes() END -- the call for row 1 only plans the function
FROM generate_series(1, 100000) AS n;
SELECT count(*) FROM prints;
SELECT abs(a.part - b.part) < 100000 AS same_memory FROM prints a, prints b WHERE a.id = 1000 AND b.id = 89000;
SELECT guard_locks();
INSERT INTO prints (id, f, part) SELECT n, random_fingerprint(n), guard_locks()
FROM generate_series(100001, 100010) AS n RETURNING id, part, guard_locks();
SELECT guard_locks();
-- Statements within a statement leave no locks, either.
CREATE FUNCTION store(n integer) RETURNS bigint LANGUAGE sql VOLATILE AS
    'INSERT INTO prints VALUES (n, random_fingerprint(n)); SELECT guard_locks()';
SELECT max(store(n)) FROM generate_series(100011, 100020) AS n;
SELECT guard_locks();
SAVEPOINT a;
SELECT 1 / store(100021);
ROLLBACK TO a;
SELECT guard_locks();
-- An error after the trigger has accepted the row.
INSERT INTO prints VALUES (300000, x'0f0f0f0f0f0f0f0f'::bigint), (300000, x'f0f0f0f0f0f0f0f0'::bigint);
ROLLBACK TO a;
SELECT guard_locks();
COMMIT;
