-- simhash_preview: the near-duplicates that a guard would find among the rows of a table.
CREATE TABLE docs (id integer PRIMARY KEY, body text, tenant integer);
SELECT simhash_index('docs', 'body', bands => 24);
INSERT INTO docs VALUES
    (1, 'one two three four five six seven eight nine ten', 1),
    -- Row 2 is .89 of row 1; row 3 is .89 of row 2, but .81 of row 1; row 4 is .68 of row 3.
    (2, 'one two three four five six seven eight nine', 1),
    (3, 'zero one two three four five six seven eight nine', 2),
    (4, E'zero one\ntwo three four five six', 1),
    (5, 'a text of its own', 1), (6, 'A text of its own!', NULL),
    (7, 'alone', 1), (8, '', 1), (9, NULL, 1);
SELECT * FROM simhash_preview('docs');
SELECT resemblance, distance, duplicate, rows, example, earlier
FROM simhash_preview('docs', '{"resemblance": 0.9, "bands": 24}');
SELECT resemblance, duplicate, rows, example, earlier FROM simhash_preview('docs', '{"resemblance": 0.6}');
-- Within a scope, and among rows with a condition.
SELECT resemblance, duplicate, rows, example, earlier FROM simhash_preview('docs', '{"resemblance": 0.6}', '{tenant}');
SELECT resemblance, duplicate, rows, example, earlier
FROM simhash_preview('docs', '{"resemblance": 0.6}', among => 'id > 2');
SELECT resemblance, duplicate, rows, example, earlier
FROM simhash_preview('docs', '{"resemblance": 0.6}', unless => 'id = 4');
-- A guard that sees the rows in this order keeps row 3: the row that it resembles was skipped.
CREATE TABLE guarded (LIKE docs INCLUDING ALL);
SELECT simhash_guard('guarded', 'skip');
INSERT INTO guarded SELECT * FROM docs ORDER BY id;
SELECT id FROM docs EXCEPT SELECT id FROM guarded ORDER BY id;
-- Rows that are all near each other.
CREATE TABLE crowd (id integer PRIMARY KEY, body text);
SELECT simhash_index('crowd', 'body');
INSERT INTO crowd SELECT n, (SELECT string_agg('word' || i, ' ') FROM generate_series(1, 40) AS i) || ' ' || n
FROM generate_series(1, 1000) AS n;
SELECT duplicate, sum(rows) FROM simhash_preview('crowd') GROUP BY duplicate ORDER BY duplicate;
-- Rows that share bands with many others, and are near none: pairs are compared up to a limit.
CREATE TABLE letters (id integer PRIMARY KEY, body text);
SELECT simhash_index('letters', 'body');
INSERT INTO letters SELECT n, (SELECT string_agg('word' || i, ' ') FROM generate_series(1, 40) AS i)
    || (SELECT string_agg(' own' || n || '_' || i, '') FROM generate_series(1, 6) AS i)
FROM generate_series(1, 1000) AS n;
ANALYZE letters; SET client_min_messages = notice;
SELECT duplicate, sum(rows), sum(share) > 0.999 AS is_all FROM simhash_preview('letters', sample => 1000)
GROUP BY duplicate;
-- A row that is looked up is compared with all rows that share bands with it.
INSERT INTO letters SELECT id + 1000, body FROM letters;
SELECT duplicate, sum(rows) FROM simhash_preview('letters', sample => 40) GROUP BY duplicate;
SELECT count(*) BETWEEN 1 AND 2 AS few FROM simhash_preview('letters', sample => 1);
-- Pages that were indexed as if their tags were words.
CREATE TABLE pages (id integer, html text);
INSERT INTO pages SELECT id, '<nav><a href="/">' || body || '</a></nav><p>page ' || id || '</p>' FROM letters
WHERE id <= 40;
SELECT run_quietly($$SELECT simhash_index('pages', 'html')$$);
SELECT count(*) FROM simhash_preview('pages', sample => 1);
SET client_min_messages = warning;
-- A generated column, no primary key, partitions.
CREATE TABLE parted (part integer, body text, lowered text GENERATED ALWAYS AS (lower(body)) STORED)
    PARTITION BY LIST (part);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES IN (2);
SELECT simhash_index('parted', 'lowered');
INSERT INTO parted VALUES (1, 'the first text'), (2, 'the second text'), (2, 'The first, text'), (1, 'alone');
SELECT * FROM simhash_preview('parted');
-- A preview of fingerprints counts rows by their distance.
CREATE TABLE prints (id text PRIMARY KEY, f bigint, digits text);
SELECT simhash_attach('prints', 'f'), simhash_attach('prints', 'digits', '{"source": "hex"}', prefix => 'hex');
INSERT INTO prints VALUES ('a', 0, '00'), ('b', 1, '00'), ('c', -1, 'ff'), ('d', 3, '0f'), ('e', NULL, 'no');
SELECT * FROM simhash_preview('prints', source => 'f');
SELECT * FROM simhash_preview('prints', '{"max_distance": 4}', source => 'digits');
TRUNCATE prints;
SELECT * FROM simhash_preview('prints', source => 'f');
-- A sample is part of a large table.
INSERT INTO prints SELECT n, n::bigint * 7919 * 7919 * 7919 FROM generate_series(1, 20000) AS n;
ANALYZE prints;
SELECT sum(rows) BETWEEN 500 AND 2000, sum(share) BETWEEN 0.999 AND 1.001
FROM simhash_preview('prints', source => 'f', sample => 1000);
-- Without statistics, and with rows wider than the planner assumes, about as many rows are sampled as asked for.
CREATE TABLE loaded (id integer PRIMARY KEY, body text) WITH (autovacuum_enabled = false);
SELECT simhash_index('loaded', 'body');
INSERT INTO loaded SELECT n, (SELECT string_agg(md5(n || ' ' || i), ' ') FROM generate_series(1, 45) AS i)
FROM generate_series(1, 1000) AS n;
SELECT sum(rows) BETWEEN 640 AND 1000 FROM simhash_preview('loaded', sample => 800);
-- What is refused. Only the owner may look.
CREATE TABLE bare (id integer PRIMARY KEY, body text, simhash bigint GENERATED ALWAYS AS (simhash(body)) STORED);
GRANT SELECT ON docs TO regress_owner;
SELECT errors(
    'SELECT simhash_preview(''prints'', source => ''f'', criterion => ''{"resemblance": 0.84}'')',
    'SELECT simhash_preview(''prints'')',
    'SELECT simhash_preview(''bare'')',
    'SELECT simhash_preview(''bare'', source => ''simhash'')',
    'SELECT simhash_preview(''docs'', ''{"max_distance": 65}'')',
    'SELECT simhash_preview(''docs'', ''{"max_distance": 5}'')',
    'SELECT simhash_preview(''docs'', ''{"resemblance": 2}'')',
    'SELECT simhash_preview(''docs'', ''{"bands": 25}'')',
    'SELECT simhash_preview(''docs'', scope => NULL)',
    'SELECT simhash_preview(''docs'', sample => 0)',
    'SELECT simhash_preview(''docs'', sample => NULL)',
    'SELECT simhash_preview(NULL)',
    'SELECT simhash_preview(''pg_class'')');
-- Rows that row-level security may hide from the owner are not shown.
ALTER TABLE docs OWNER TO regress_owner;
ALTER TABLE docs ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY some_rows ON docs USING (id > 1);
GRANT CREATE ON SCHEMA public TO regress_owner; SET ROLE regress_owner;
SELECT * FROM simhash_preview('docs');
RESET ROLE;
SELECT resemblance, duplicate, rows, example, earlier FROM simhash_preview('docs');
ALTER TABLE docs OWNER TO CURRENT_USER;
SET ROLE regress_owner;
SELECT simhash_preview('docs');
