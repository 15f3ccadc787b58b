-- Indexes alone: simhash_attach of a column that holds fingerprints, and indexes made by hand.

CREATE TABLE texts AS
SELECT n AS id, n % 3 AS tenant,
    (SELECT string_agg(left(md5((n / 5) || ' ' || w), 3 + n % 5 * (w / 30)), ' ' ORDER BY w)
    FROM generate_series(1, 30) AS w) AS body FROM generate_series(1, 300) AS n;
CREATE TABLE prints AS SELECT *, simhash(body) AS fp FROM texts;
SET client_min_messages = notice;
SELECT simhash_attach('prints', 'fp');
SELECT simhash_attach('prints', 'fp');
SET client_min_messages = warning;

-- No column and no trigger is added to the table. While the indexes are built, it can be read.
SELECT count(*) = 4 FROM pg_attribute WHERE attrelid = 'prints'::regclass AND attnum > 0;
SELECT count(*) = 0 FROM pg_trigger WHERE tgrelid = 'prints'::regclass;
SELECT pg_get_indexdef(oid), obj_description(oid, 'pg_class') FROM pg_class WHERE relname = 'prints_simhash_block3_idx';
BEGIN;
SELECT simhash_attach('prints', 'fp', blocks => 3);
SELECT count(*) = 0 FROM pg_locks WHERE relation = 'prints'::regclass AND mode = 'AccessExclusiveLock';
ROLLBACK;

-- The lines of a query's plan about layouts.
CREATE FUNCTION layout_lines(query text) RETURNS SETOF text LANGUAGE sql AS
    $$ SELECT plan_lines(query, 'SimhashScan|Layouts|Within|Scope') $$;
SET enable_seqscan = off;
-- Searches use the indexes.
SELECT layout_lines('SELECT id FROM prints WHERE simhash_near(fp, 42)');
SELECT layout_lines('SELECT id FROM prints WHERE fp <~> 42 <= 5');
-- A second layout within a scope.
SELECT simhash_attach('prints', 'fp', blocks => 2, scope => '{tenant}');
SELECT layout_lines('SELECT id FROM prints WHERE tenant = 1 AND simhash_near(fp, 42, 1)');

-- Indexes made by hand, as CREATE INDEX CONCURRENTLY can make them, are what attach would build.
CREATE TABLE busy AS TABLE prints;
SELECT format('CREATE INDEX CONCURRENTLY ON busy (simhash_block(fp, %s), fp)', block)
FROM generate_series(0, 3) AS block \gexec
SET client_min_messages = notice;
SELECT simhash_attach('busy', 'fp');
SET client_min_messages = warning;

-- Indexes on the fingerprint of a text, made by hand.
CREATE TABLE alone AS TABLE texts;
SELECT index_by_hand('alone', 'simhash(body)');
SELECT layout_lines('SELECT id FROM alone WHERE simhash_near(simhash(body), 42)');
SELECT layout_lines('SELECT * FROM texts JOIN alone ON simhash_near(simhash(alone.body), simhash(texts.body))');
SELECT count(*) = 0 FROM layout_lines('SELECT id FROM alone WHERE simhash_near(simhash(body, ''{"ngram": 2}''), 42)');
-- Options count by their meaning, in whatever type they are written.
SELECT index_by_hand('alone', 'simhash(body, ''{"tokens": "chars"}'')', 3);
SELECT layout_lines('SELECT id FROM alone
    WHERE simhash_near(simhash(body, ''{"case_fold":true,"tokens":"chars"}''::jsonb), 42, 2)');
-- Columns after indexes alone: the indexes stay, and serve searches of the new column.
SELECT simhash_attach('alone', 'body');
SELECT count(*) = 7 FROM pg_index WHERE indrelid = 'alone'::regclass;
SELECT layout_lines('SELECT id FROM alone WHERE simhash_near(simhash, 42)');

-- simhash_detach removes only indexes whose comments name the prefix.
SELECT simhash_attach('prints', 'fp', prefix => 'own'), simhash_detach('prints');
SELECT count(*) = 4 FROM pg_index WHERE indrelid = 'prints'::regclass;
SELECT errors($$SELECT simhash_detach('prints')$$, $$SELECT simhash_detach('busy')$$);

-- A prefix has one fingerprint of a column. A guard keeps comparing the one that it was made for.
CREATE TABLE digits (id integer, hex text);
SELECT simhash_attach('digits', 'hex');
SELECT errors($$SELECT simhash_attach('digits', 'hex', '{"source": "hex"}')$$);
CREATE TABLE guarded (id integer PRIMARY KEY, hex text);
SELECT simhash_attach('guarded', 'hex', '{"source": "hex"}', prefix => 'h'), simhash_guard('guarded');
SELECT simhash_attach('guarded', 'hex');
SELECT errors($$INSERT INTO guarded VALUES (1, '00000000000000ff'), (2, '00000000000000fe')$$);
-- A guarded table is not detached.
SELECT errors($$SELECT simhash_detach('guarded', 'h')$$);

-- Triggers that new columns would break. Indexes alone do not break them.
CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TABLE touched (id integer, body text, fp bigint);
CREATE TRIGGER touch BEFORE UPDATE ON touched
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION touch();
SELECT errors($$SELECT simhash_attach('touched', 'body')$$);
SELECT simhash_attach('touched', 'fp', prefix => 'fp'), simhash_index('touched', 'body');
DROP TRIGGER touch ON touched;
CREATE TRIGGER touch BEFORE UPDATE ON touched
    FOR EACH ROW WHEN (OLD.body IS DISTINCT FROM NEW.body) EXECUTE FUNCTION touch();
CREATE TRIGGER after AFTER UPDATE ON touched
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION touch();
SELECT simhash_attach('touched', 'body');
