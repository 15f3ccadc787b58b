-- Runs before all other tests. Each of them has a database of its own, a copy of this one.
CREATE EXTENSION pg_simhash;
SELECT simhash_format();

-- Roles belong to all databases, so they may exist. Some tests make them owners of tables, or of the schema.
\set ECHO none
SELECT format('CREATE ROLE %I', name)
FROM unnest('{regress_owner,regress_writer,regress_reader,regress_other,regress_attacker}'::name[]) AS name
WHERE to_regrole(name) IS NULL \gexec
\set ECHO all

-- The error of each statement with the named fields. The context ends where this function calls the statement.
-- Statements in a row with the same error are printed together, and a field that the error before has too is only
-- named. The hint of near-duplicates is left to guard_reject.
CREATE FUNCTION reported(names text[], statements text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    statement text; detail text; hint text; context text;
    column_name text; constraint_name text; type_name text; table_name text; schema_name text;
    error text[]; last_error text[] = '{}'; new_lines text[];
    repeated text;
BEGIN
    FOREACH statement IN ARRAY statements LOOP
        BEGIN
            EXECUTE statement;
            error = '{"  no error"}';
        EXCEPTION WHEN OTHERS THEN
            GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT,
                context = PG_EXCEPTION_CONTEXT, column_name = COLUMN_NAME, constraint_name = CONSTRAINT_NAME,
                type_name = PG_DATATYPE_NAME, table_name = TABLE_NAME, schema_name = SCHEMA_NAME;
            hint = nullif(hint, 'Skip the row, or change the existing one.');
            context = split_part(context, format('SQL statement "%s"', statement), 1);
            context = regexp_replace(context, '(SQL statement "[A-Z ]+)[^\n]*"', '\1..."', 'g');
            context = replace(rtrim(context, E'\n'), E'\n', ' | ');
            error = format('  %s: %s', SQLSTATE, SQLERRM) || ARRAY(SELECT format('  %s: %s', name, value)
                FROM unnest('{DETAIL,HINT,CONTEXT,COLUMN,CONSTRAINT,TYPE,TABLE,SCHEMA}'::text[],
                        ARRAY[detail, hint, context, column_name, constraint_name, type_name, table_name, schema_name])
                    AS field (name, value)
                WHERE value <> '' AND name = ANY (names));
        END;
        IF error <> last_error THEN
            RETURN QUERY SELECT unnest(new_lines);
            SELECT array_agg(line ORDER BY n) FILTER (WHERE n = 1 OR line <> ALL (last_error)),
                string_agg(lower(substring(line FROM '[A-Z]+')), ', ' ORDER BY n)
                    FILTER (WHERE n > 1 AND line = ANY (last_error))
            INTO new_lines, repeated FROM unnest(error) WITH ORDINALITY AS field (line, n);
            new_lines[1] = new_lines[1] || coalesce(' (same ' || repeated || ')', '');
        END IF;
        RETURN NEXT statement;
        last_error = error;
    END LOOP;
    RETURN QUERY SELECT unnest(new_lines);
END
$$;
CREATE FUNCTION fields(VARIADIC statements text[]) RETURNS SETOF text LANGUAGE sql BEGIN ATOMIC
    SELECT reported('{DETAIL,HINT,CONTEXT,COLUMN,CONSTRAINT,TYPE,TABLE,SCHEMA}', statements); END;
CREATE FUNCTION errors(VARIADIC statements text[]) RETURNS SETOF text LANGUAGE sql BEGIN ATOMIC
    SELECT reported('{DETAIL,HINT}', statements); END;
-- The error of each statement if a role runs it.
CREATE FUNCTION errors_as(role name, VARIADIC statements text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('role', role, true);
    RETURN QUERY SELECT CASE WHEN line LIKE '  %' THEN line ELSE role || ': ' || line END
        FROM errors(VARIADIC statements) AS line;
    PERFORM set_config('role', 'none', true);
END
$$;
-- Runs a statement that a query makes.
CREATE FUNCTION run(statement text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN EXECUTE statement; END $$;
-- Runs a statement that a query makes, without its notices.
CREATE FUNCTION run_quietly(statement text) RETURNS void LANGUAGE plpgsql SET client_min_messages = warning AS
    $$ BEGIN EXECUTE statement; END $$;
-- The SQLSTATE of a statement, whose effects are undone: 00000 without an error.
CREATE FUNCTION sqlstate_of(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE statement;
    RAISE SQLSTATE 'U0000';
EXCEPTION WHEN OTHERS THEN
    RETURN replace(SQLSTATE, 'U0000', '00000');
END $$;
-- The value of a query after a statement, or the error of either.
CREATE FUNCTION value_or_error(query text, statement text DEFAULT '', OUT value text) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE statement;
    EXECUTE query INTO value;
EXCEPTION WHEN OTHERS THEN
    value := SQLSTATE || ' ' || SQLERRM;
END $$;
-- Code of an attacker that never runs calls this function, which shows it if it does.
CREATE FUNCTION must_not_run() RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS
    $$ BEGIN RAISE 'code of another role has run'; END $$;
-- The only value that a query returns.
CREATE FUNCTION value_of(query text, OUT value text) LANGUAGE plpgsql AS $$ BEGIN EXECUTE query INTO value; END $$;
-- The locks of guards, in all sessions.
CREATE FUNCTION guard_locks() RETURNS bigint LANGUAGE sql AS
    $$ SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid > 2 $$;

-- A collation that ignores case, and a text that is equal to another by it. Without ICU, none ignores case.
CREATE FUNCTION has_icu() RETURNS boolean LANGUAGE sql AS
    $$ SELECT EXISTS (SELECT FROM pg_collation WHERE collname = 'und-x-icu') $$;
SELECT CASE WHEN has_icu() THEN '(provider = icu, locale = ''und-u-ks-level2'', deterministic = false)'
    ELSE 'FROM "C"' END
    AS definition \gset
CREATE COLLATION no_case :definition;
CREATE FUNCTION other_case(content text) RETURNS text LANGUAGE sql RETURN
    CASE WHEN has_icu() THEN upper(content) ELSE content END;

-- The columns of a table with their expressions, and its indexes. Versions of psql print tables that have parents
-- differently.
CREATE FUNCTION described(relation regclass) RETURNS SETOF text LANGUAGE sql AS $$
    (SELECT concat_ws(' ', attname, pg_get_expr(adbin, adrelid))
    FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE attrelid = relation AND attnum > 0 AND NOT attisdropped ORDER BY attnum)
    UNION ALL
    (SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = relation ORDER BY 1)
$$;

-- The call in the trigger of a guard.
CREATE FUNCTION definition(guarded regclass) RETURNS text LANGUAGE sql RETURN
    (SELECT substring(pg_get_triggerdef(oid) FROM 'simhash_dedup.*') FROM pg_trigger
    WHERE tgrelid = guarded AND tgname = 'zzz_simhash_guard');

-- Indexes on the blocks of a fingerprint, with the fingerprint as a key, as they are made by hand.
CREATE FUNCTION index_by_hand(relation regclass, fingerprint text, blocks integer DEFAULT 4)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    FOR block IN 0 .. blocks - 1 LOOP
        EXECUTE format('CREATE INDEX ON %s (simhash_block(%s, %s, %s), %2$s)', relation, fingerprint, block, blocks);
    END LOOP;
    EXECUTE format('ANALYZE %s', relation);
END
$$;

-- The lines of a plan that match a pattern.
CREATE FUNCTION plan_lines(query text, pattern text, options text DEFAULT 'COSTS OFF') RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE format('EXPLAIN (%s) %s', options, query) LOOP
        IF line ~ pattern THEN
            RETURN NEXT ltrim(line, ' ->');
        END IF;
    END LOOP;
END
$$;
-- The lines of the plan of a query that is run, which match a pattern.
CREATE FUNCTION run_lines(query text, pattern text) RETURNS SETOF text LANGUAGE sql AS
    $$ SELECT plan_lines(query, pattern, 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF') $$;
-- The rows that the plan's top node, or its first node of a kind, is expected to return.
CREATE FUNCTION estimated_rows(query text, node text DEFAULT '') RETURNS numeric LANGUAGE sql RETURN
    (SELECT substring(line FROM 'rows=(\d+)')::numeric
    FROM plan_lines(query, '(' || node || ').*rows=', 'COSTS ON') AS line LIMIT 1);
-- The expected rows of a plan's node, rounded to a power of ten.
CREATE FUNCTION estimate(query text, node text DEFAULT '') RETURNS integer LANGUAGE sql RETURN
    (10 ^ round(log(estimated_rows(query, node))))::integer;
-- Whether a plan has the scan of the indexes of blocks or bands.
CREATE FUNCTION is_searched(query text) RETURNS boolean LANGUAGE sql RETURN
    EXISTS (SELECT FROM plan_lines(query, 'SimhashScan'));
-- Whether a query has the same rows with the scan and without; NULL if it has none both times.
CREATE FUNCTION same_rows(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    found text[];
    expected text[];
BEGIN
    EXECUTE format('SELECT array_agg(q::text ORDER BY q::text) FROM (%s) AS q', query) INTO found;
    PERFORM set_config('pg_simhash.enable_scan', 'off', true);
    EXECUTE format('SELECT array_agg(q::text ORDER BY q::text) FROM (%s) AS q', query) INTO expected;
    PERFORM set_config('pg_simhash.enable_scan', 'on', true);
    RETURN CASE WHEN coalesce(found, expected) IS NOT NULL THEN found IS NOT DISTINCT FROM expected END;
END
$$;

-- A random fingerprint, the same one for the same number.
CREATE FUNCTION random_fingerprint(n bigint) RETURNS bigint IMMUTABLE LANGUAGE sql
    RETURN ('x' || left(md5(n::text), 16))::bit(64)::bigint;
