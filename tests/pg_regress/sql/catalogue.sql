-- The objects that the extension declares.
CREATE TEMP VIEW functions AS
SELECT p.*, p.oid::regprocedure AS function
FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
    AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_simhash');
\pset format unaligned
SELECT function, pg_get_function_arguments(oid) AS arguments, pg_get_function_result(oid) AS result
FROM functions ORDER BY function::text COLLATE "C";
\pset format aligned

-- All functions have a comment and neither settings nor SECURITY DEFINER; all that do not work on tables are immutable
-- and parallel safe; all but the aggregates and their parts are strict.
SELECT count(*), bool_and(obj_description(oid, 'pg_proc') <> '') AS commented,
    bool_and(NOT prosecdef AND proconfig IS NULL) AS plain
FROM functions;
SELECT function, prokind, provolatile, proparallel FROM functions WHERE provolatile <> 'i' OR proparallel <> 's'
ORDER BY function::text COLLATE "C";
SELECT function FROM functions WHERE NOT proisstrict ORDER BY function::text COLLATE "C";
-- LEAKPROOF are the functions that a search uses between the policy and the index.
SELECT function FROM functions WHERE proleakproof ORDER BY function::text COLLATE "C";
-- To the planner, fingerprinting a text costs much more than a comparison.
SELECT DISTINCT proname, procost, prorows FROM functions WHERE procost <> 1 ORDER BY proname, procost;

-- simhash_agg is parallel, with functions of its own; simhash_weights is not.
SELECT aggfnoid, aggtransfn, aggcombinefn, aggserialfn, aggdeserialfn, aggfinalfn, aggfinalmodify, aggtranstype::regtype
FROM pg_aggregate WHERE aggfnoid = 'simhash_agg(text, double precision)'::regprocedure \gx
SELECT aggfnoid::oid::regprocedure, aggtransfn::oid::regprocedure, aggcombinefn, aggfinalfn, aggtranstype::regtype,
    aggtransspace
FROM pg_aggregate WHERE aggfnoid IN (SELECT oid FROM functions WHERE proname = 'simhash_weights') ORDER BY 1;

-- The operators are their own commutators, so that an index or a join can use them in either direction.
SELECT oid::regoperator AS operator, oprcom::regoperator AS commutator, oprcode::oid::regprocedure, oprresult::regtype,
    obj_description(oid, 'pg_operator') AS comment
FROM pg_operator WHERE oprname = '<~>' ORDER BY 1;

-- All functions are in the extension's library, which anyone with CREATE on the database may install, in any schema.
SELECT DISTINCT lanname, probin FROM functions JOIN pg_language l ON l.oid = prolang WHERE prokind <> 'a';
SELECT extrelocatable, extconfig, trusted, superuser, obj_description(e.oid, 'pg_extension') AS comment
FROM pg_extension e JOIN pg_available_extension_versions v ON name = extname AND version = extversion
WHERE extname = 'pg_simhash';
