-- Errors that show a text of the server. The variable `name` has the bytes of a name in hexadecimal, and `character` is
-- what an error of pg_simhash shows for it. An error of PostgreSQL shows the name.
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
SELECT convert_from(decode(:'name', 'hex'), :'encoding') AS name \gset
CREATE FUNCTION error_of(command text, name text, "character" text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE message text; detail text; hint text;
BEGIN
    EXECUTE command;
    RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    RETURN replace(replace(concat_ws(E'\n', SQLSTATE, message, nullif(detail, ''), nullif(hint, '')),
        name, 'NAME'), "character", 'CHARACTER');
END $$;

\echo the key of a near-duplicate
CREATE TABLE texts (name text PRIMARY KEY, body text);
SELECT simhash_attach('texts', 'body'), simhash_guard('texts');
INSERT INTO texts VALUES (:'name', 'some words of text');
SELECT error_of($$INSERT INTO texts VALUES ('x', 'some words of text')$$, :'name', :'character');
\echo a right that the owner lacks
CREATE ROLE owner_of_texts;
CREATE SCHEMA :"name";
GRANT USAGE ON SCHEMA :"name" TO owner_of_texts;
CREATE TABLE :"name".texts (body text);
ALTER TABLE :"name".texts OWNER TO owner_of_texts;
SELECT error_of(format($$SELECT simhash_attach('%I.texts', 'body')$$, :'name'), :'name', :'character');
DROP OWNED BY owner_of_texts;
DROP ROLE owner_of_texts;
