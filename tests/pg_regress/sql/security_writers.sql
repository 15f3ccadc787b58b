-- A guard evaluates only PostgreSQL's own code on stored rows, and any code on the new row, as the writer.
\set SHOW_CONTEXT never

CREATE SCHEMA app AUTHORIZATION regress_owner;
GRANT USAGE ON SCHEMA app TO PUBLIC; GRANT TEMPORARY ON DATABASE :DBNAME TO PUBLIC;
-- The error of a statement, with all that a client gets of it.
CREATE FUNCTION app.error(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    detail text; hint text; context text; column_name text; constraint_name text; type_name text; table_name text;
BEGIN
    EXECUTE statement;
    RETURN 'none';
EXCEPTION WHEN OTHERS OR query_canceled THEN
    GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT, context = PG_EXCEPTION_CONTEXT,
        column_name = COLUMN_NAME, constraint_name = CONSTRAINT_NAME, type_name = PG_DATATYPE_NAME,
        table_name = TABLE_NAME;
    context = regexp_replace(context, 'SQL statement.*', '');
    RETURN concat_ws(' ', sqlstate, sqlerrm, detail, hint, context, column_name, constraint_name, type_name,
        table_name);
END $$;

-- 1. A session can set what a function in PL/pgSQL means there. Such functions are refused for stored rows, when a
-- guard is made and when a trigger made by hand is loaded. A stored column has their value.
SET ROLE regress_owner;
CREATE FUNCTION app.clean(content text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS
    $$ DECLARE made text; BEGIN made := pg_catalog.replace(content, '-', ' '); RETURN made; END $$;
CREATE FUNCTION app.is_open(state text) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS
    $$ DECLARE found text; BEGIN found := pg_catalog.lower(state); RETURN found <> 'closed'; END $$;
CREATE TABLE app.docs (id integer PRIMARY KEY, state text, body text, is_urgent boolean,
    open boolean GENERATED ALWAYS AS (app.is_open(state)) STORED,
    clean text GENERATED ALWAYS AS (app.clean(body)) STORED,
    passes boolean GENERATED ALWAYS AS (app.is_open(state || body) AND is_urgent) STORED);
CREATE TABLE app.computed (id integer PRIMARY KEY, body text);
SELECT simhash_index('app.docs', 'clean'), simhash_index('app.computed', 'app.clean(body)');
SELECT app.error($$SELECT public.simhash_guard('app.computed')$$);
SELECT app.error($$SELECT public.simhash_guard('app.docs', source => 'clean', among => 'app.is_open(state)')$$);
SELECT app.error($$SELECT public.simhash_preview('app.docs', source => 'clean', among => 'app.is_open(state)')$$);
CREATE TRIGGER by_hand BEFORE INSERT ON app.docs FOR EACH ROW
    EXECUTE FUNCTION public.simhash_dedup('reject', '{}', 'clean', '', '', 'app.is_open(state)');
SELECT app.error($$INSERT INTO app.docs VALUES (1, 'open')$$);
DROP TRIGGER by_hand ON app.docs;
SELECT simhash_guard('app.docs', source => 'clean', among => 'open', unless => 'passes');
INSERT INTO app.docs VALUES (1, 'open; salary 4711', 'one-text-of-several-words-secret', false);
INSERT INTO app.docs VALUES (2, 'closed', 'one text of several other words which are hidden', false);
GRANT INSERT, UPDATE (state, is_urgent) ON app.docs TO regress_writer;
\c -
SET ROLE regress_writer;
CREATE FUNCTION pg_temp.log(pg_catalog.text) RETURNS boolean LANGUAGE plpgsql AS
    $$ BEGIN IF $1 <> 'x' THEN RAISE WARNING 'seen %', $1; END IF; RETURN true; END $$;
CREATE DOMAIN pg_temp.text AS pg_catalog.text CHECK (pg_temp.log(value));
SELECT app.clean('x'), app.is_open('x');
-- The session sees values of the new row only.
INSERT INTO app.docs VALUES (3, 'mine', 'one text-of-several-words-secret', false);
INSERT INTO app.docs VALUES (4, 'mine', 'one text of several other words which are hidden', true);
-- The session sees no values of the row that an UPDATE replaces either.
UPDATE app.docs SET state = 'changed';
\c -
SELECT id, state, open FROM app.docs ORDER BY id;

-- 2. A type that makes the condition false for a session lets nothing past the guard.
SET ROLE regress_owner;
CREATE TABLE app.stated (id integer PRIMARY KEY, state text, body text,
    open boolean GENERATED ALWAYS AS (app.is_open(state)) STORED);
SELECT simhash_index('app.stated', 'body'), simhash_guard('app.stated', among => 'open');
INSERT INTO app.stated VALUES (1, 'closed or not', 'one text of several words');
GRANT INSERT ON app.stated TO regress_writer;
\c -
SET ROLE regress_writer;
CREATE DOMAIN pg_temp.text AS "char";
SELECT app.is_open('x');
INSERT INTO app.stated VALUES (2, 'closed or not', 'one text of several words');
\c -

-- 3. What is refused, at any depth.
SET ROLE regress_owner;
CREATE TYPE app.status AS ENUM ('new', 'old');
CREATE DOMAIN app.word AS text CHECK (app.is_open(value));
CREATE TYPE app.pair AS (a text, b app.word);
CREATE TYPE app.words AS RANGE (SUBTYPE = text);
CREATE FUNCTION app.as_json(app.status) RETURNS json IMMUTABLE LANGUAGE sql AS 'SELECT ''{}''::json';
CREATE CAST (app.status AS json) WITH FUNCTION app.as_json(app.status);
CREATE FUNCTION app.is_same(text, text) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT true';
CREATE OPERATOR app.~~~ (FUNCTION = app.is_same, LEFTARG = text, RIGHTARG = text);
CREATE TABLE app.typed (id integer PRIMARY KEY, status app.status, word app.word, pair app.pair, range app.words,
    body text, at timestamptz DEFAULT '2026-01-01', day date DEFAULT '2026-01-01', list text[], raw bytea, ratio float8,
    words app.word[], search regconfig);
CREATE TEXT SEARCH CONFIGURATION app.english (COPY = pg_catalog.english);
SELECT simhash_index('app.typed', 'body');
-- A server without libxml refuses XML before the guard does.
SELECT condition, regexp_replace(split_part(app.error(format('SELECT public.simhash_guard(''app.typed'', among => %L)',
    condition)), ' in among', 1), 'unsupported XML feature.*', 'cannot use an expression of the kind XmlExpr') AS error
FROM unnest(ARRAY[
    'app.is_open(body)', 'CASE WHEN id > 0 THEN body OPERATOR(app.~~~) body END', 'body::app.word IS NULL',
    'ARRAY[body]::app.word[] IS NULL', 'words = ''{}''', 'pair = ROW(''a'', ''b'')::app.pair', 'range @> body',
    'isempty(range)',
    '''[a,b)''::app.words @> body', 'to_json(status) IS NULL', 'status::json IS NULL', 'status::text = ''new''',
    'body::app.status = ''new''', 'domain_in(body::cstring, 1::oid, -1) IS NULL',
    'xmlforest(raw)::text LIKE ''%AQ==%''', 'to_tsvector(body) @@ ''run''::tsquery', 'body::timestamptz > now()',
    'at::text = body', 'concat(id, body) = body', 'random() > .5', 'clock_timestamp() > at',
    'to_regclass(body) IS NULL',
    'body = current_user', 'body = current_role', 'body = user', 'body = session_user', 'body = current_schema',
    'body = current_catalog', 'body = current_setting(''role'')', 'pg_has_role(''pg_monitor'', ''member'')',
    'has_table_privilege(''app.docs'', ''select'')', 'inet_client_addr() IS NULL', 'pg_backend_pid() > id',
    'ratio::text = ''1''', 'raw::text = ''\x01''', 'point(1, ratio)::text = ''(1,1)''', 'quote_ident(body) = body',
    'to_tsvector(''app.english'', body) @@ ''run''::tsquery', 'to_tsvector(search, body) @@ ''run''::tsquery'
]) AS condition;
-- Allowed expressions: no error is printed.
SELECT condition, error FROM unnest(ARRAY[
    'status = ''new''', 'status IN (''new'', ''old'')', 'word = ''a''', 'word IS NOT NULL', '(pair).a = ''a''',
    '(pair).b IS NULL',
    'pair IS NOT NULL', 'range IS NOT NULL', 'list[1] = ''a''', '''a'' = ANY (list)', 'body::integer > 0',
    'ratio::numeric = 1', 'lower(body) LIKE ''a%'' OR body ~ ''b'' OR length(body) > 3',
    'coalesce(body, ''x'') = CASE id WHEN 1 THEN ''a'' ELSE ''b'' END',
    'greatest(id, 3) = 3', '(id, body) > (1, ''a'')', 'at > now() - interval ''7 days''', 'day > current_date - 7',
    'day < now()', 'at::date = ''2026-01-01''', '(at AT TIME ZONE ''Europe/Berlin'')::date = day',
    'date_trunc(''day'', at) = current_timestamp', 'extract(year FROM at) = 2026', 'at < localtimestamp',
    'to_tsvector(''english'', body) @@ ''run''::tsquery', 'simhash(body) = 0', 'hamming(simhash(body), 0) < 3',
    'body COLLATE "C" = ''a''', 'ROW(id, word) = ROW(1, word)', 'date(''2026-01-01'') = day', 'int4(''5'') = id',
    'jsonb(''{}'') = ''[]''', '''2026-01-01'' IN (day, at::date, localtimestamp)', '''b'' BETWEEN body AND id::text',
    'id BETWEEN SYMMETRIC ''5'' AND ''1''', 'body IN (''a'', ''b'')', 'list = ''{a,b}''', 'list @> ARRAY[''a'']',
    'day > ''2026-01-01''::date + ''1 day''::interval', 'body LIKE ''a!%'' ESCAPE ''!''', 'id = ''5''',
    'ratio::numeric(10, 2) = ''5.25''', 'overlay(body placing ''x'' from 1) = ''x''', 'nullif(body, '''') IS NULL'
]) AS condition, app.error(format('SELECT public.simhash_guard(''app.typed'', among => %L)', condition)) AS error
WHERE error <> 'none';
-- IS JSON exists from PostgreSQL 16 on.
DO $$
BEGIN
    IF current_setting('server_version_num')::integer >= 160000 THEN
        ASSERT app.error($c$SELECT public.simhash_guard('app.typed', among => 'body IS JSON')$c$)
            ~ '^0A000 .*JsonIsPredicate';
    END IF;
END $$;
-- The scope, and types that become a text.
SELECT app.error($$SELECT public.simhash_guard('app.typed', scope => '{pair}')$$);
SELECT app.error($$SELECT public.simhash_guard('app.typed', scope => '{status,word}')$$);
CREATE FUNCTION app.as_text(app.status) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT ''one text of several words''';
CREATE CAST (app.status AS text) WITH FUNCTION app.as_text(app.status) AS IMPLICIT;
SELECT simhash_index('app.typed', 'status'), simhash_index('app.typed', 'word');
SELECT app.error($$SELECT public.simhash_guard('app.typed', source => 'status')$$);
SELECT simhash_unguard('app.typed'), simhash_guard('app.typed', source => 'word');
RESET ROLE;

-- 4. `unless` runs what PostgreSQL ships, as the writer. Others could change what a name means: by a function
-- that fits better, an operator, or a type.
SET ROLE regress_owner;
CREATE FUNCTION app.is_confirmed(anyelement) RETURNS boolean LANGUAGE sql AS 'SELECT false';
CREATE FUNCTION app.same(anyelement, anyelement) RETURNS boolean LANGUAGE sql AS 'SELECT false';
CREATE OPERATOR app.=== (FUNCTION = app.same, LEFTARG = anyelement, RIGHTARG = anyelement);
CREATE OPERATOR app.==== (FUNCTION = texteq, LEFTARG = text, RIGHTARG = text);
CREATE COLLATION app.folded (LOCALE = 'C');
CREATE DOMAIN app.confirmed AS boolean CHECK (app.is_confirmed(value) IS NOT NULL);
SELECT condition, app.error(format('SELECT public.simhash_guard(''app.stated'', among => '''', unless => %L)',
    condition))
FROM unnest(ARRAY['app.is_confirmed(state)', 'state OPERATOR(app.===) ''x''', 'state OPERATOR(app.====) ''x''',
    'app.confirmed(state)', 'length(state) > 5 AND app.is_confirmed(id)', 'state COLLATE app.folded = ''x''',
    'state || id = ''x''', 'to_jsonb(state) IS NULL', 'quote_literal(id) = ''x''',
    'satisfies_hash_partition(1::oid, 2, 0, id)', 'to_tsvector(state) = ''''', 'random() < 0',
    'xpath_exists(''x'', query_to_xml(''SELECT 1'', true, true, ''''))']) AS condition;
CREATE OR REPLACE TRIGGER zzz_simhash_guard BEFORE INSERT ON app.stated FOR EACH ROW EXECUTE FUNCTION
    public.simhash_dedup('reject', '{}', 'body', '', '', '', 'state OPERATOR(app.====) ''x''');
PREPARE near AS SELECT app.error($$INSERT INTO app.stated VALUES (7, 'open', 'one text of several words')$$);
EXECUTE near;
DROP TRIGGER zzz_simhash_guard ON app.stated;
SELECT simhash_guard('app.stated', unless => 'current_user = ''regress_writer''
    AND pg_has_role(''regress_writer'', ''member'') AND current_setting(''app.passes'', true) IS NULL');
EXECUTE near;
SET ROLE regress_writer;
EXECUTE near;
RESET ROLE;

-- 5. An error on a stored row shows its values to those who may read the row. Others get its SQLSTATE.
SET ROLE regress_owner;
CREATE TABLE app.secret (id integer PRIMARY KEY, secret text DEFAULT '', body text, reader name DEFAULT current_user);
SELECT simhash_index('app.secret', 'body');
GRANT INSERT (id, body), UPDATE (body), SELECT (id) ON app.secret TO regress_writer;
CREATE FUNCTION app.errors() RETURNS TABLE (condition text, error text) LANGUAGE plpgsql AS $$
BEGIN
    FOR condition IN SELECT unnest(ARRAY['secret::numeric > 0', '1 / (id - 1) > 0']) LOOP
        SET LOCAL ROLE regress_owner;
        DELETE FROM app.secret;
        PERFORM public.simhash_guard('app.secret', among => condition);
        INSERT INTO app.secret VALUES (1, 'salary is 4711', 'one text of several words');
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
-- The row that an UPDATE changes is a stored row.
ALTER TABLE app.secret DISABLE ROW LEVEL SECURITY;
REVOKE SELECT ON app.secret FROM regress_writer; GRANT SELECT (id) ON app.secret TO regress_writer;
SET ROLE regress_owner;
DELETE FROM app.secret;
SELECT simhash_guard('app.secret', among => 'reader IS NOT NULL AND secret::numeric > 0');
INSERT INTO app.secret VALUES (1, 'salary is 4711', 'one text of several words');
-- simhash_guard tries the guard on a row, and so does simhash_guards for those who have the rights of the owner.
SELECT app.error($$SELECT public.simhash_guard('app.secret', among => '1 / (id - 1) > 0')$$);
SELECT error FROM simhash_guards() WHERE target = 'app.secret'::regclass;
SET ROLE regress_writer;
SELECT error FROM public.simhash_guards() WHERE target = 'app.secret'::regclass;
SET ROLE regress_owner; GRANT UPDATE (reader) ON app.secret TO regress_writer; SET ROLE regress_writer;
SELECT app.error($$UPDATE app.secret SET reader = 'me' WHERE id = 1$$) AS update;
RESET ROLE;
-- The expression of a unique index is not evaluated on stored rows. A NOTICE about a stored row is not for all.
SET ROLE regress_owner;
CREATE FUNCTION app.key(secret text) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT secret';
CREATE UNIQUE INDEX ON app.secret (app.key(secret));
CREATE OR REPLACE FUNCTION app.key(secret text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS
    $$ BEGIN IF secret <> '' THEN RAISE '%', secret; END IF; RETURN secret; END $$;
SELECT simhash_guard('app.secret', among => $$num_nulls(to_tsvector('simple', repeat(replace(secret, ' ', ''), 300))) < 2$$);
SET ROLE regress_writer;
SELECT app.error($$INSERT INTO app.secret (id, body) VALUES (2, 'one text of several words')$$) AS key;
RESET ROLE;

-- 6. Some literals run code, or look up a name, which may mean something else later. They are refused unread.
SET ROLE regress_owner;
CREATE FUNCTION app.report_run(content text) RETURNS boolean LANGUAGE plpgsql AS
    $$ BEGIN RAISE WARNING '% runs the check of %', current_user, content; RETURN true; END $$;
CREATE DOMAIN app.checked AS text CHECK (app.report_run(value));
CREATE TYPE app.boxed AS (content app.checked);
SELECT app.error(format('SELECT public.simhash_guard(''app.stated'', unless => %L)', unless)) FROM unnest(ARRAY[
    $$state = ('(x)'::app.boxed).content$$, $$'x'::regrole IS NULL$$, $$'{x}'::regclass[] IS NULL$$]) AS unless;
CREATE OR REPLACE TRIGGER zzz_simhash_guard BEFORE INSERT OR UPDATE ON app.stated FOR EACH ROW EXECUTE FUNCTION
    public.simhash_dedup('reject', '{}', 'body', '', '', '', 'state = (''(x)''::app.boxed).content');
RESET ROLE;
SELECT error FROM simhash_guards() WHERE target = 'app.stated'::regclass;
SET ROLE regress_writer;
SELECT error FROM public.simhash_guards() WHERE target = 'app.stated'::regclass;
RESET ROLE;

-- 7. A condition means the same whatever a session has set, and so do the values that it makes.
SET ROLE regress_owner;
CREATE TABLE app.literals (id integer PRIMARY KEY, path text, at timestamptz, span interval, raw bytea, ratio real,
    list text[], body text);
SELECT simhash_index('app.literals', 'body');
INSERT INTO app.literals VALUES (1, 'C:\temp', '2024-01-02 03:04+00', '@ 1 day -2 hours ago', '\x5c27', 0.1, '{NULL}',
    'one text of several words');
RESET ROLE;
CREATE FUNCTION app.guard(OUT arguments bytea) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM public.simhash_guard('app.literals', among => $c$path = E'C:\\temp' AND at = '2024-01-02 03:04+00'
        AND span = '@ 1 day -2 hours ago' AND raw = decode('5c27', 'hex') AND ratio = 0.1::real
        AND list = ARRAY[NULL]::text[] AND at AT TIME ZONE 'EST' = '2024-01-01 22:04'
        AND date_trunc('day', at) = '2024-01-02 00:00+00'
        AND at > '1970-01-01 00:00+00'::timestamptz + '-1 day'::interval AND at::date = '2024-01-02'$c$);
    SELECT tgargs INTO arguments FROM pg_trigger WHERE tgrelid = 'app.literals'::regclass;
END $$;
DO $$
DECLARE
    first bytea := app.guard();
    pair text[];
BEGIN
    FOREACH pair SLICE 1 IN ARRAY ARRAY[['search_path', 'app'], ['standard_conforming_strings', 'off'],
        ['backslash_quote', 'off'], ['quote_all_identifiers', 'on'], ['transform_null_equals', 'on'],
        ['array_nulls', 'off'],
        ['DateStyle', 'German'], ['IntervalStyle', 'sql_standard'], ['IntervalStyle', 'iso_8601'],
        ['TimeZone', 'Asia/Tokyo'],
        ['bytea_output', 'escape'], ['extra_float_digits', '-10'], ['timezone_abbreviations', 'Australia'],
        ['default_text_search_config', 'simple'], ['xmlbinary', 'hex']] LOOP
        -- PostgreSQL 19 has only one way to read strings.
        CONTINUE WHEN pair[1] = 'standard_conforming_strings'
            AND current_setting('server_version_num')::integer >= 190000;
        -- Strings with backslashes would give warnings.
        PERFORM set_config('client_min_messages', 'error', true), set_config(pair[1], pair[2], true);
        ASSERT app.error('INSERT INTO app.literals (id, body) SELECT 2, body FROM app.literals') LIKE '23P01%',
            format('the condition does not hold for %s', pair);
        ASSERT app.guard() = first, format('another condition is stored for %s', pair);
        PERFORM set_config(name, reset_val, true) FROM pg_settings WHERE name = pair[1];
    END LOOP;
END $$;
-- Literals are parameters with negative numbers meanwhile. Up to PostgreSQL 17, a large number means the first of them.
DO $$
BEGIN
    PERFORM public.simhash_guard('app.literals', among => '$4294967295 = ''x''');
    RAISE 'accepted';
EXCEPTION WHEN undefined_parameter OR syntax_error THEN NULL;
END $$;

-- 8. Whoever may create triggers on a table cannot have code run by those who list its guards.
SET ROLE regress_owner;
CREATE TABLE app.listed (id integer PRIMARY KEY, body text);
SELECT simhash_index('app.listed', 'body');
GRANT TRIGGER ON app.listed TO regress_writer; RESET ROLE;
CREATE SCHEMA hostile AUTHORIZATION regress_writer;
GRANT USAGE ON SCHEMA hostile TO PUBLIC; SET ROLE regress_writer;
CREATE FUNCTION hostile.report_run(text) RETURNS boolean LANGUAGE plpgsql AS
    $$ BEGIN RAISE WARNING 'code of regress_writer runs as %', current_user; RETURN true; END $$;
CREATE DOMAIN hostile.checked AS text CHECK (hostile.report_run(value));
CREATE TYPE hostile.boxed AS (content hostile.checked);
CREATE FUNCTION hostile._checked(text) RETURNS text[] IMMUTABLE LANGUAGE sql AS 'SELECT NULL::text[]';
CREATE FUNCTION hostile.read(hostile.boxed) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT NULL::text';
CREATE TRIGGER among BEFORE INSERT OR UPDATE ON app.listed FOR EACH ROW EXECUTE FUNCTION
    public.simhash_dedup('reject', '{}', 'body', '', '', 'body = (''(x)''::hostile.boxed).content');
CREATE TRIGGER unless BEFORE INSERT OR UPDATE ON app.listed FOR EACH ROW EXECUTE FUNCTION
    public.simhash_dedup('reject', '{}', 'body', '', '', '', 'body = hostile.read(''(x)'')');
CREATE TRIGGER source BEFORE INSERT OR UPDATE ON app.listed FOR EACH ROW EXECUTE FUNCTION
    public.simhash_dedup('reject', '{}', 'coalesce(body, (ARRAY[''(x)'']::hostile.boxed[])[1].content)');
RESET ROLE;
CREATE TRIGGER call BEFORE INSERT OR UPDATE ON app.listed FOR EACH ROW EXECUTE FUNCTION
    public.simhash_dedup('reject', '{}', 'body', '', '', 'hostile._checked(''{x}'') IS NULL');
CREATE TRIGGER cycle BEFORE INSERT OR UPDATE ON app.listed FOR EACH ROW EXECUTE FUNCTION
    public.simhash_dedup('reject', '{}', 'body', '', '', 'EXISTS (WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x
        FROM t) CYCLE x SET c TO hostile.boxed ''(x)'' DEFAULT hostile.boxed ''(y)'' USING p SELECT FROM t)');
SELECT '(x)'::hostile.boxed, hostile._checked('{x}');
SELECT guard, error FROM simhash_guards() WHERE target = 'app.listed'::regclass ORDER BY guard;
SET ROLE regress_owner;
SELECT app.error($$SELECT public.simhash_preview('app.listed', among => 'body = (''(x)''::hostile.boxed).content')$$);
RESET ROLE; DROP SCHEMA hostile CASCADE;
