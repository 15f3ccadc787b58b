-- What ALTER EXTENSION pg_simhash UPDATE does from 0.3.0 to 0.4.0.

CREATE FUNCTION simhash_near(fingerprint bigint, query bigint, max_distance integer, radii integer[]) RETURNS boolean
    AS 'MODULE_PATHNAME', 'simhash_near_radii_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE LEAKPROOF SUPPORT simhash_near_support;
COMMENT ON FUNCTION simhash_near(bigint, bigint, integer, integer[]) IS
    'whether two fingerprints differ in at most max_distance bits, and some block in at most as many as its radius; a table with these blocks indexed is searched by them';
