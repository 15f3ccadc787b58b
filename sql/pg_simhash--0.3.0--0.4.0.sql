-- What ALTER EXTENSION pg_simhash UPDATE does from 0.3.0 to 0.4.0.
\echo Use "ALTER EXTENSION pg_simhash UPDATE" to load this file. \quit

CREATE FUNCTION simhash_near(fingerprint bigint, query bigint, max_distance integer, radii integer[]) RETURNS boolean
    AS 'MODULE_PATHNAME', 'simhash_near_radii_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE LEAKPROOF SUPPORT simhash_near_support;
COMMENT ON FUNCTION simhash_near(bigint, bigint, integer, integer[]) IS
    'whether two fingerprints differ in at most max_distance bits, and some block in at most as many as its radius; a table with these blocks indexed is searched by them';

CREATE FUNCTION simhash_containment(a text, b text, options jsonb DEFAULT '{}') RETURNS double precision
    AS 'MODULE_PATHNAME', 'simhash_containment_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 400;
COMMENT ON FUNCTION simhash_containment(text, text, jsonb) IS
    'share, 0 to 1, of the features of text a that text b has too; NULL if a has no word';

CREATE FUNCTION simhash_difference(
    a text, b text, options jsonb DEFAULT '{}',
    OUT side text, OUT feature text, OUT weight double precision
) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'simhash_difference_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1000 ROWS 20;
COMMENT ON FUNCTION simhash_difference(text, text, jsonb) IS
    'the features that weigh more in one of two texts than in the other, a or b, and by how much';

CREATE FUNCTION simhash_from_hex(digits text) RETURNS bigint
    AS 'MODULE_PATHNAME', 'simhash_from_hex_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE SUPPORT simhash_block_support;
COMMENT ON FUNCTION simhash_from_hex(text) IS
    'the fingerprint in 16 hexadecimal digits, as (''x'' || digits)::bit(64) reads them; NULL where that is an error';

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

DROP FUNCTION simhash_skew(regclass, name, integer, text[]);
CREATE FUNCTION simhash_skew(
    target regclass, fingerprint name DEFAULT 'simhash', max_distance integer DEFAULT 3, scope text[] DEFAULT '{}',
    OUT blocks integer, OUT indexed boolean, OUT probes bigint, OUT commonest double precision[],
    OUT candidates double precision, OUT worst double precision, OUT cost double precision, OUT best boolean,
    OUT within integer, OUT radii integer[], OUT found double precision
) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'simhash_skew_wrapper'
    LANGUAGE c STABLE PARALLEL UNSAFE COST 100000 ROWS 10;
COMMENT ON FUNCTION simhash_skew(regclass, name, integer, text[]) IS
    'what searches of a table cost: those within a distance, by the number of blocks; for NULL, those by radii, and what share of the copies they find';

DROP FUNCTION simhash_guard(regclass, text, integer, text[], name, name, double precision, regclass, text[]);
CREATE FUNCTION simhash_guard(
    target regclass, action text DEFAULT 'reject', max_distance integer DEFAULT NULL, scope text[] DEFAULT '{}',
    mark_column name DEFAULT NULL, fingerprint name DEFAULT 'simhash', resemblance double precision DEFAULT '-1',
    log_to regclass DEFAULT NULL, log_columns text[] DEFAULT '{}', radii integer[] DEFAULT NULL,
    options jsonb DEFAULT NULL, among text DEFAULT NULL
) RETURNS void
    AS 'MODULE_PATHNAME', 'simhash_guard_wrapper'
    LANGUAGE c VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION simhash_guard(
    regclass, text, integer, text[], name, name, double precision, regclass, text[], integer[], jsonb, text
) IS
    'lets no near-duplicate into a table from now on: reject, skip or mark';

DROP FUNCTION simhash_preview(regclass, integer, double precision, text[], name, integer);
CREATE FUNCTION simhash_preview(
    target regclass, max_distance integer DEFAULT NULL, resemblance double precision DEFAULT '-1',
    scope text[] DEFAULT '{}', fingerprint name DEFAULT 'simhash', sample integer DEFAULT 5000,
    radii integer[] DEFAULT NULL, options jsonb DEFAULT NULL, among text DEFAULT NULL,
    OUT distance integer, OUT duplicate boolean, OUT rows bigint, OUT share double precision,
    OUT resemblance double precision, OUT example text, OUT earlier text, OUT example_text text, OUT earlier_text text
) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'simhash_preview_radii_wrapper'
    LANGUAGE c VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 10;
COMMENT ON FUNCTION simhash_preview(
    regclass, integer, double precision, text[], name, integer, integer[], jsonb, text
) IS
    'what a guard would find among a sample of a table''s rows, by distance, with examples';

COMMENT ON FUNCTION simhash_dedup() IS
    'trigger that lets no near-duplicate in; arguments: action, distance and resemblance, fingerprint, mark, scope, log, condition';
