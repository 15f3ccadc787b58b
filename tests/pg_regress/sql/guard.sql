-- simhash_guard: what becomes of near-duplicates, whatever statement writes them.
-- Texts. Case and punctuation make no difference.
CREATE TABLE docs (id integer PRIMARY KEY, body text, views integer DEFAULT 0);
SELECT simhash_index('docs', 'body'), simhash_guard('docs');
SELECT tgname, pg_get_triggerdef(oid) AS definition FROM pg_trigger WHERE tgrelid = 'docs'::regclass;
INSERT INTO docs VALUES (1, 'The quick brown fox jumps over the lazy dog');
INSERT INTO docs VALUES (2, 'the QUICK brown fox jumps over the lazy dog!');
\echo :LAST_ERROR_SQLSTATE
INSERT INTO docs VALUES (3, 'Another text'), (4, 'One'), (5, 'Two');
INSERT INTO docs VALUES (6, 'Six'), (7, 'six');
SELECT id, body FROM docs ORDER BY id;
-- All fields that drivers read.
SELECT fields($$INSERT INTO docs VALUES (2, 'the quick brown fox jumps over the lazy dog')$$);

-- Fingerprints stored directly make the distances plain. Each of these differs from the others in 16 bits or more.
CREATE TABLE prints (id integer PRIMARY KEY, f bigint, same_as integer, tenant text, part integer);
SELECT simhash_attach('prints', 'f'), simhash_guard('prints', source => 'f');
INSERT INTO prints VALUES (1, 0), (2, -1), (3, x'00ff00ff00ff00ff'::bigint), (4, x'0f0f0f0f0f0f0f0f'::bigint);
INSERT INTO prints VALUES (5, 1);
INSERT INTO prints VALUES (5, x'0001000100010000'::bigint);
INSERT INTO prints VALUES (5, x'0001000100010001'::bigint);
-- 3 bits from one row, and 1 from another: the nearer row is named.
INSERT INTO prints VALUES (6, x'0001000000000000'::bigint);
-- Rows without a fingerprint are always stored, and near no other row.
INSERT INTO prints VALUES (7, NULL), (8, NULL);
INSERT INTO docs VALUES (7, ''), (8, NULL), (9, ''), (10, '...');
SELECT count(*) FROM docs WHERE simhash(body) IS NULL;
-- Rows stored before the guard are not checked, but new rows are compared with them.
SELECT simhash_unguard('prints');
INSERT INTO prints VALUES (9, 0);
SELECT simhash_guard('prints', source => 'f');
INSERT INTO prints VALUES (10, 0);
DELETE FROM prints WHERE id = 1;
INSERT INTO prints VALUES (10, 0);

-- Skip: within a transaction and within a statement; RETURNING gives only what was stored.
SELECT simhash_guard('prints', 'skip', source => 'f');
TRUNCATE prints;
INSERT INTO prints VALUES (1, 0), (2, 7), (3, 1), (4, -1), (5, 15), (6, -1) RETURNING id, f;
INSERT INTO prints VALUES (7, 0);
COPY prints (id, f) FROM stdin;
21	0
22	72340172838076673
23	72340172838076674
24	\N
25	4294967295
\.
WITH stored AS (INSERT INTO prints VALUES (26, 0), (27, x'fffffffff0000000'::bigint) RETURNING id)
SELECT id FROM stored;
-- Both parts of one statement use the same snapshot.
WITH one AS (INSERT INTO prints VALUES (28, x'0ff00ff00ff00ff0'::bigint) RETURNING id),
    two AS (INSERT INTO prints VALUES (29, x'0ff00ff00ff00ff1'::bigint) RETURNING id)
SELECT (SELECT count(*) FROM one) + (SELECT count(*) FROM two) AS stored;
SELECT id, to_hex(f) AS f FROM prints ORDER BY id;

-- Mark. Row 5 is near marked rows only, so it gets no mark.
SELECT simhash_guard('prints', 'mark', mark_column => 'same_as', source => 'f');
TRUNCATE prints;
INSERT INTO prints VALUES (1, 0), (2, 7), (3, 1), (4, -1), (5, 15), (6, -1) RETURNING id, f, same_as;
INSERT INTO prints VALUES (7, 3), (8, 1) RETURNING id, f, same_as;
-- A mark column set by the statement is kept only where the guard has nothing to decide.
INSERT INTO prints VALUES (9, x'00ff00ff00ff00ff'::bigint, 4), (10, x'00ff00ff00ff00ff'::bigint, 4), (11, NULL, 4)
RETURNING id, same_as;
UPDATE prints SET f = x'0ff00ff00ff00ff0'::bigint WHERE id = 8 RETURNING id, same_as;
UPDATE prints SET f = 1 WHERE id = 8 RETURNING id, same_as;
UPDATE prints SET same_as = 4 WHERE id = 8 RETURNING id, same_as;
UPDATE prints SET tenant = 'a' WHERE id = 8 RETURNING id, same_as;

-- UPDATE: a row is never its own duplicate.
SELECT simhash_guard('docs', 'reject');
UPDATE docs SET body = body || '!' WHERE id < 6;
UPDATE docs SET body = 'the quick brown fox jumps over the lazy dog' WHERE id = 1;
UPDATE docs SET id = 11 WHERE id = 1;
UPDATE docs SET views = views + 1;
UPDATE docs SET body = 'the quick brown fox jumps over the lazy dog' WHERE id = 3;
UPDATE docs SET body = 'a new text altogether' WHERE id = 3;
INSERT INTO docs VALUES (12, 'Another text');
UPDATE docs SET body = 'a new text altogether' WHERE id = 12;
-- The rows of one statement are decided one after the other.
UPDATE docs SET body = 'all the same' WHERE id > 4;
BEGIN;
-- A swap meets the other row's old text, as with a UNIQUE constraint.
UPDATE docs SET body = CASE id WHEN 3 THEN 'Another text' ELSE 'a new text altogether' END WHERE id IN (3, 12);
ROLLBACK;
SELECT id, body, views FROM docs ORDER BY id;

-- Savepoints: a row that was rolled back does not count.
BEGIN;
SAVEPOINT a;
INSERT INTO docs VALUES (20, 'twenty');
ROLLBACK TO a;
INSERT INTO docs VALUES (21, 'Twenty');
SAVEPOINT b;
DELETE FROM docs WHERE id = 21;
INSERT INTO docs VALUES (23, 'TWENTY');
ROLLBACK TO b;
INSERT INTO docs VALUES (24, 'TWENTY');
ROLLBACK;

-- Memory and locks do not grow with the rows. The locks of a row are released before the next row is fetched.
SELECT simhash_guard('prints', 'skip', source => 'f');
TRUNCATE prints;
CREATE FUNCTION bytes() RETURNS bigint LANGUAGE sql VOLATILE AS
    'SELECT sum(used_bytes)::bigint FROM pg_backend_memory_contexts';
BEGIN;
INSERT INTO prints (id, f, part) SELECT n, ('x' || left(md5((n % 90000)::text), 16))::bit(64)::bigint,
    CASE WHEN n IN (1, 1000, 89000) THEN bytes() END -- the call for row 1 only plans the function
FROM generate_series(1, 100000) AS n;
SELECT count(*) FROM prints;
SELECT abs(a.part - b.part) < 100000 AS same_memory FROM prints a, prints b WHERE a.id = 1000 AND b.id = 89000;
SELECT guard_locks();
INSERT INTO prints (id, f, part) SELECT n, random_fingerprint(n), guard_locks()
FROM generate_series(100001, 100010) AS n RETURNING id, part, guard_locks();
SELECT guard_locks();
-- Statements within a statement.
CREATE FUNCTION store(n integer) RETURNS bigint LANGUAGE sql VOLATILE AS
    'INSERT INTO prints VALUES (n, (''x'' || left(md5(n::text), 16))::bit(64)::bigint); SELECT guard_locks()';
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

-- Other distances.
SELECT simhash_guard('prints', 'reject', '{"max_distance": 0}', source => 'f');
INSERT INTO prints SELECT 400000 + n, f # (1 - n) FROM prints, generate_series(0, 1) AS n WHERE id = 1;
SELECT simhash_guard('prints', criterion => '{"max_distance": 8}', source => 'f');
INSERT INTO prints SELECT 400002, f # 510 FROM prints WHERE id = 1;
INSERT INTO prints SELECT 400002, f # 255 FROM prints WHERE id = 2;
INSERT INTO prints SELECT 400002, f # 511 FROM prints WHERE id = 2;

-- Scope: a duplicate counts only among rows with the same values; NULL equals NULL.
TRUNCATE prints;
SELECT simhash_guard('prints', 'reject', '{}', scope => '{tenant}', source => 'f');
INSERT INTO prints (id, f, tenant) VALUES (1, 0, 'a'), (2, 0, 'b'), (3, 0, NULL), (4, 0, '');
INSERT INTO prints (id, f, tenant) VALUES (5, 1, 'a');
INSERT INTO prints (id, f, tenant) VALUES (5, 1, NULL);
INSERT INTO prints (id, f, tenant) VALUES (5, 1, 'A');
UPDATE prints SET tenant = 'b' WHERE id = 1;
UPDATE prints SET tenant = NULL WHERE id = 1;
UPDATE prints SET tenant = 'c' WHERE id = 1;
SELECT simhash_guard('prints', 'skip', scope => '{tenant, part}', source => 'f');
TRUNCATE prints;
INSERT INTO prints (id, f, tenant, part) VALUES (1, 0, 'a', 1), (2, 0, 'a', 2), (3, 0, 'b', 1), (4, 1, 'a', 2),
    (5, 0, NULL, 1), (6, 1, NULL, 1), (7, 0, NULL, NULL), (8, 1, NULL, NULL), (9, 1, 'a', NULL) RETURNING id;
-- Scope values are compared by the column's collation.
CREATE TABLE collated (id integer PRIMARY KEY, f bigint, tenant text COLLATE no_case);
SELECT simhash_attach('collated', 'f'), simhash_guard('collated', scope => '{tenant}', source => 'f');
INSERT INTO collated VALUES (1, 0, 'Ada'), (2, 0, 'Bob');
INSERT INTO collated VALUES (3, 0, other_case('Ada'));
-- An UPDATE to an equal value finds only the row itself.
UPDATE collated SET tenant = other_case('Ada') WHERE id = 1;

-- Guarding again.
SET client_min_messages = notice;
SELECT simhash_guard('docs');
SELECT simhash_guard('docs', 'skip');
SELECT simhash_guard('docs', 'skip', '{"resemblance": 0.84, "bands": 6}', '{}');
SELECT simhash_guard('docs', 'skip', '{"resemblance": 0.9}');
SELECT simhash_unguard('docs');
SELECT simhash_unguard('docs');
\echo :LAST_ERROR_SQLSTATE
INSERT INTO docs VALUES (400, 'another text');
-- Where the trigger does not fire: disabled, or on a replica.
SET client_min_messages = warning;
SELECT simhash_guard('docs');
ALTER TABLE docs DISABLE TRIGGER zzz_simhash_guard;
INSERT INTO docs VALUES (401, 'another text');
ALTER TABLE docs ENABLE TRIGGER zzz_simhash_guard;
INSERT INTO docs VALUES (402, 'another text');
SET session_replication_role = replica;
INSERT INTO docs VALUES (402, 'another text');
RESET session_replication_role;
