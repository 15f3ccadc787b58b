-- Lists all objects of the installed extension for a comparison: a paragraph for each, with everything in the catalogue
-- that CREATE or ALTER can change.
--
-- An object of a kind that this file does not describe is listed as NOT DESCRIBED, and tests/server/upgrade/run fails.
-- Add the kind when the extension gets its first object of it.
\pset format unaligned
\pset tuples_only on
\pset null none

SELECT format('EXTENSION in schema %s, relocatable %s, trusted %s, superuser %s, requires %s',
        extnamespace::regnamespace, extrelocatable, version.trusted, version.superuser, version.requires),
    format('configuration tables %s', extconfig),
    format('comment: %s', obj_description(extension.oid, 'pg_extension'))
FROM pg_extension AS extension
    JOIN pg_available_extension_versions AS version ON name = extname AND version.version = extversion
WHERE extname = 'pg_simhash'
\g (fieldsep='\n')

\echo
WITH
member AS (
    SELECT classid, objid, type, identity
    FROM pg_depend JOIN pg_extension AS extension ON refclassid = 'pg_extension'::regclass AND refobjid = extension.oid,
        pg_identify_object(classid, objid, 0)
    WHERE deptype = 'e' AND extname = 'pg_simhash'
),
-- PostgreSQL itself writes the definition of a function, but not that of an aggregate or an operator. The superuser
-- that owns the whole system has number 10.
property (classid, objid, place, line) AS (
    SELECT 'pg_proc'::regclass, p.oid, property.*
    FROM pg_proc AS p,
        LATERAL (VALUES
            (1, CASE WHEN prokind <> 'a' THEN rtrim(pg_get_functiondef(p.oid), E'\n') END),
            (1, CASE WHEN prokind = 'a' THEN format('CREATE AGGREGATE %s(%s) RETURNS %s', p.oid::regproc,
                pg_get_function_arguments(p.oid), pg_get_function_result(p.oid)) END),
            (2, CASE WHEN prokind = 'a' THEN format(' volatile %s, strict %s, parallel %s, leakproof %s, cost %s,'
                ' definer %s', provolatile, proisstrict, proparallel, proleakproof, procost, prosecdef) END),
            (7, 'privileges: ' || proacl::text),
            (8, 'owner: ' || nullif(proowner, 10)::regrole::text)
        ) AS property
    WHERE p.oid IN (SELECT objid FROM member WHERE classid = 'pg_proc'::regclass)
    UNION ALL
    SELECT 'pg_proc'::regclass, aggfnoid, property.*
    FROM pg_aggregate,
        LATERAL (VALUES
            (3, format(' kind %s, direct arguments %s, sort operator %s', aggkind, aggnumdirectargs,
                aggsortop::regoper)),
            (4, format(' functions: %s, final %s, combine %s, serial %s, deserial %s; state %s of %s bytes,'
                ' initially %s', aggtransfn, aggfinalfn, aggcombinefn, aggserialfn, aggdeserialfn,
                aggtranstype::regtype, aggtransspace, coalesce(agginitval, 'NULL'))),
            (5, format(' final function: extra arguments %s, modifies the state %s', aggfinalextra, aggfinalmodify)),
            (6, format(' moving: functions %s, inverse %s, final %s (extra arguments %s, modifies %s); state %s of %s'
                ' bytes, initially %s', aggmtransfn, aggminvtransfn, aggmfinalfn, aggmfinalextra, aggmfinalmodify,
                aggmtranstype::regtype, aggmtransspace, coalesce(aggminitval, 'NULL')))
        ) AS property
    WHERE aggfnoid IN (SELECT objid FROM member WHERE classid = 'pg_proc'::regclass)
    UNION ALL
    SELECT 'pg_operator'::regclass, o.oid, property.*
    FROM pg_operator AS o,
        LATERAL (VALUES
            (1, format('CREATE OPERATOR %s RETURNS %s', o.oid::regoperator, oprresult::regtype)),
            (2, format(' function %s, restrict %s, join %s', oprcode::regprocedure, oprrest, oprjoin)),
            (3, format(' commutator %s, negator %s, merges %s, hashes %s', oprcom::regoperator, oprnegate::regoperator,
                oprcanmerge, oprcanhash)),
            (8, 'owner: ' || nullif(oprowner, 10)::regrole::text)
        ) AS property
    WHERE o.oid IN (SELECT objid FROM member WHERE classid = 'pg_operator'::regclass)
    UNION ALL
    SELECT classid, objid, 10, 'comment: ' || obj_description(objid, classid::regclass::name) FROM member
    UNION ALL
    SELECT classoid, objoid, 11, 'privileges when made: ' || initprivs::text FROM pg_init_privs
)
SELECT CASE WHEN bool_or(place = 1 AND line IS NOT NULL) THEN string_agg(line, E'\n' ORDER BY place) || E'\n'
    ELSE format(E'NOT DESCRIBED by objects.sql: %s %s\n', type, identity) END
FROM member LEFT JOIN property ON property.classid = member.classid AND property.objid = member.objid
GROUP BY type, identity
ORDER BY type COLLATE "C", identity COLLATE "C";
