-- What ALTER EXTENSION pg_simhash UPDATE does from 0.3.0 to 0.4.0.

CREATE FUNCTION simhash_near(fingerprint bigint, query bigint, max_distance integer, radii integer[]) RETURNS boolean
    AS 'MODULE_PATHNAME', 'simhash_near_radii_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE LEAKPROOF SUPPORT simhash_near_support;
COMMENT ON FUNCTION simhash_near(bigint, bigint, integer, integer[]) IS
    'whether two fingerprints differ in at most max_distance bits, and some block in at most as many as its radius; a table with these blocks indexed is searched by them';

DROP FUNCTION simhash_cluster(bigint, text, integer, double precision, jsonb, boolean);
DROP FUNCTION simhash_duplicate_of(bigint, text, integer, double precision, jsonb, boolean);
CREATE FUNCTION simhash_cluster(
    fingerprint bigint, content text, max_distance integer DEFAULT 10, resemblance double precision DEFAULT .89,
    options jsonb DEFAULT '{}', progress boolean DEFAULT false, radii integer[] DEFAULT '{1,1,1,1}'
) RETURNS bigint
    AS 'MODULE_PATHNAME', 'simhash_cluster_verified_wrapper'
    LANGUAGE c WINDOW IMMUTABLE PARALLEL SAFE COST 400;
COMMENT ON FUNCTION simhash_cluster(bigint, text, integer, double precision, jsonb, boolean, integer[]) IS
    'the cluster of near-duplicates, confirmed by their texts, that a row is in, named by the number of its first row';

CREATE FUNCTION simhash_duplicate_of(
    fingerprint bigint, content text, max_distance integer DEFAULT 10, resemblance double precision DEFAULT .89,
    options jsonb DEFAULT '{}', progress boolean DEFAULT false, radii integer[] DEFAULT '{1,1,1,1}'
) RETURNS bigint
    AS 'MODULE_PATHNAME', 'simhash_duplicate_of_wrapper'
    LANGUAGE c WINDOW IMMUTABLE PARALLEL SAFE COST 400;
COMMENT ON FUNCTION simhash_duplicate_of(bigint, text, integer, double precision, jsonb, boolean, integer[]) IS
    'the number of the earlier row that stays and that a row duplicates; NULL if the row itself stays';
