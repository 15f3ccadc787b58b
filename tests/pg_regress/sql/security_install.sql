-- Installing and owning the extension, and objects that other users have made in its schema before.

-- Any user with CREATE on the database can install it and use it; others can use it.
DROP EXTENSION pg_simhash; SET ROLE regress_owner;
CREATE EXTENSION pg_simhash;
RESET ROLE; GRANT CREATE ON DATABASE :DBNAME TO regress_owner;
CREATE SCHEMA owned AUTHORIZATION regress_owner;
SET ROLE regress_owner;
CREATE EXTENSION pg_simhash SCHEMA owned;
SELECT owned.simhash('hello');
GRANT USAGE ON SCHEMA owned TO regress_other; RESET ROLE;
SELECT errors_as('regress_other', $$SELECT owned.simhash('hello')$$, 'DROP EXTENSION pg_simhash');
DROP EXTENSION pg_simhash;
CREATE SCHEMA shared;
GRANT USAGE, CREATE ON SCHEMA shared TO PUBLIC;

-- CREATE EXTENSION fails if an object exists that it would make, and leaves this object as it was. The script runs as a
-- superuser, so a function that it took over would run as one too.
-- Whether a superuser can install the extension beside such an object, and whether regress_owner can.
CREATE FUNCTION can_install_beside(planted text, OUT superuser boolean, OUT owner boolean) LANGUAGE plpgsql AS $$
BEGIN
    SET LOCAL ROLE regress_attacker;
    SET LOCAL search_path = shared;
    EXECUTE planted;
    SET LOCAL search_path = public;
    RESET ROLE;
    superuser = sqlstate_of('CREATE EXTENSION pg_simhash SCHEMA shared') = '00000';
    SET LOCAL ROLE regress_owner;
    owner = sqlstate_of('CREATE EXTENSION pg_simhash SCHEMA shared') = '00000';
    RESET ROLE;
    DROP OWNED BY regress_attacker CASCADE;
    GRANT USAGE, CREATE ON SCHEMA shared TO PUBLIC;
END $$;
SELECT can_install_beside(planted), planted FROM unnest(ARRAY[
    'CREATE FUNCTION innocent() RETURNS integer LANGUAGE sql RETURN 1',
    'CREATE FUNCTION hamming(bigint, bigint) RETURNS integer LANGUAGE sql RETURN 666',
    'CREATE FUNCTION add(float8, text, float8) RETURNS float8 LANGUAGE sql RETURN 1;
    CREATE AGGREGATE simhash_agg(text, float8) (SFUNC = add, STYPE = float8)',
    'CREATE FUNCTION f(bigint, bigint) RETURNS integer LANGUAGE sql RETURN 666;
    CREATE OPERATOR <~> (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = f)',
    -- A shell operator, left behind by another operator that names it as its commutator.
    'CREATE FUNCTION f(bigint, bigint) RETURNS integer LANGUAGE sql RETURN 666;
    CREATE OPERATOR <# (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = f, COMMUTATOR = <~>)']) AS planted;

-- Objects of other users with names that the script uses, and types and functions that accept its arguments, are not
-- used by it.
SET ROLE regress_attacker;
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
-- Users cannot call the functions for PostgreSQL's internal use. The first call finds a function of regress_attacker.
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
