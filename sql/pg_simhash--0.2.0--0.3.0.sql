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

-- Indexes include the fingerprint, unless they exist already. They may have a scope, and blocks may be expressions.
DROP FUNCTION simhash_attach(regclass, name, integer, jsonb, name, boolean);
CREATE FUNCTION simhash_attach(
    target regclass, source name, blocks integer DEFAULT 4, options jsonb DEFAULT NULL, prefix name DEFAULT 'simhash',
    covering boolean DEFAULT NULL, scope text[] DEFAULT '{}', columns boolean DEFAULT true
) RETURNS void
    AS 'MODULE_PATHNAME', 'simhash_attach_scoped_wrapper'
    LANGUAGE c VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION simhash_attach(regclass, name, integer, jsonb, name, boolean, text[], boolean) IS
    'gives a table the fingerprint column of a source column, its block columns and a covering btree on each';
DROP FUNCTION simhash_index_commands(regclass, integer, name, boolean);
CREATE FUNCTION simhash_index_commands(
    target regclass, blocks integer DEFAULT 4, prefix name DEFAULT 'simhash', covering boolean DEFAULT NULL,
    scope text[] DEFAULT '{}'
) RETURNS SETOF text
    AS 'MODULE_PATHNAME', 'simhash_index_commands_scoped_wrapper'
    LANGUAGE c VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION simhash_index_commands(regclass, integer, name, boolean, text[]) IS
    'lists commands that build the missing block indexes concurrently, and runs none of them: psql''s \gexec does';

DROP FUNCTION simhash_skew(regclass, name, integer);
CREATE FUNCTION simhash_skew(
    target regclass, fingerprint name DEFAULT 'simhash', max_distance integer DEFAULT 3, scope text[] DEFAULT '{}',
    OUT blocks integer, OUT indexed boolean, OUT probes bigint, OUT commonest double precision[],
    OUT candidates double precision, OUT worst double precision, OUT cost double precision, OUT best boolean
) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'simhash_skew_scoped_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL UNSAFE COST 100000 ROWS 7;
COMMENT ON FUNCTION simhash_skew(regclass, name, integer, text[]) IS
    'what a search of a table costs by the number of blocks: share of the commonest values, entries read, the best';

-- A guard may confirm near rows by their texts, and does so by default. Existing guards stay as they are.
DROP FUNCTION simhash_guard(regclass, text, integer, text[], name, name);
CREATE FUNCTION simhash_guard(
    target regclass, action text DEFAULT 'reject', max_distance integer DEFAULT NULL, scope text[] DEFAULT '{}',
    mark_column name DEFAULT NULL, fingerprint name DEFAULT 'simhash', resemblance double precision DEFAULT '-1',
    log_to regclass DEFAULT NULL, log_columns text[] DEFAULT '{}'
) RETURNS void
    AS 'MODULE_PATHNAME', 'simhash_guard_texts_wrapper'
    LANGUAGE c VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION simhash_guard(regclass, text, integer, text[], name, name, double precision, regclass, text[]) IS
    'lets no near-duplicate into a table from now on: reject, skip or mark';
-- Counted where the rows are checked: in the leader, not in its workers.
CREATE FUNCTION simhash_guard_counts(
    OUT target regclass, OUT guard name, OUT checked bigint, OUT rejected bigint, OUT skipped bigint, OUT marked bigint
) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'simhash_guard_counts_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED ROWS 10;
COMMENT ON FUNCTION simhash_guard_counts() IS
    'how many rows each guard has checked, rejected, skipped and marked in this session, committed or not';
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
    'trigger that lets no near-duplicate in; arguments: action, distance and resemblance, fingerprint, mark, scope, log';

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

-- Clusters of what is searched in several parts.
CREATE FUNCTION simhash_components(a anyarray, b anyarray, progress boolean DEFAULT false)
    RETURNS TABLE (id anyelement, component anyelement)
    AS 'MODULE_PATHNAME', 'simhash_components_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100000 ROWS 1000;
COMMENT ON FUNCTION simhash_components(anyarray, anyarray, boolean) IS
    'the connected components of pairs of ids: each id once, with the smallest id of its component';
-- Options seed, weights and dictionary words; fingerprints of several words; weights learnt from texts.
COMMENT ON FUNCTION simhash(text, jsonb) IS
    'SimHash fingerprint of a text with the options tokens, ngram, weight, weights, case_fold, top and seed';

CREATE FUNCTION simhash_wide(content text, words integer DEFAULT 2, options jsonb DEFAULT '{}') RETURNS bigint[]
    AS 'MODULE_PATHNAME', 'simhash_wide_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 400;
COMMENT ON FUNCTION simhash_wide(text, integer, jsonb) IS
    '1 to 16 fingerprints of a text, made in one pass: element i has the seed of the options + i - 1; NULL without a word';

CREATE FUNCTION hamming(a bigint[], b bigint[]) RETURNS integer
    AS 'MODULE_PATHNAME', 'hamming_arrays_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 2;
COMMENT ON FUNCTION hamming(bigint[], bigint[]) IS
    'Hamming distance of wide fingerprints: the sum over their words; NULL for arrays without elements';

CREATE OPERATOR <~> (
    LEFTARG = bigint[],
    RIGHTARG = bigint[],
    FUNCTION = hamming,
    COMMUTATOR = <~>
);
COMMENT ON OPERATOR <~> (bigint[], bigint[]) IS 'Hamming distance of wide fingerprints';

-- Not parallel: few texts are needed, and a worker's state would be its whole sample. The transition functions are
-- IMMUTABLE but not STRICT: a text that is NULL is left out.

CREATE FUNCTION simhash_weights_add(state internal, content text) RETURNS internal
    AS 'MODULE_PATHNAME', 'simhash_weights_add_wrapper'
    LANGUAGE c IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION simhash_weights_add(internal, text) IS 'part of simhash_weights: adds a text';

CREATE FUNCTION simhash_weights_add(state internal, content text, options jsonb) RETURNS internal
    AS 'MODULE_PATHNAME', 'simhash_weights_add_options_wrapper'
    LANGUAGE c IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION simhash_weights_add(internal, text, jsonb) IS 'part of simhash_weights: adds a text';

CREATE FUNCTION simhash_weights_add(state internal, content text, options jsonb, features integer, sample integer)
    RETURNS internal
    AS 'MODULE_PATHNAME', 'simhash_weights_add_sized_wrapper'
    LANGUAGE c IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION simhash_weights_add(internal, text, jsonb, integer, integer) IS
    'part of simhash_weights: adds a text';

CREATE FUNCTION simhash_weights_final(state internal) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'simhash_weights_final_wrapper'
    LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100000;
COMMENT ON FUNCTION simhash_weights_final(internal) IS 'part of simhash_weights: learns weights from the sample';

CREATE AGGREGATE simhash_weights(content text) (
    SFUNC = simhash_weights_add,
    STYPE = internal,
    SSPACE = 10000000,
    FINALFUNC = simhash_weights_final,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE simhash_weights(text) IS
    'learns from texts how common features are, as the value of the option weights: 500 features, from 300 texts';

CREATE AGGREGATE simhash_weights(content text, options jsonb) (
    SFUNC = simhash_weights_add,
    STYPE = internal,
    SSPACE = 10000000,
    FINALFUNC = simhash_weights_final,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE simhash_weights(text, jsonb) IS
    'simhash_weights(text) for fingerprints with options';

CREATE AGGREGATE simhash_weights(content text, options jsonb, features integer, sample integer) (
    SFUNC = simhash_weights_add,
    STYPE = internal,
    SSPACE = 10000000,
    FINALFUNC = simhash_weights_final,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE simhash_weights(text, jsonb, integer, integer) IS
    'simhash_weights(text, jsonb) for that many features, from a sample of that many texts';
