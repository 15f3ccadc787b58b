-- Installing, owning and moving the extension, and what others have put into its schema before and after.

-- Any user with CREATE on the database can install it and use it; others can use it.
DROP EXTENSION pg_simhash;
SET ROLE regress_owner;
CREATE EXTENSION pg_simhash;
RESET ROLE;
GRANT CREATE ON DATABASE :DBNAME TO regress_owner;
CREATE SCHEMA owned AUTHORIZATION regress_owner;
SET ROLE regress_owner;
CREATE EXTENSION pg_simhash SCHEMA owned;
SELECT owned.simhash('hello');
GRANT USAGE ON SCHEMA owned TO regress_other;
RESET ROLE;
SELECT errors_as('regress_other', $$SELECT owned.simhash('hello')$$, 'DROP EXTENSION pg_simhash');
DROP EXTENSION pg_simhash;
CREATE SCHEMA shared;
GRANT USAGE, CREATE ON SCHEMA shared TO PUBLIC;

-- Existing objects are never taken over or replaced: CREATE EXTENSION fails, and leaves them as they were. (It runs as
-- a superuser: so would any code that it took for its own.)
CREATE FUNCTION try_to_install(schema name) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE EXTENSION pg_simhash SCHEMA %I', schema);
    RAISE SQLSTATE 'U0000'; -- rolled back
EXCEPTION
    WHEN SQLSTATE 'U0000' THEN RETURN 'installed';
    WHEN OTHERS THEN RETURN 'refused';
END $$;
CREATE FUNCTION install_beside(planted text, OUT superuser text, OUT installer text) LANGUAGE plpgsql AS $$
BEGIN
    SET LOCAL ROLE regress_mallory;
    SET LOCAL search_path = shared;
    EXECUTE planted;
    SET LOCAL search_path = public;
    RESET ROLE;
    superuser = try_to_install('shared');
    SET LOCAL ROLE regress_owner;
    installer = try_to_install('shared');
    RESET ROLE;
    DROP OWNED BY regress_mallory CASCADE;
    GRANT USAGE, CREATE ON SCHEMA shared TO PUBLIC;
END $$;
SELECT install_beside(planted), planted FROM unnest(ARRAY[
    'CREATE FUNCTION innocent() RETURNS integer LANGUAGE sql RETURN 1',
    'CREATE FUNCTION hamming(bigint, bigint) RETURNS integer LANGUAGE sql RETURN 666',
    'CREATE FUNCTION add(float8, text, float8) RETURNS float8 LANGUAGE sql RETURN 1;
    CREATE AGGREGATE simhash_agg(text, float8) (SFUNC = add, STYPE = float8)',
    'CREATE FUNCTION f(bigint, bigint) RETURNS integer LANGUAGE sql RETURN 666;
    CREATE OPERATOR <~> (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = f)',
    -- A shell operator, left behind by another operator that names it as its commutator.
    'CREATE FUNCTION f(bigint, bigint) RETURNS integer LANGUAGE sql RETURN 666;
    CREATE OPERATOR <# (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = f, COMMUTATOR = <~>)']) AS planted;

-- The script does not use other objects with names that it uses: types, and functions that accept its arguments.
SET ROLE regress_mallory;
SELECT run(format('CREATE DOMAIN shared.%s AS pg_catalog.%1$s CHECK (false)', type))
FROM unnest('{text,name,jsonb,regclass,tsvector}'::text[]) AS type;
CREATE FUNCTION shared.hamming(numeric, numeric) RETURNS integer LANGUAGE sql RETURN 666;
CREATE FUNCTION shared.simhash_agg_final(anyelement) RETURNS bigint LANGUAGE sql AS 'SELECT 666::bigint';
SET ROLE regress_owner;
CREATE EXTENSION pg_simhash SCHEMA shared;
RESET ROLE;
SELECT count(*) AS functions, bool_and(t.typnamespace = 'pg_catalog'::regnamespace) AS all_types_are_postgresqls
FROM pg_depend d JOIN pg_proc p ON classid = 'pg_proc'::regclass AND p.oid = objid,
    unnest(p.proargtypes::oid[] || p.prorettype) AS of_type JOIN pg_type t ON t.oid = of_type
WHERE deptype = 'e' AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_simhash');
SELECT oprcode, oprcom::regoperator FROM pg_operator WHERE oprname = '<~>';
SELECT aggtransfn, aggfinalfn FROM pg_aggregate WHERE aggfnoid = 'shared.simhash_agg'::regproc;

-- The installer owns the extension but no object in it: the superuser's functions remain unchanged.
SELECT extowner::regrole FROM pg_extension WHERE extname = 'pg_simhash';
SELECT p.proowner = 10 AS is_bootstrap_superusers, count(*), bool_or(prosecdef) AS security_definer,
    bool_or(proconfig IS NOT NULL) AS settings, bool_or(proacl IS NOT NULL) AS granted,
    array_agg(DISTINCT lanname) AS languages
FROM pg_depend d JOIN pg_proc p ON classid = 'pg_proc'::regclass AND p.oid = objid JOIN pg_language l ON l.oid = prolang
WHERE deptype = 'e' AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_simhash') GROUP BY 1;
ALTER SCHEMA shared OWNER TO regress_owner;
SET ROLE regress_owner;
CREATE OR REPLACE FUNCTION shared.hamming(a bigint, b bigint) RETURNS integer LANGUAGE sql IMMUTABLE RETURN 666;
DROP FUNCTION shared.hamming(bigint, bigint);
ALTER FUNCTION shared.hamming(bigint, bigint) OWNER TO regress_owner;
ALTER FUNCTION shared.hamming(bigint, bigint) RENAME TO distance;
ALTER FUNCTION shared.simhash(text, jsonb) LEAKPROOF;
ALTER FUNCTION shared.simhash_attach(regclass, name, jsonb, integer, text[], name) SECURITY DEFINER;
ALTER EXTENSION pg_simhash DROP FUNCTION shared.hamming(bigint, bigint);
ALTER OPERATOR shared.<~> (bigint, bigint) SET (RESTRICT = eqsel);
CREATE FUNCTION shared.attach(oid, name, integer, jsonb, name, boolean) RETURNS void
    AS '$libdir/pg_simhash', 'simhash_attach_wrapper' LANGUAGE c;
-- Functions for PostgreSQL's internal use cannot be called directly: the first call finds regress_mallory's function.
SELECT shared.simhash_agg_final(NULL::bytea);
-- (The errors differ between minor releases of PostgreSQL.)
CREATE FUNCTION shared.is_refused(call text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE 'SELECT shared.' || call USING 'a feature'::text;
    RETURN false;
EXCEPTION WHEN undefined_function OR feature_not_supported OR cannot_coerce THEN
    RETURN true;
END $$;
SELECT count(*), bool_and(shared.is_refused(call)) FROM unnest(ARRAY['simhash_agg_add(NULL, $1, 1)',
    'simhash_agg_add(NULL::internal, $1, 1::float8)', 'simhash_weights_add(NULL, $1, ''{}'')',
    'simhash_weights_final(NULL)', 'simhash_agg_combine(NULL, NULL)', 'simhash_agg_deserialize($1::bytea, NULL)',
    'simhash_near_support(NULL)', 'simhash_block_support(NULL)']) AS call;
SELECT shared.simhash_dedup();
CREATE AGGREGATE shared.forged(bigint) (SFUNC = int8_avg_accum, STYPE = internal, FINALFUNC = shared.simhash_agg_final);
RESET ROLE;
DROP EXTENSION pg_simhash;
DROP OWNED BY regress_mallory CASCADE;

-- Others may create functions in the extension's schema. Objects that the extension makes never call one of them,
-- whatever their argument types. (They can make calls fail: "is not unique".)
CREATE EXTENSION pg_simhash SCHEMA shared;
GRANT USAGE, CREATE ON SCHEMA shared TO PUBLIC;
CREATE DOMAIN fingerprint AS bigint;
CREATE DOMAIN words AS text;
CREATE TABLE of_domains (id integer PRIMARY KEY, f fingerprint, body words, short varchar(20));
INSERT INTO of_domains VALUES (1, 1, 'a text', 'a text');
SET ROLE regress_mallory;
CREATE FUNCTION shared.evil() RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE 'hijacked'; END $$;
SELECT run(format('CREATE FUNCTION shared.%s RETURNS %s LANGUAGE sql IMMUTABLE RETURN shared.evil()', name,
    CASE WHEN name ~ '_(block|band|size)' THEN 'integer' ELSE 'bigint' END))
FROM unnest(ARRAY['simhash_block(public.fingerprint, integer, integer)', 'simhash_block(public.fingerprint, integer)',
    'simhash_block(bigint, bigint, bigint)', 'simhash_block(numeric, integer, integer)', 'simhash(public.words)',
    'simhash(public.words, text)', 'simhash(varchar)', 'simhash(varchar, jsonb)', 'simhash_band(public.words, integer)',
    'simhash_band(text, bigint)', 'simhash_band(varchar, integer)', 'simhash_size(public.words)',
    'simhash_size(varchar)']) AS name;
CREATE FUNCTION shared.simhash(anyelement) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT shared.evil()::bigint';
CREATE FUNCTION shared.simhash_dedup(VARIADIC text[]) RETURNS integer LANGUAGE sql RETURN shared.evil();
RESET ROLE;
SELECT shared.simhash_attach('of_domains', 'f', blocks => 5),
    shared.simhash_attach('of_domains', 'body', blocks => 2, options => '{"ngram": 2}', prefix => 'w'),
    shared.simhash_attach('of_domains', 'short', blocks => 2, prefix => 'v'),
    shared.simhash_attach('of_domains', 'f', blocks => 2, prefix => 'f'),
    shared.simhash_index('of_domains', 'body', bands => 1), shared.simhash_index('of_domains', 'short', bands => 1),
    shared.simhash_guard('of_domains', source => 'f');
SELECT shared.simhash_index_commands('of_domains', 'body || short', bands => 1) \gexec
INSERT INTO of_domains VALUES (2, 255, 'another text', 'another text');
\d of_domains
-- The objects are recognised.
SELECT shared.simhash_index_commands('of_domains', source, bands => 1)
FROM unnest('{body,short,body || short}'::text[]) AS source;
SELECT tgname, tgfoid::regprocedure FROM pg_trigger WHERE tgrelid = 'of_domains'::regclass ORDER BY tgname;
EXPLAIN (COSTS OFF) SELECT * FROM of_domains WHERE shared.simhash_near(f, 5, 0);
SELECT shared.simhash_unguard('of_domains'),
    shared.simhash_detach('of_domains'), shared.simhash_detach('of_domains', 'f'),
    shared.simhash_detach('of_domains', 'w'), shared.simhash_detach('of_domains', 'v');
-- If the library is newer than the installed version, a function may be missing. Plans use no other of its name.
SELECT shared.simhash_attach('of_domains', 'f', blocks => 5);
INSERT INTO of_domains (id, f) SELECT n, n * 7919 FROM generate_series(3, 5000) AS n;
ANALYZE of_domains;
EXPLAIN (COSTS OFF) SELECT * FROM of_domains WHERE shared.simhash_near(f, 1, 0);
ALTER FUNCTION shared.simhash_block(bigint, integer, integer) RENAME TO simhash_renamed;
SET ROLE regress_mallory;
CREATE FUNCTION shared.simhash_block(bigint, integer, integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS
    $$ BEGIN RAISE 'hijacked'; END $$;
RESET ROLE;
EXPLAIN (COSTS OFF) SELECT * FROM of_domains WHERE shared.simhash_near(f, 1, 0);
SELECT id FROM of_domains WHERE shared.simhash_near(f, 1, 0);
SELECT shared.simhash_guard('of_domains', 'skip', source => 'f');
