-- What a guard evaluates runs as the writer, sees nothing of the writer's, and shows nothing to the writer.
\set SHOW_CONTEXT never

CREATE SCHEMA app AUTHORIZATION regress_owner;
GRANT USAGE ON SCHEMA app TO PUBLIC;
GRANT TEMPORARY ON DATABASE :DBNAME TO PUBLIC;
SET search_path = public;

-- Sequences count what runs, also in statements that fail.
CREATE SEQUENCE app.as_writer;
CREATE SEQUENCE app.as_other;
GRANT ALL ON SEQUENCE app.as_writer, app.as_other TO PUBLIC;
CREATE FUNCTION app.reached(which regclass) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE reached boolean;
BEGIN
    EXECUTE format('SELECT is_called FROM %s', which) INTO reached;
    PERFORM setval(which, 1, false);
    RETURN reached;
END $$;
-- The error of a statement, with all that a client gets of it.
CREATE FUNCTION app.error(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    detail text; hint text; context text; col text; con text; typ text; tab text;
BEGIN
    EXECUTE statement;
    RETURN 'none';
EXCEPTION WHEN OTHERS OR query_canceled THEN
    GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT, context = PG_EXCEPTION_CONTEXT,
        col = COLUMN_NAME, con = CONSTRAINT_NAME, typ = PG_DATATYPE_NAME, tab = TABLE_NAME;
    context = regexp_replace(context, 'SQL statement.*', '');
    RETURN concat_ws(' ', sqlstate, sqlerrm, detail, hint, context, col, con, typ, tab);
END $$;

-- 1. What the writer's temporary objects shadow. The text is a column or an expression, and the condition reads a table.
SET ROLE regress_owner;
CREATE TABLE app.words (a text, b text);
INSERT INTO app.words VALUES ('dr', 'doctor');
CREATE TABLE app.sections (id integer, is_public boolean);
INSERT INTO app.sections VALUES (1, true);
CREATE FUNCTION app.clean(content text) RETURNS text IMMUTABLE LANGUAGE plpgsql SET search_path = app AS $$
DECLARE word record;
BEGIN
    FOR word IN SELECT * FROM words LOOP
        content := replace(content, word.a, word.b);
    END LOOP;
    RETURN content;
END $$;
CREATE FUNCTION app.is_public(section integer) RETURNS boolean STABLE LANGUAGE sql SET search_path = app AS
    'SELECT is_public FROM sections WHERE id = section';
CREATE TABLE app.cleaned (id integer PRIMARY KEY, body text, clean text GENERATED ALWAYS AS (app.clean(body)) STORED);
CREATE TABLE app.computed (id integer PRIMARY KEY, body text);
CREATE TABLE app.among (id integer PRIMARY KEY, section integer DEFAULT 1, body text);
SELECT simhash_index('app.cleaned', 'clean'), simhash_index('app.computed', 'app.clean(body)'), simhash_index('app.among', 'body');
SELECT simhash_guard('app.cleaned'), simhash_guard('app.computed'),
    simhash_guard('app.among', among => 'app.is_public(section)');
SELECT format('INSERT INTO app.%s (id, body) VALUES (1, ''one text of several words'')', name)
FROM unnest('{cleaned,computed,among}'::text[]) AS name \gexec
GRANT INSERT ON app.cleaned, app.computed, app.among TO regress_writer;
GRANT SELECT ON app.words, app.sections TO regress_writer;
SET ROLE regress_writer;
CREATE FUNCTION pg_temp.trap() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM nextval(CASE current_user WHEN 'regress_writer' THEN 'app.as_writer' ELSE 'app.as_other' END);
    RETURN true;
END $$;
CREATE TEMPORARY VIEW words AS SELECT 'dr' AS a, 'doctor' AS b WHERE pg_temp.trap();
CREATE TEMPORARY VIEW sections AS SELECT 1 AS id, pg_temp.trap() AS is_public;
GRANT SELECT ON words, sections TO PUBLIC;
SELECT name, left(app.error(format('INSERT INTO app.%I (id, body) VALUES (2, ''one text of several words'')', name)), 5)
FROM unnest('{cleaned,computed,among}'::text[]) AS name;
RESET ROLE;
SELECT app.reached('app.as_writer') AS as_writer, app.reached('app.as_other') AS as_other;
DISCARD TEMPORARY;

-- 2. A stored column has the text of a stored row. Nothing is evaluated for it.
SET ROLE regress_owner;
CREATE OR REPLACE FUNCTION app.clean(content text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS
    $$ BEGIN IF content = 'one text of several words' THEN RAISE 'stored'; END IF; RETURN content; END $$;
SET ROLE regress_writer;
SELECT left(app.error($$INSERT INTO app.cleaned (id, body) VALUES (2, 'One text of several words')$$), 5) AS from_column,
    left(app.error($$INSERT INTO app.computed (id, body) VALUES (2, 'One text of several words')$$), 5) AS by_expression;
-- 3. Names that a function does not qualify are not looked up in the writer's search path.
RESET ROLE;
CREATE SCHEMA mine AUTHORIZATION regress_writer;
SET ROLE regress_owner;
CREATE OR REPLACE FUNCTION app.clean(content text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS
    $$ BEGIN RETURN helper(content); END $$;
SET ROLE regress_writer;
CREATE FUNCTION mine.helper(content text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
    IF content = 'one text of several words' THEN PERFORM nextval('app.as_other'); END IF;
    RETURN content;
END $$;
SET search_path = mine, public;
SELECT app.error($$INSERT INTO app.computed (id, body) VALUES (2, 'One text of several words')$$);
RESET search_path;
RESET ROLE;
SELECT app.reached('app.as_other') AS is_given_hidden_text;

-- So it is with functions in SQL, whose bodies PostgreSQL puts in place of their calls: in the text of a column and of
-- an index, in a key and in the condition.
SET ROLE regress_owner;
CREATE FUNCTION app.inlined(content text) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT content';
CREATE TABLE app.inlined_column (id integer PRIMARY KEY, body text,
    simhash bigint GENERATED ALWAYS AS (simhash(app.inlined(body))) STORED);
CREATE TABLE app.inlined_block (id integer PRIMARY KEY, body text);
CREATE TABLE app.inlined_index (id integer PRIMARY KEY, body text);
CREATE TABLE app.inlined_key (id integer PRIMARY KEY, body text);
CREATE TABLE app.inlined_condition (id integer PRIMARY KEY, body text);
SELECT simhash_attach('app.inlined_column', 'simhash'), simhash_index('app.inlined_index', 'app.inlined(body)'),
    simhash_index('app.inlined_key', 'body'), simhash_index('app.inlined_condition', 'body');
SELECT format('CREATE INDEX ON app.inlined_block (simhash_block(simhash(app.inlined(body)), %s),
    simhash(app.inlined(body)))', block) FROM generate_series(0, 3) AS block \gexec
CREATE UNIQUE INDEX ON app.inlined_key (app.inlined(body)) WHERE app.inlined(body) IS NOT NULL;
SELECT simhash_guard('app.inlined_column', criterion => '{"resemblance": null}'),
    simhash_guard('app.inlined_block', criterion => '{"resemblance": null}'), simhash_guard('app.inlined_index'),
    simhash_guard('app.inlined_key'), simhash_guard('app.inlined_condition', among => 'app.inlined(body) IS NOT NULL');
CREATE FUNCTION app.insert_near(name text, body text) RETURNS text LANGUAGE sql AS $$
    SELECT app.error(format('INSERT INTO app.%I (id, body) VALUES (%s, %L)', name, length(body), body))
$$;
SELECT name, app.insert_near(name, 'one text of several words')
FROM unnest('{inlined_column,inlined_block,inlined_index,inlined_key,inlined_condition}'::text[]) AS name;
GRANT INSERT ON app.inlined_column, app.inlined_block, app.inlined_index, app.inlined_key, app.inlined_condition TO regress_writer;
SET check_function_bodies = off;
CREATE OR REPLACE FUNCTION app.inlined(content text) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT helper(content)';
\c -
SET ROLE regress_writer;
SET search_path = mine, public;
SELECT name, left(app.insert_near(name, 'One text: of several words'), 5) AS error
FROM unnest('{inlined_column,inlined_block,inlined_index,inlined_key,inlined_condition}'::text[]) AS name;
RESET search_path;
RESET ROLE;
SELECT app.reached('app.as_other') AS is_given_hidden_text;

-- 4. A writer needs EXECUTE on the functions of both expressions, as for a generated column. Not on those of the indexes
-- of a partition that the writer does not write to.
SET search_path = public;
SET ROLE regress_owner;
CREATE OR REPLACE FUNCTION app.clean(content text) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT content';
REVOKE EXECUTE ON FUNCTION app.clean, app.is_public FROM PUBLIC;
CREATE FUNCTION app.one() RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT 1';
REVOKE EXECUTE ON FUNCTION app.one FROM PUBLIC;
CREATE TABLE app.parts (id integer, body text) PARTITION BY LIST (id);
CREATE TABLE app.parts_1 PARTITION OF app.parts FOR VALUES IN (1, 3);
CREATE TABLE app.parts_2 PARTITION OF app.parts FOR VALUES IN (2);
CREATE INDEX ON app.parts_2 ((id + app.one()));
SELECT simhash_index('app.parts', 'body'), simhash_guard('app.parts');
INSERT INTO app.parts VALUES (2, 'one text of several words');
GRANT INSERT ON app.parts TO regress_writer;
RESET ROLE;
\c -
SET ROLE regress_writer;
SELECT app.error($$INSERT INTO app.computed (id, body) VALUES (2, 'One text of several words')$$) AS text,
    app.error($$INSERT INTO app.among (id, body) VALUES (2, 'One text of several words')$$) AS condition,
    left(app.error($$INSERT INTO app.parts VALUES (1, 'One text of several words')$$), 5) AS near,
    app.error($$INSERT INTO app.parts VALUES (3, 'something else')$$) AS other;
RESET ROLE;

-- 5. An error on a stored row shows its values to those who may read the row. Others get its SQLSTATE.
SET ROLE regress_owner;
CREATE FUNCTION app.raises(secret text) RETURNS boolean STABLE LANGUAGE plpgsql AS $$
BEGIN
    RAISE WARNING 'warning %', secret;
    RAISE INFO 'info %', secret;
    RAISE EXCEPTION 'message %', secret USING ERRCODE = 'ZZ999', DETAIL = 'detail ' || secret, HINT = 'hint ' || secret,
        COLUMN = secret, CONSTRAINT = secret, DATATYPE = secret, TABLE = secret;
END $$;
-- Nor does a SQLSTATE of errors that are about the session show a message.
CREATE FUNCTION app.raises(secret text, code text) RETURNS boolean STABLE LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'message %', secret USING ERRCODE = code, DETAIL = 'detail ' || secret; END $$;
CREATE FUNCTION app.times_out(secret text) RETURNS boolean STABLE LANGUAGE plpgsql AS
    $$ BEGIN EXECUTE format('SELECT pg_sleep(100), %L', secret); RETURN true; END $$;
CREATE TABLE app.secret (id integer PRIMARY KEY, secret text DEFAULT '', body text, reader name DEFAULT current_user);
SELECT simhash_index('app.secret', 'body');
INSERT INTO app.secret VALUES (1, 'salary is 4711', 'one text of several words');
GRANT INSERT (id, body), UPDATE (body), SELECT (id) ON app.secret TO regress_writer;
CREATE FUNCTION app.errors() RETURNS TABLE (condition text, error text) LANGUAGE plpgsql AS $$
BEGIN
    FOR condition IN SELECT unnest(ARRAY['secret::numeric > 0', 'app.raises(secret)', '1 / (id - 1) > 0',
        'app.raises(secret, ''57014'')', 'app.raises(secret, ''57P01'')', 'app.raises(secret, ''53200'')']) LOOP
        SET LOCAL ROLE regress_owner;
        PERFORM public.simhash_guard('app.secret', among => condition);
        SET LOCAL ROLE regress_writer;
        error := app.error($i$INSERT INTO app.secret (id, body) VALUES (2, 'one text of several words')$i$);
        RETURN NEXT;
    END LOOP;
END $$;
RESET ROLE;
SELECT * FROM app.errors();
GRANT SELECT ON app.secret TO regress_writer;
SELECT condition, error ~ '4711|zero' AS is_shown FROM app.errors();
ALTER TABLE app.secret ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON app.secret USING (reader = current_user);
SELECT condition, error ~ '4711|zero' AS is_shown, left(error, 5) AS sqlstate FROM app.errors();
-- A statement that is cancelled keeps PostgreSQL's message, without the statement that ran.
SET ROLE regress_owner;
SELECT simhash_guard('app.secret', among => 'app.times_out(secret)');
SET ROLE regress_writer;
SET statement_timeout = 100;
\set SHOW_CONTEXT errors
INSERT INTO app.secret (id, body) VALUES (2, 'one text of several words');
\set SHOW_CONTEXT never
RESET statement_timeout;
RESET ROLE;
-- The row that an UPDATE changes is a stored row.
ALTER TABLE app.secret DISABLE ROW LEVEL SECURITY;
REVOKE SELECT ON app.secret FROM regress_writer;
GRANT SELECT (id) ON app.secret TO regress_writer;
SET ROLE regress_owner;
SELECT simhash_guard('app.secret', among => 'reader IS NOT NULL AND secret::numeric > 0');
GRANT UPDATE (reader) ON app.secret TO regress_writer;
SET ROLE regress_writer;
SELECT app.error($$UPDATE app.secret SET reader = 'me' WHERE id = 1$$) AS update;
RESET ROLE;

-- The expression of a unique index is not evaluated on stored rows.
SET ROLE regress_owner;
CREATE FUNCTION app.key(secret text) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT secret';
CREATE UNIQUE INDEX ON app.secret (app.key(secret));
CREATE OR REPLACE FUNCTION app.key(secret text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS
    $$ BEGIN IF secret <> '' THEN RAISE '%', secret; END IF; RETURN secret; END $$;
SELECT simhash_guard('app.secret');
SET ROLE regress_writer;
SELECT app.error($$INSERT INTO app.secret (id, body) VALUES (2, 'one text of several words')$$) AS key;
RESET ROLE;

-- 6. A role that may only create triggers: values of stored rows do not reach its code, at any depth of a type.
CREATE SCHEMA other AUTHORIZATION regress_other;
GRANT USAGE ON SCHEMA other TO PUBLIC;
SET ROLE regress_other;
CREATE FUNCTION other.spy(text) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT nextval(''app.as_other'') > 0';
CREATE TYPE other.status AS ENUM ('new', 'old');
CREATE FUNCTION other.spy(other.status) RETURNS json IMMUTABLE LANGUAGE sql AS 'SELECT ''{}''::json';
CREATE CAST (other.status AS json) WITH FUNCTION other.spy(other.status);
CREATE DOMAIN other.spying AS text CHECK (other.spy(value));
CREATE OPERATOR other.~~~ (FUNCTION = other.spy, RIGHTARG = text);
SET ROLE regress_owner;
CREATE TYPE app.row AS (d other.spying);
CREATE TYPE app.rows AS (r app.row[]);
CREATE DOMAIN app.domain AS app.rows;
CREATE TYPE app.range AS RANGE (SUBTYPE = other.spying);
CREATE TABLE app.typed (id integer PRIMARY KEY, status other.status, body text);
SELECT simhash_index('app.typed', 'body');
INSERT INTO app.typed VALUES (1, 'new', 'one text of several words');
GRANT INSERT, TRIGGER ON app.typed TO regress_other;
CREATE FUNCTION app.error_among(condition text) RETURNS text LANGUAGE sql RETURN
    split_part(app.error(format($$CREATE OR REPLACE TRIGGER t BEFORE INSERT ON app.typed FOR EACH ROW
        EXECUTE FUNCTION simhash_dedup('skip', '{}', 'body', '', '', %L);
        INSERT INTO app.typed VALUES (2, 'new', 'one text of several words')$$, condition)), ' in among', 1);
SET ROLE regress_other;
SELECT condition, app.error_among(condition) AS error
FROM unnest(ARRAY['other.spy(body)', 'CASE WHEN id > 0 THEN OPERATOR(other.~~~) body END', 'body::other.spying IS NULL',
    'ARRAY[body]::other.spying[] IS NULL', 'body::app.row IS NULL', 'body::app.row[] IS NULL', 'body::app.rows IS NULL',
    'body::app.domain IS NULL', 'body::app.range IS NULL', 'body::app.multirange IS NULL', 'to_json(status) IS NULL',
    'jsonb_populate_record(NULL::app.row, jsonb_build_object(''d'', body)) IS NULL',
    'domain_in(body::cstring, ''other.spying''::regtype, -1) IS NULL',
    'array_in(body::cstring, ''other.spying''::regtype, -1) IS NULL', 'length(body) > 0']) AS condition;
-- From PostgreSQL 17 on.
DO $$
BEGIN
    IF current_setting('server_version_num')::integer >= 170000 THEN
        ASSERT app.error_among('JSON_VALUE(to_jsonb(body), ''$'' ERROR ON ERROR) IS NOT NULL') = 'none';
        ASSERT app.error_among('JSON_VALUE(to_jsonb(body), ''$'' RETURNING other.spying) IS NOT NULL')
            = '42501 type other.spying';
    END IF;
END $$;
-- Nor by the source: it must be what the owner has indexed.
SELECT source, split_part(app.error(format($$CREATE OR REPLACE TRIGGER t BEFORE INSERT ON app.typed FOR EACH ROW
    EXECUTE FUNCTION simhash_dedup('skip', '{}', %L); INSERT INTO app.typed VALUES (2, 'new', 'other words')$$, source)),
    'The guard', 1) AS error
FROM unnest(ARRAY['CASE WHEN other.spy(body) THEN body END', 'body::other.spying', 'body || other.spy(body)', 'body::varchar']) AS source;
RESET ROLE;
SELECT app.reached('app.as_other') AS has_spied;
-- Its code reads literals of its types, which are refused too.
SET ROLE regress_other;
SELECT condition, app.error_among(condition) AS error
FROM unnest(ARRAY['body = ANY (''{x}''::other.spying[])', '''(x)''::app.row IS NULL']) AS condition;
RESET ROLE;

-- 7. A condition means the same whatever a session has set, and so do the values that it makes.
SET ROLE regress_owner;
CREATE TABLE app.literals (id integer PRIMARY KEY, path text, at timestamptz, span interval, raw bytea, ratio real,
    price money, list text[], body text);
SELECT simhash_index('app.literals', 'body');
INSERT INTO app.literals VALUES (1, 'C:\temp', '2024-01-02 03:04+00', '@ 1 day -2 hours ago', '\x5c27', 0.1, 1.5::money,
    '{NULL}', 'one text of several words');
RESET ROLE;
CREATE FUNCTION app.guard(OUT arguments bytea) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM public.simhash_guard('app.literals', among => $c$path = E'C:\\temp' AND at = '2024-01-02 03:04+00'
        AND span = '@ 1 day -2 hours ago' AND raw = decode('5c27', 'hex') AND ratio = 0.1::real AND price = 1.5::numeric::money
        AND list = ARRAY[NULL]::text[] AND concat_ws(' ', at, span, raw, ratio, price) =
            E'2024-01-02 03:04:00+00 -1 days +02:00:00 \\x5c27 0.1 $1.50' AND date_trunc('day', at) = '2024-01-02 00:00+00'
        AND at > '1970-01-01 00:00+00'::timestamptz + '-1 day'::interval$c$);
    SELECT tgargs INTO arguments FROM pg_trigger WHERE tgrelid = 'app.literals'::regclass;
END $$;
DO $$
DECLARE
    first bytea := app.guard();
    pair text[];
BEGIN
    FOREACH pair SLICE 1 IN ARRAY ARRAY[['search_path', 'app, other'], ['standard_conforming_strings', 'off'],
        ['backslash_quote', 'off'], ['quote_all_identifiers', 'on'], ['transform_null_equals', 'on'], ['array_nulls', 'off'],
        ['DateStyle', 'German'], ['IntervalStyle', 'sql_standard'], ['IntervalStyle', 'iso_8601'], ['TimeZone', 'Asia/Tokyo'],
        ['bytea_output', 'escape'], ['extra_float_digits', '-10']] LOOP
        -- PostgreSQL 19 has only one way to read strings.
        CONTINUE WHEN pair[1] = 'standard_conforming_strings' AND current_setting('server_version_num')::integer >= 190000;
        -- Strings with backslashes would give warnings.
        PERFORM set_config('client_min_messages', 'error', true), set_config(pair[1], pair[2], true);
        ASSERT app.error('INSERT INTO app.literals (id, body) SELECT 2, body FROM app.literals') LIKE '23P01%',
            format('the condition does not hold for %s', pair);
        ASSERT app.guard() = first, format('another condition is stored for %s', pair);
        PERFORM set_config(name, reset_val, true) FROM pg_settings WHERE name = pair[1];
    END LOOP;
END $$;
-- 8. Nor does it depend on who asks.
SELECT condition, split_part(app.error(format('SELECT public.simhash_guard(''app.literals'', among => %L)', condition)),
    ' in among', 1) AS error
FROM unnest(ARRAY['path = current_user', 'path = current_role', 'path = user', 'path = session_user',
    'path = current_schema', 'path = pg_catalog."current_user"()', 'path = getpgusername()',
    'path = ANY (current_schemas(true))', 'path = current_setting(''role'')', 'pg_has_role(''pg_monitor'', ''member'')',
    'has_table_privilege(''app.secret'', ''select'')', 'has_column_privilege(''app.secret'', ''id'', ''select'')',
    'row_security_active(''app.secret'')', 'pg_table_is_visible(id::oid)', 'inet_client_addr() IS NULL', 'pg_backend_pid() > id',
    'pg_my_temp_schema() > 0', 'path = current_catalog', 'at > now()', 'at > current_date']) AS condition;
