-- simhash_preview: what a guard would find among the rows of a table.
-- Fingerprints stored directly make the distances plain.
CREATE TABLE docs (id integer PRIMARY KEY, f bigint, body text, tenant integer);
ALTER TABLE docs ADD fp bigint GENERATED ALWAYS AS (CASE WHEN true THEN f ELSE simhash(body) END) STORED;
SELECT simhash_attach('docs', 'fp');
INSERT INTO docs VALUES
    (1, 0, 'one two three four five six seven eight nine ten', 1),
    -- Row 2 is .9 of row 1; row 3 is .9 of row 2, but .82 of row 1; row 4 is within the distance only.
    (2, 1, 'one two three four five six seven eight nine', 1),
    (3, 3, 'zero one two three four five six seven eight nine', 2),
    (4, 7, E'another\ntext', 1),
    (5, -1, 'a text of its own', 1), (6, -1, 'A text of its own!', NULL),
    (7, x'00ff00ff00ff00ff'::bigint, 'alone', 1), (8, NULL, '', 1);
SELECT * FROM simhash_preview('docs', fingerprint => 'fp');
SELECT distance, duplicate, rows, resemblance, example, earlier
FROM simhash_preview('docs', '{"max_distance": 2, "resemblance": 0.95}', fingerprint => 'fp');
-- By the distance alone, and within a scope.
SELECT distance, duplicate, rows, resemblance, example, earlier
FROM simhash_preview('docs', fingerprint => 'fp', criterion => '{"resemblance": null}');
SELECT distance, duplicate, rows, resemblance, example, earlier
FROM simhash_preview('docs', '{"max_distance": 6, "resemblance": 0.5}', '{tenant}', fingerprint => 'fp');
-- A guard that sees the rows in this order keeps row 3: the row that it resembles was skipped.
CREATE TABLE guarded (LIKE docs INCLUDING ALL);
SELECT simhash_guard('guarded', 'skip', fingerprint => 'fp');
INSERT INTO guarded SELECT id, f, body, tenant FROM docs ORDER BY id;
SELECT id FROM docs EXCEPT SELECT id FROM guarded ORDER BY id;
-- A generated fingerprint, no primary key, partitions, no text.
CREATE TABLE parted (part integer, body text) PARTITION BY LIST (part);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES IN (2);
SELECT simhash_attach('parted', 'body');
INSERT INTO parted VALUES (1, 'the first text'), (2, 'the second text'), (2, 'The first, text'), (1, 'alone');
SELECT * FROM simhash_preview('parted');
CREATE TABLE prints (id text PRIMARY KEY, f bigint);
SELECT simhash_attach('prints', 'f');
INSERT INTO prints VALUES ('a', 0), ('b', 1), ('c', -1);
SELECT * FROM simhash_preview('prints', fingerprint => 'f');
TRUNCATE prints;
SELECT * FROM simhash_preview('prints', fingerprint => 'f');
-- A sample is part of a large table.
INSERT INTO prints SELECT n, n::bigint * 7919 * 7919 * 7919 FROM generate_series(1, 20000) AS n;
ANALYZE prints;
SELECT sum(rows) BETWEEN 500 AND 2000, sum(share) BETWEEN 0.999 AND 1.001
FROM simhash_preview('prints', fingerprint => 'f', sample => 1000);
-- Errors. Only the owner may look.
CREATE TABLE bare (id integer PRIMARY KEY, body text, simhash bigint GENERATED ALWAYS AS (simhash(body)) STORED);
GRANT SELECT ON docs TO regress_owner;
SELECT errors(
    'SELECT simhash_preview(''prints'', fingerprint => ''f'', criterion => ''{"resemblance": 0.84}'')',
    'SELECT simhash_preview(''docs'')',
    'SELECT simhash_preview(''bare'')',
    'SELECT simhash_preview(''docs'', ''{"max_distance": 65}'')',
    'SELECT simhash_preview(''docs'', fingerprint => ''f'', criterion => ''{"resemblance": 2}'')',
    'SELECT simhash_preview(''docs'', fingerprint => ''f'', scope => NULL)',
    'SELECT simhash_preview(''docs'', fingerprint => ''f'', sample => 0)',
    'SELECT simhash_preview(''docs'', fingerprint => ''f'', sample => NULL)',
    'SELECT simhash_preview(NULL)',
    'SELECT simhash_preview(''pg_class'')');
-- Of rows that row-level security may hide from the owner, nothing is shown.
ALTER TABLE docs OWNER TO regress_owner;
ALTER TABLE docs ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY some_rows ON docs USING (id > 1);
GRANT CREATE ON SCHEMA public TO regress_owner;
SET ROLE regress_owner;
SELECT * FROM simhash_preview('docs', fingerprint => 'fp');
RESET ROLE;
SELECT distance, duplicate, rows, example, earlier FROM simhash_preview('docs', fingerprint => 'fp');
ALTER TABLE docs OWNER TO CURRENT_USER;
SET ROLE regress_owner;
SELECT simhash_preview('docs', fingerprint => 'fp');
