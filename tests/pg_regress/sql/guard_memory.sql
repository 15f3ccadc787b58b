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
FROM generate_series(100001, 100003) AS n RETURNING id, part, guard_locks();
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
-- If the table of locks is full for a statement within the guard's own search, that is an error, and nothing more.
CREATE SEQUENCE calls START 3; CREATE TABLE notes (body text); CREATE TABLE docs (body text);
SELECT simhash_index('notes', 'body'), simhash_guard('notes', 'skip');
CREATE FUNCTION note(body text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    IF nextval('public.calls') = 2 THEN INSERT INTO public.notes VALUES (body); END IF;
    RETURN body;
END $$;
CREATE FUNCTION noted(body text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN public.note(body); END';
ALTER TABLE docs ADD noted text GENERATED ALWAYS AS (noted(body)) STORED;
SELECT simhash_index('docs', 'noted'), simhash_guard('docs', 'skip'); INSERT INTO docs VALUES ('a text of the table');
CREATE FUNCTION insert_with_few_locks() RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    locks integer = 0;
    has_failed boolean = false;
BEGIN
    BEGIN LOOP PERFORM pg_advisory_lock(locks + 1); locks = locks + 1; END LOOP;
    EXCEPTION WHEN out_of_memory THEN END;
    WHILE locks > 0 AND NOT EXISTS (SELECT FROM notes) LOOP
        PERFORM pg_advisory_unlock(locks), setval('calls', 1, false);
        locks = locks - 1;
        BEGIN INSERT INTO docs VALUES ('a text of the table');
        EXCEPTION WHEN out_of_memory THEN has_failed = true; END;
    END LOOP;
    PERFORM pg_advisory_unlock_all();
    RETURN has_failed;
END $$;
SELECT insert_with_few_locks(); SELECT body FROM notes;
