-- What ALTER EXTENSION pg_simhash UPDATE does from 0.2.0 to 0.3.0.

-- Searches and orders by distance are scans of block indexes, which the planner is offered in place of rewritten
-- conditions.
CREATE OR REPLACE FUNCTION hamming(a bigint, b bigint) RETURNS integer
    AS 'MODULE_PATHNAME', 'hamming_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE LEAKPROOF SUPPORT simhash_near_support;
COMMENT ON FUNCTION hamming(bigint, bigint) IS
    'Hamming distance: the number of bits, 0 to 64, in which two fingerprints differ';
COMMENT ON FUNCTION simhash_near_support(internal) IS
    'part of hamming and simhash_near: lets the planner find near rows, and the nearest, by block indexes';
DROP FUNCTION simhash_within(bigint, bigint, integer, integer);

-- Indexes include the fingerprint, unless they exist already.
CREATE OR REPLACE FUNCTION simhash_attach(
    target regclass, source name, blocks integer DEFAULT 4, options jsonb DEFAULT NULL, prefix name DEFAULT 'simhash',
    covering boolean DEFAULT NULL
) RETURNS void
    AS 'MODULE_PATHNAME', 'simhash_attach_wrapper'
    LANGUAGE c VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION simhash_attach(regclass, name, integer, jsonb, name, boolean) IS
    'gives a table the fingerprint column of a source column, its block columns and a covering btree on each';
CREATE OR REPLACE FUNCTION simhash_index_commands(
    target regclass, blocks integer DEFAULT 4, prefix name DEFAULT 'simhash', covering boolean DEFAULT NULL
) RETURNS SETOF text
    AS 'MODULE_PATHNAME', 'simhash_index_commands_wrapper'
    LANGUAGE c VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION simhash_index_commands(regclass, integer, name, boolean) IS
    'the commands that build the missing indexes on a fingerprint column''s blocks concurrently; for psql''s \gexec';

COMMENT ON FUNCTION simhash_skew(regclass, name, integer) IS
    'what a search of a table costs by the number of blocks: share of the commonest values, entries read, the best';

-- A guard may confirm near rows by their texts, and does so by default. Existing guards stay as they are.
DROP FUNCTION simhash_guard(regclass, text, integer, text[], name, name);
CREATE FUNCTION simhash_guard(
    target regclass, action text DEFAULT 'reject', max_distance integer DEFAULT NULL, scope text[] DEFAULT '{}',
    mark_column name DEFAULT NULL, fingerprint name DEFAULT 'simhash', resemblance double precision DEFAULT '-1'
) RETURNS void
    AS 'MODULE_PATHNAME', 'simhash_guard_wrapper'
    LANGUAGE c VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION simhash_guard(regclass, text, integer, text[], name, name, double precision) IS
    'lets no near-duplicate into a table from now on: reject, skip or mark';
CREATE FUNCTION simhash_preview(
    target regclass, max_distance integer DEFAULT NULL, resemblance double precision DEFAULT '-1',
    scope text[] DEFAULT '{}', fingerprint name DEFAULT 'simhash', sample integer DEFAULT 5000,
    OUT distance integer, OUT duplicate boolean, OUT rows bigint, OUT share double precision,
    OUT resemblance double precision, OUT example text, OUT earlier text, OUT example_text text, OUT earlier_text text
) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'simhash_preview_wrapper'
    LANGUAGE c VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 10;
COMMENT ON FUNCTION simhash_preview(regclass, integer, double precision, text[], name, integer) IS
    'what a guard would find among a sample of a table''s rows, by distance, with examples';
COMMENT ON FUNCTION simhash_dedup() IS
    'trigger that lets no near-duplicate in; arguments: action, distance and resemblance, fingerprint, mark, scope columns';

-- Clusters and duplicates that texts confirm.
CREATE FUNCTION simhash_cluster(
    fingerprint bigint, content text, max_distance integer DEFAULT 8, resemblance double precision DEFAULT .89,
    options jsonb DEFAULT '{}', progress boolean DEFAULT false
) RETURNS bigint
    AS 'MODULE_PATHNAME', 'simhash_cluster_verified_wrapper'
    LANGUAGE c WINDOW IMMUTABLE PARALLEL SAFE COST 400;
COMMENT ON FUNCTION simhash_cluster(bigint, text, integer, double precision, jsonb, boolean) IS
    'the cluster of near-duplicates, confirmed by their texts, that a row is in, named by the number of its first row';

CREATE FUNCTION simhash_duplicate_of(
    fingerprint bigint, content text, max_distance integer DEFAULT 6, resemblance double precision DEFAULT .89,
    options jsonb DEFAULT '{}', progress boolean DEFAULT false
) RETURNS bigint
    AS 'MODULE_PATHNAME', 'simhash_duplicate_of_wrapper'
    LANGUAGE c WINDOW IMMUTABLE PARALLEL SAFE COST 400;
COMMENT ON FUNCTION simhash_duplicate_of(bigint, text, integer, double precision, jsonb, boolean) IS
    'the number of the earlier row that stays and that a row duplicates; NULL if the row itself stays';
