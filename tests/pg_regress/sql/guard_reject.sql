-- The action reject: a near-duplicate is an error. Case and punctuation make no difference.
CREATE TABLE docs (id integer PRIMARY KEY, body text);
SELECT simhash_index('docs', 'body'), simhash_guard('docs');
SELECT tgname, pg_get_triggerdef(oid) AS definition FROM pg_trigger WHERE tgrelid = 'docs'::regclass;
INSERT INTO docs VALUES (1, 'The quick brown fox jumps over the lazy dog');
INSERT INTO docs VALUES (2, 'the QUICK brown fox jumps over the lazy dog!');
\echo :LAST_ERROR_SQLSTATE
INSERT INTO docs VALUES (3, 'Another text'), (4, 'One'), (5, 'Two');
INSERT INTO docs VALUES (6, 'Six'), (7, 'six');
SELECT id, body FROM docs ORDER BY id;
-- The error has all fields that drivers read.
SELECT fields($$INSERT INTO docs VALUES (2, 'the quick brown fox jumps over the lazy dog')$$);

-- Fingerprints that are stored directly make the distances plain. These four differ from each other in 32 bits or more.
CREATE TABLE prints (id integer PRIMARY KEY, f bigint);
SELECT simhash_attach('prints', 'f'), simhash_guard('prints', source => 'f');
INSERT INTO prints VALUES (1, 0), (2, -1), (3, x'00ff00ff00ff00ff'::bigint), (4, x'0f0f0f0f0f0f0f0f'::bigint);
-- A row that differs from row 1 in 1 or 3 bits is near it; one that differs in 4 bits is not.
INSERT INTO prints VALUES (5, 1);
INSERT INTO prints VALUES (5, x'0001000100010000'::bigint);
INSERT INTO prints VALUES (5, x'0001000100010001'::bigint);
-- This row differs from row 1 in 1 bit, and from row 5 in 3 bits: the error names row 1, which is nearer.
INSERT INTO prints VALUES (6, x'0001000000000000'::bigint);
-- A row without a fingerprint, or without a word in its text, is near no other row.
INSERT INTO prints VALUES (7, NULL), (8, NULL);
INSERT INTO docs VALUES (7, ''), (8, NULL), (9, ''), (10, '...');
SELECT count(*) FROM docs WHERE simhash(body) IS NULL;
-- Rows that were stored before the guard was made are not checked, but new rows are compared with them: row 10 is
-- refused because of row 1, and without row 1 because of row 9.
SELECT simhash_unguard('prints');
INSERT INTO prints VALUES (9, 0);
SELECT simhash_guard('prints', source => 'f');
INSERT INTO prints VALUES (10, 0);
DELETE FROM prints WHERE id = 1;
INSERT INTO prints VALUES (10, 0);

-- The trigger does not fire if it is disabled, or if session_replication_role is replica.
ALTER TABLE docs DISABLE TRIGGER zzz_simhash_guard;
INSERT INTO docs VALUES (11, 'another text');
ALTER TABLE docs ENABLE TRIGGER zzz_simhash_guard;
INSERT INTO docs VALUES (12, 'another text');
SET session_replication_role = replica;
INSERT INTO docs VALUES (12, 'another text');
