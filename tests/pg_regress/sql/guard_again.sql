-- simhash_guard of a table with a guard: omitted arguments stay as they are.
CREATE TABLE docs (id integer PRIMARY KEY, tenant text, "Body" text, confirmed boolean, seen date, near integer);
SELECT simhash_index('docs', '"Body"', '{"ignore": ["urls"]}');
SET client_min_messages = notice;
SELECT simhash_guard('docs', 'reject', '{"resemblance": 0.9}', '{tenant}', 'seen > ''2020-02-01''',
    unless => 'confirmed');
SELECT definition('docs');
-- A call with one argument, under other settings of the session; with none; and with one that means the same.
SET DateStyle = 'SQL, DMY'; SET search_path = pg_catalog, public;
SELECT public.simhash_guard('public.docs', criterion => '{"resemblance": 0.8}');
SELECT public.simhash_guard('public.docs');
RESET search_path; RESET DateStyle;
SELECT simhash_guard('docs', unless => '(confirmed)'), definition('docs');
-- The hint of a refusal names the condition of unless.
INSERT INTO docs VALUES (1, 'a', 'one two three four five six seven', false, '2021-01-01');
INSERT INTO docs VALUES (2, 'a', 'one two three four five six seven');
INSERT INTO docs VALUES (2, 'a', 'one two three four five six seven', true),
    (3, 'b', 'one two three four five six seven', false);

-- The mark column belongs to the action.
SELECT simhash_guard('docs', 'mark', mark_column => 'near');
SELECT simhash_guard('docs', scope => '{}');
SELECT simhash_guard('docs', 'skip');
SELECT simhash_guard('docs', 'mark');
SELECT errors($$SELECT simhash_guard('docs', mark_column => 'near')$$,
    $$SELECT simhash_guard('docs', 'mark', mark_column => 'tenant')$$,
    $$SELECT simhash_guard('docs', 'mark', mark_column => 'near', among => 'near > 0')$$,
    $$SELECT simhash_guard('docs', 'mark', mark_column => 'near', unless => 'near IS NULL')$$);
ALTER TABLE docs ADD unmarked boolean GENERATED ALWAYS AS (near IS NULL) STORED;
SELECT errors($$SELECT simhash_guard('docs', 'mark', mark_column => 'near', unless => 'unmarked')$$);
ALTER TABLE docs DROP unmarked;
-- Empty arguments take the conditions away, and '{}' restores the default criterion. NULL keeps what there is.
SELECT simhash_guard('docs', criterion => '{}', among => '', unless => '', source => ''), definition('docs');
SELECT simhash_guard('docs', 'reject');
SELECT simhash_guard('docs', NULL, NULL, NULL, NULL, NULL, NULL, NULL);

-- Renamed columns: the source is found again; a scope and a condition must be given again.
SELECT simhash_guard('docs', scope => '{tenant}', unless => 'confirmed');
ALTER TABLE docs RENAME "Body" TO body;
SELECT simhash_guard('docs');
ALTER TABLE docs RENAME tenant TO customer;
SELECT errors($$SELECT simhash_guard('docs')$$);
ALTER TABLE docs RENAME confirmed TO insists;
SELECT errors($$SELECT simhash_guard('docs', scope => '{customer}')$$);
SELECT simhash_guard('docs', scope => '{customer}', unless => 'insists');
-- If the indexes have other options now, the criterion must be given.
SET client_min_messages = warning;
SELECT run(format('DROP INDEX %s', indexrelid::regclass)) FROM pg_index WHERE indrelid = 'docs'::regclass
    AND NOT indisprimary;
SELECT simhash_index('docs', 'body', '{"markup": "html"}');
SET client_min_messages = notice;
SELECT simhash_guard('docs');
SELECT simhash_guard('docs', criterion => '{}'), definition('docs');
-- A trigger that is disabled stays so, and one for replicas too; one with a condition is replaced.
ALTER TABLE docs DISABLE TRIGGER zzz_simhash_guard;
SELECT simhash_guard('docs');
SELECT simhash_guard('docs', 'skip');
ALTER TABLE docs ENABLE REPLICA TRIGGER zzz_simhash_guard;
SELECT simhash_guard('docs', 'reject');
SELECT tgenabled FROM pg_trigger WHERE tgrelid = 'docs'::regclass;
ALTER TABLE docs ENABLE TRIGGER zzz_simhash_guard;
SELECT pg_get_triggerdef(oid) AS made FROM pg_trigger WHERE tgrelid = 'docs'::regclass \gset
SELECT replace(replace(:'made', 'FOR EACH ROW', 'FOR EACH ROW WHEN (NEW.id > 9)'), 'CREATE', 'CREATE OR REPLACE') \gexec
SELECT simhash_guard('docs');
SELECT pg_get_triggerdef(oid) = :'made' AS is_as_before FROM pg_trigger WHERE tgrelid = 'docs'::regclass;
-- The triggers of partitions stay too, each in its own state.
CREATE TABLE parts (id integer, body text) PARTITION BY LIST (id);
SELECT run_quietly($$SELECT simhash_index('parts', 'body')$$);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES IN (2);
SELECT simhash_guard('parts');
ALTER TABLE parts_1 DISABLE TRIGGER zzz_simhash_guard;
ALTER TABLE parts_2 ENABLE ALWAYS TRIGGER zzz_simhash_guard;
SELECT simhash_guard('parts', 'skip');
SELECT tgrelid::regclass, tgenabled FROM pg_trigger WHERE tgrelid IN (SELECT relid FROM pg_partition_tree('parts'))
ORDER BY 1;
CREATE TABLE parts_3 (id integer, body text);
CREATE TRIGGER zzz_simhash_guard AFTER INSERT ON parts_3 FOR EACH ROW
    EXECUTE FUNCTION suppress_redundant_updates_trigger();
SELECT simhash_unguard('parts');
ALTER TABLE parts ATTACH PARTITION parts_3 FOR VALUES IN (3);
SELECT errors('SELECT simhash_guard(''parts'')');
-- Another source, from a column or an expression to another.
SET client_min_messages = warning;
ALTER TABLE docs ADD title text;
SELECT simhash_index('docs', 'title', '{"markup": "html"}'),
    simhash_index('docs', 'lower(title)', '{"markup": "html"}');
SET client_min_messages = notice;
SELECT simhash_guard('docs', source => 'title');
SELECT simhash_guard('docs', source => 'lower(title)');
SELECT simhash_guard('docs', source => 'body');
-- A guard whose arguments cannot be read.
SELECT simhash_unguard('docs');
CREATE TRIGGER zzz_simhash_guard BEFORE INSERT OR UPDATE ON docs FOR EACH ROW
    EXECUTE FUNCTION simhash_dedup('drop', '{}', 'body');
SELECT simhash_guard('docs', 'skip');

-- Fingerprints, and an expression.
CREATE TABLE images (id integer PRIMARY KEY, f bigint, tenant text);
SELECT run_quietly($$SELECT simhash_attach('images', 'f')$$);
SELECT simhash_guard('images', 'skip', '{"max_distance": 5}', '{tenant}');
SELECT simhash_guard('images', 'reject');
SELECT simhash_guard('images', criterion => '{}', source => 'f');
CREATE TABLE letters (id integer PRIMARY KEY, "lower(body)" text, body text);
SELECT run_quietly($$SELECT simhash_index('letters', '(lower(body))')$$);
SELECT simhash_guard('letters', 'skip', source => '(lower(body))');
SELECT simhash_guard('letters', 'reject'), definition('letters');

-- Arguments that mean the same replace nothing.
CREATE TABLE notes (id integer PRIMARY KEY, body text);
SELECT run_quietly($$SELECT simhash_index('notes', 'body')$$);
SELECT simhash_guard('notes');
SELECT simhash_guard('notes');
SELECT simhash_guard('notes', 'skip');
SELECT simhash_guard('notes', 'skip', '{"resemblance": 0.84, "bands": 6}', '{}');
SELECT simhash_guard('notes', 'skip', '{"resemblance": 0.9}');
SELECT simhash_unguard('notes');
SELECT errors($$SELECT simhash_unguard('notes')$$);
