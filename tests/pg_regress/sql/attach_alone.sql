-- Indexes alone: simhash_attach(.., columns => false), and simhash_index_commands. Each query without another remark
-- must be true.

CREATE TABLE texts AS
SELECT n AS id, n % 3 AS tenant, (SELECT string_agg(left(md5((n / 5) || ' ' || w), 3 + n % 5 * (w / 30)), ' ' ORDER BY w)
    FROM generate_series(1, 30) AS w) AS body
FROM generate_series(1, 300) AS n;
CREATE TABLE alone AS TABLE texts;
CREATE TABLE beside AS TABLE texts;
SELECT simhash_attach('alone', 'body', columns => false), simhash_attach('beside', 'body');

-- Nothing is added to the table.
SELECT count(*) = 3 FROM pg_attribute WHERE attrelid = 'alone'::regclass AND attnum > 0;
SELECT count(*) = 0 FROM pg_trigger WHERE tgrelid = 'alone'::regclass;
SELECT pg_get_indexdef(oid), obj_description(oid, 'pg_class') FROM pg_class WHERE relname = 'alone_simhash_block3_idx';

-- The plan of a query: its lines about layouts.
CREATE FUNCTION plan(query text) RETURNS SETOF text LANGUAGE sql AS
    $$ SELECT plan_lines(query, 'SimhashScan|Layouts|Within|Scope') $$;
SET enable_seqscan = off;
-- The entries hold the fingerprint.
SELECT plan('SELECT id FROM alone WHERE simhash_near(simhash(body), 42)');
SELECT plan('SELECT id FROM alone WHERE simhash(body) <~> 42 <= 5');
SELECT plan('SELECT * FROM texts JOIN alone ON simhash_near(simhash(alone.body), simhash(texts.body))');
SELECT count(*) = 0 FROM plan('SELECT id FROM alone WHERE simhash_near(simhash(body, ''{"ngram": 2}''), 42)');

-- A second layout within a scope, other options, and a column of fingerprints.
SELECT simhash_attach('alone', 'body', blocks => 2, scope => '{tenant}', columns => false);
SELECT plan('SELECT id FROM alone WHERE tenant = 1 AND simhash_near(simhash(body), 42, 1)');
-- A prefix has one fingerprint of a column. A guard knows its own, and allows others.
SELECT errors($$SELECT simhash_attach('alone', 'body', '{"tokens": "chars"}', columns => false)$$,
    $$SELECT simhash_index_commands('alone', 'body', '{"tokens": "chars"}')$$);
SELECT simhash_guard('alone', 'reject', '{"resemblance": null}');
SELECT simhash_attach('alone', 'body', '{"tokens": "chars"}', prefix => 'chars', columns => false);
INSERT INTO alone (id, tenant, body) VALUES (1000, 0, 'a row that the guard accepts');
SELECT simhash_unguard('alone');
CREATE TABLE stored AS TABLE texts;
SELECT simhash_attach('stored', 'body'), simhash_guard('stored', 'reject', '{"resemblance": null}');
SELECT count(*) = 9 FROM simhash_index_commands('stored', 'body', '{"tokens": "chars"}', prefix => 'chars');
SELECT simhash_attach('stored', 'body', '{"tokens": "chars"}', prefix => 'chars', columns => false);
INSERT INTO stored (id, tenant, body) VALUES (1000, 0, 'a row that the guard accepts');
-- Generated columns repeat the expression of a generated source.
CREATE TABLE made (id integer PRIMARY KEY, body text, lowered text GENERATED ALWAYS AS (lower(body)) STORED);
SELECT simhash_attach('made', 'lowered', columns => false), simhash_guard('made', 'reject', '{"resemblance": null}', source => 'lowered');
SELECT simhash_attach('made', 'lowered', '{"tokens": "chars"}', prefix => 'chars');
-- Options count by their meaning, in whatever type they are written.
SELECT plan('SELECT id FROM alone WHERE simhash_near(simhash(body, ''{ "ngram":1, "tokens":"chars" }''::jsonb), 42)');
CREATE TABLE prints AS SELECT id, simhash(body) AS fp FROM texts;
SELECT simhash_attach('prints', 'fp');
SELECT pg_get_indexdef('prints_simhash_block0_idx'::regclass);

-- With columns after indexes alone: the indexes stay, and serve both. The other way round nothing is missing.
SET client_min_messages = notice;
SELECT simhash_attach('prints', 'fp');
SELECT simhash_attach('beside', 'body', columns => false);
SELECT * FROM simhash_index_commands('beside', 'body');
SET client_min_messages = warning;
CREATE TABLE later AS TABLE texts;
SELECT simhash_attach('later', 'body', blocks => 2, columns => false), simhash_attach('later', 'body', blocks => 2),
    simhash_attach('later', 'body', blocks => 2, prefix => 'own', columns => false);
SELECT count(*) = 4 FROM pg_index WHERE indrelid = 'later'::regclass;
SELECT plan('SELECT id FROM later WHERE simhash_near(simhash, 42, 1)');

-- What detaching removes is told by the comments.
SELECT simhash_detach('later'), simhash_detach('alone', 'chars');
SELECT array_agg(relname::text ORDER BY relname) = '{later_own_block0_idx,later_own_block1_idx}'
FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE indrelid = 'later'::regclass;
SELECT count(*) = 6 FROM pg_index WHERE indrelid = 'alone'::regclass;
SELECT errors($$SELECT simhash_detach('later')$$, $$SELECT simhash_attach('alone', 'body', columns => NULL)$$);

-- simhash_index_commands, run by psql. Indexes that an interrupted command has left are built again.
CREATE TABLE busy AS TABLE texts;
SELECT simhash_index_commands('busy', 'body', '{"ngram": 2}', 2);
SELECT simhash_index_commands('busy', 'body', '{"ngram": 2}', 2) \gexec
SELECT count(*) = 0 FROM simhash_index_commands('busy', 'body', '{"ngram": 2}', 2);
SELECT plan('SELECT id FROM busy WHERE simhash_near(simhash(body, ''{"ngram": 2}''), 42, 1)');
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'busy_simhash_block1_idx'::regclass;
SELECT simhash_index_commands('busy', 'body', '{"ngram": 2}', 2);
SELECT errors($$SELECT * FROM simhash_index_commands('busy', 'no')$$, $$SELECT * FROM simhash_index_commands('busy', 'id')$$,
    $$SELECT * FROM simhash_index_commands(NULL, 'body')$$, $$SELECT * FROM simhash_index_commands('busy', NULL)$$);

-- Partitions and inheritors.
CREATE TABLE parts (id integer, body text) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (150);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (150) TO (2000) PARTITION BY RANGE (id);
CREATE TABLE parts_2_1 PARTITION OF parts_2 DEFAULT;
INSERT INTO parts SELECT id, body FROM texts;
SELECT simhash_index_commands('parts', 'body', blocks => 2) \gexec
SELECT count(*) = 8 AND bool_and(indisvalid) FROM pg_index WHERE indrelid::regclass::text LIKE 'parts%';
SELECT count(*) = 0 FROM simhash_index_commands('parts', 'body', blocks => 2);
SELECT plan('SELECT id FROM parts WHERE simhash_near(simhash(body), 42, 1)');
CREATE TABLE parent (body text);
CREATE TABLE child (own integer) INHERITS (parent);
SELECT simhash_attach('parent', 'body', blocks => 2, columns => false);
SELECT count(*) = 2 FROM pg_index WHERE indrelid = 'child'::regclass;
SELECT simhash_detach('parent');
SELECT count(*) = 0 FROM pg_index WHERE indrelid IN ('parent'::regclass, 'child'::regclass);

-- Triggers that columns would break. Indexes alone do not.
CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TABLE touched (id integer, body text);
CREATE TRIGGER touch BEFORE UPDATE ON touched
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION touch();
SELECT errors($$SELECT simhash_attach('touched', 'body')$$);
SELECT simhash_attach('touched', 'body', columns => false);
DROP TRIGGER touch ON touched;
CREATE TRIGGER touch BEFORE UPDATE ON touched
    FOR EACH ROW WHEN (OLD.body IS DISTINCT FROM NEW.body) EXECUTE FUNCTION touch();
CREATE TRIGGER after AFTER UPDATE ON touched
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION touch();
SELECT simhash_attach('touched', 'body');

-- A guarded table is not detached.
SELECT simhash_guard('beside', criterion => '{"resemblance": null}');
SELECT errors($$SELECT simhash_detach('beside')$$);
