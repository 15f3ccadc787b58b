-- Names of objects keep their bytes. The variables `one` and `two` are the bytes of two names in hexadecimal; in some
-- encodings both are the same character in UTF-8. All that is done here is done with objects named `one`. The others
-- must stay as they are: a trigger refuses to write to them.
\pset format unaligned
\pset tuples_only on
\set VERBOSITY sqlstate
SET client_min_messages = warning;
SELECT convert_from(decode(:'one', 'hex'), :'encoding') AS one,
    convert_from(decode(:'two', 'hex'), :'encoding') AS two \gset
CREATE SCHEMA :"one";
CREATE SCHEMA :"two";
CREATE FUNCTION trap() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'trapped'; END $$;
CREATE PROCEDURE make(schema name, relation name, one name, two name) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TABLE %1$I.%2$I (id integer PRIMARY KEY, %3$I text, %4$I text, mark integer)',
        schema, relation, one, two);
    EXECUTE format('INSERT INTO %I.%I SELECT n, ''some words of text '' || n, ''same''
        FROM generate_series(1, 20) AS n', schema, relation);
END $$;
CALL make(:'one', :'one', :'one', :'two');
CALL make(:'one', :'two', :'one', :'two');
CALL make(:'two', :'one', :'one', :'two');
SELECT format('%I.%I', :'one', :'one') AS target \gset
CREATE VIEW others AS
SELECT oid::regclass AS name FROM pg_class
WHERE relkind = 'r' AND oid >= 16384 AND oid <> :'target'::regclass;
SELECT format('CREATE TRIGGER trap BEFORE INSERT OR UPDATE ON %s FOR EACH ROW EXECUTE FUNCTION trap()', name)
FROM others \gexec
CREATE VIEW state AS
SELECT string_agg(concat(name::oid,
        (SELECT string_agg(attname, ',' ORDER BY attnum) FROM pg_attribute WHERE attrelid = name),
        (SELECT string_agg(tgname, ',' ORDER BY tgname) FROM pg_trigger WHERE tgrelid = name),
        (SELECT string_agg(indexrelid::text, ',' ORDER BY indexrelid) FROM pg_index WHERE indrelid = name)),
    ',' ORDER BY name) AS of_others
FROM others;
SELECT of_others FROM state \gset

\echo attach
SELECT simhash_attach(:'target', :'one', prefix => :'one'); -- the source itself
SELECT :'one' || 'f' AS prefix \gset
SELECT simhash_attach(:'target', :'one', scope => ARRAY[:'two'], prefix => :'prefix');
SELECT simhash_attach(:'target', :'one', scope => ARRAY[:'two'], prefix => :'prefix');
SELECT count(*) FROM pg_index WHERE indrelid = :'target'::regclass;
\echo layouts
SELECT count(*) FROM simhash_layouts(:'target', :'prefix', scope => ARRAY[:'two']) WHERE indexed;
\echo a hint with names, in ASCII unless the server sends UTF-8
CREATE FUNCTION hint_of_guard(target regclass, source text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE hint text;
BEGIN
    PERFORM simhash_guard(target, criterion => '{"resemblance": 0.8}', source => source);
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
    RETURN hint;
END $$;
SELECT hint LIKE 'Run simhash_index(%' AND (:'encoding' IN ('UTF8', 'SQL_ASCII') OR strpos(hint, '\u{') > 0)
FROM hint_of_guard(:'target', quote_ident(:'prefix')) AS hint;
SELECT simhash_detach(:'target', :'prefix');
\echo index
SELECT simhash_index(:'target', :'one', scope => ARRAY[:'two']);
SELECT simhash_index(:'target', :'one', scope => ARRAY[:'two']);
SELECT simhash_index_commands(:'target', format('%I || %I', :'one', :'two'), bands => 2) \gexec
SELECT simhash_index_commands(:'target', format('%I || %I', :'one', :'two'), bands => 2);
SELECT count(*) FROM pg_index WHERE indrelid = :'target'::regclass;
\echo preview
SELECT sum(rows) FROM simhash_preview(:'target', source => :'one', scope => ARRAY[:'two']);
\echo guard
SELECT simhash_guard(:'target', 'mark', source => :'one', scope => ARRAY[:'two'], mark_column => 'mark');
INSERT INTO :"one".:"one" VALUES (21, 'some other words of text here', 'same'),
    (22, 'some other words of text here', 'same'), (23, 'some other words of text here', 'else');
SELECT id, mark FROM :"one".:"one" WHERE id > 20 ORDER BY id;
SELECT simhash_guard(:'target', 'mark', source => :'one', scope => ARRAY[:'two'], mark_column => 'mark',
    among => format('%I LIKE ''some other%%''', :'one'));
INSERT INTO :"one".:"one" VALUES (25, 'some other words of text here', 'same');
SELECT simhash_guard(:'target', 'mark', source => :'one', scope => ARRAY[:'two'], mark_column => 'mark',
    among => format('%I = ''same''', :'two'));
INSERT INTO :"one".:"one" VALUES (26, 'some other words of text here', 'same');
SELECT id, mark FROM :"one".:"one" WHERE id > 24 ORDER BY id;
SELECT simhash_guard(:'target', 'reject', source => :'one', scope => ARRAY[:'two'], among => '');
CREATE FUNCTION table_of_error(target regclass) RETURNS text LANGUAGE plpgsql AS $$
DECLARE name text;
BEGIN
    EXECUTE format('INSERT INTO %s VALUES (24, ''some other words of text here'', ''same'')', target);
EXCEPTION WHEN exclusion_violation THEN
    GET STACKED DIAGNOSTICS name = TABLE_NAME;
    RETURN name;
END $$;
SELECT table_of_error(:'target') = :'one';
SELECT simhash_unguard(:'target');
\echo marks
CREATE TABLE marked (:"one" text PRIMARY KEY, body text, mark jsonb);
SELECT simhash_index('marked', 'body'), simhash_guard('marked', 'mark', mark_column => 'mark');
INSERT INTO marked VALUES (:'one', 'some words of text'), ('x', 'some words of text');
SELECT mark = jsonb_build_object(:'one', :'one') FROM marked WHERE :"one" = 'x';
DROP TABLE marked;
\echo a guard with a character that the encoding lacks
CREATE TABLE by_hand (body text);
CREATE TRIGGER by_hand BEFORE INSERT ON by_hand
    FOR EACH ROW EXECUTE FUNCTION simhash_dedup('skip', '{"weights": {"\ud83d\ude00": 0.5}}', 'body');
SELECT num_nonnulls(criterion, error) > 0 FROM simhash_guards();
DROP TABLE by_hand;
\echo the others are unchanged
SELECT of_others = :'of_others' FROM state;
