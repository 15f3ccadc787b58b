-- Names and texts that try to escape their quotes. (With \gexec, psql neither runs commands nor substitutes variables.)
CREATE TABLE victim (id integer);
CREATE TABLE names (schema_name name, table_name name, source name, prefix name);
INSERT INTO names VALUES
    ('s"; DROP TABLE victim; --', 't"; DROP TABLE victim; --', 'b"; DROP TABLE victim; --', 'p"; DROP TABLE victim;'),
    ('s''; DROP TABLE victim; --', E't\\''; DROP TABLE victim; --', E'b\\''; DROP TABLE victim; --',
        E'p\\''; DROP TABLE victim'),
    (E's\n\\! touch hijacked\n', E't\n\\! touch hijacked\n', E'b\n\\gset\n', E'p\r\n\\q\n'),
    (':DBNAME', ':''DBNAME''', ':"DBNAME"', '$1'),
    ('$$', '$$; DROP TABLE victim; $$', '%s', '%I%1$s'),
    (E'\x01\x1b[31m', E'\\''; DROP TABLE victim; --', E'\\', E'\\\\'),
    ('select', 'table', 'user', 'null'),
    ('S', 'T ', ' b', 'ä'),
    ('s''''', 't""', 'b/*', 'p--');
CREATE FUNCTION use(names) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    target text := format('%I.%I', ($1).schema_name, ($1).table_name);
    source name := ($1).source;
    prefix name := ($1).prefix;
    mark integer;
    command text;
    commands bigint := 0;
BEGIN
    EXECUTE format('CREATE SCHEMA %I', ($1).schema_name);
    EXECUTE format('CREATE TABLE %s (id integer PRIMARY KEY, %I text, same_as integer)', target, source);
    EXECUTE format('INSERT INTO %s SELECT n, n || '' text'' FROM generate_series(1, 9) AS n', target);
    PERFORM simhash_attach(target, source, '{"ngram": 2}', 2, prefix => prefix) FROM generate_series(1, 2);
    PERFORM simhash_index(target, source, '{"ngram": 2}', 2, '{same_as}') FROM generate_series(1, 2);
    PERFORM simhash_index(target, format('%I || %L', source, prefix), bands => 1) FROM generate_series(1, 2);
    FOR command IN SELECT simhash_index_commands(target, source, '{"ngram": 2}', 3, '{same_as}') LOOP
        EXECUTE replace(command, ' CONCURRENTLY', '');
        commands = commands + 1;
    END LOOP;
    PERFORM simhash_guard(target, 'mark', '{"resemblance": null, "max_distance": 0}', ARRAY[source]::text[],
        mark_column => 'same_as', source => prefix);
    EXECUTE format('INSERT INTO %s (id, %I) VALUES (10, ''2 text'')', target, source);
    EXECUTE format('SELECT same_as FROM %s WHERE id = 10', target) INTO mark;
    PERFORM simhash_layouts(target, prefix);
    PERFORM simhash_unguard(target), simhash_detach(target, prefix);
    RETURN format('%s commands, marked with %s', commands, mark);
END $$;
SELECT use(names), count(*) FROM names GROUP BY use;
-- Names in strings with backslash escapes, which PostgreSQL 19 no longer has.
SELECT current_setting('server_version_num')::integer < 190000 AS has_escapes \gset
UPDATE names SET schema_name = schema_name || '2';
\if :has_escapes
SET standard_conforming_strings = off; SET escape_string_warning = off;
\endif
SET backslash_quote = on;
SELECT use(names), count(*) FROM names GROUP BY use;
\if :has_escapes
RESET standard_conforming_strings; RESET escape_string_warning;
\endif
RESET backslash_quote;
-- Typed one by one: CREATE INDEX CONCURRENTLY cannot run in a function.
SELECT format('%I.%I', schema_name, table_name) AS target, source, prefix FROM names WHERE prefix LIKE E'p\r%' \gset
SELECT simhash_index_commands(:'target', :'source', bands => 1) \gexec
SELECT count(*) AS left_to_do FROM simhash_index_commands(:'target', :'source', bands => 1);
\! test -e hijacked && echo hijacked
SELECT to_regclass('victim') IS NOT NULL AS nothing_dropped;
