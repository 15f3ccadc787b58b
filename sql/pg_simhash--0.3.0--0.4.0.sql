-- What ALTER EXTENSION pg_simhash UPDATE does from 0.3.0 to 0.4.0.
\echo Use "ALTER EXTENSION pg_simhash UPDATE" to load this file. \quit

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

DROP FUNCTION simhash_guard(regclass, text, integer, text[], name, name, double precision, regclass, text[]);
CREATE FUNCTION simhash_guard(
    target regclass, action text DEFAULT 'reject', max_distance integer DEFAULT NULL, scope text[] DEFAULT '{}',
    mark_column name DEFAULT NULL, fingerprint name DEFAULT 'simhash', resemblance double precision DEFAULT '-1',
    log_to regclass DEFAULT NULL, log_columns text[] DEFAULT '{}', radii integer[] DEFAULT '{}'
) RETURNS void
    AS 'MODULE_PATHNAME', 'simhash_guard_radii_wrapper'
    LANGUAGE c VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION simhash_guard(
    regclass, text, integer, text[], name, name, double precision, regclass, text[], integer[]
) IS
    'lets no near-duplicate into a table from now on: reject, skip or mark';

DROP FUNCTION simhash_preview(regclass, integer, double precision, text[], name, integer);
CREATE FUNCTION simhash_preview(
    target regclass, max_distance integer DEFAULT NULL, resemblance double precision DEFAULT '-1',
    scope text[] DEFAULT '{}', fingerprint name DEFAULT 'simhash', sample integer DEFAULT 5000,
    radii integer[] DEFAULT '{}',
    OUT distance integer, OUT duplicate boolean, OUT rows bigint, OUT share double precision,
    OUT resemblance double precision, OUT example text, OUT earlier text, OUT example_text text, OUT earlier_text text
) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'simhash_preview_radii_wrapper'
    LANGUAGE c VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 10;
COMMENT ON FUNCTION simhash_preview(regclass, integer, double precision, text[], name, integer, integer[]) IS
    'what a guard would find among a sample of a table''s rows, by distance, with examples';
