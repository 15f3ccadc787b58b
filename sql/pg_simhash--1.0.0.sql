-- The SQL objects of pg_simhash, by topic, in the order of their dependencies.
--
-- No function looks up another by search_path: those in SQL are parsed when they are created, and all others are in C.
-- Functions that read only their arguments are PARALLEL SAFE and, but for simhash_guard_definition, IMMUTABLE. COST is
-- in units of cpu_operator_cost: a fingerprint takes as long as some hundred operator calls.

\echo Use "CREATE EXTENSION pg_simhash" to load this file. \quit

-- Fingerprints, sizes and bands of texts --------------------------------------

CREATE FUNCTION simhash(content text, options jsonb DEFAULT '{}') RETURNS bigint
    AS 'MODULE_PATHNAME', 'simhash_text_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION simhash(text, jsonb) IS
    '64-bit SimHash fingerprint of a text, with the options tokens, ngram, weight, weights, case_fold, seed, markup, ignore, same; NULL without a word';

CREATE FUNCTION simhash_size(content text, options jsonb DEFAULT '{}') RETURNS integer
    AS 'MODULE_PATHNAME', 'simhash_size_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 400;
COMMENT ON FUNCTION simhash_size(text, jsonb) IS
    'part of indexes on texts: the number of words and pairs of neighbouring words that are compared; NULL without a word';

CREATE FUNCTION simhash_band(content text, band integer, options jsonb DEFAULT '{}') RETURNS integer
    AS 'MODULE_PATHNAME', 'simhash_band_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 400;
COMMENT ON FUNCTION simhash_band(text, integer, jsonb) IS
    'part of indexes on texts: band 0 to 63 of a text, a key that texts share the more probably the more they resemble each other, and that texts never share that differ in what must be the same; NULL without a word';

CREATE FUNCTION simhash_of_features(features text[]) RETURNS bigint
    AS 'MODULE_PATHNAME', 'simhash_of_features_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION simhash_of_features(text[]) IS
    'SimHash fingerprint of features of equal weight; one that occurs twice counts twice';

CREATE FUNCTION simhash_of_features(features text[], weights double precision[]) RETURNS bigint
    AS 'MODULE_PATHNAME', 'simhash_weighted_array_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION simhash_of_features(text[], double precision[]) IS
    'SimHash fingerprint of features with their weights, each from 0 to 1e9';

CREATE FUNCTION simhash(document tsvector) RETURNS bigint
    AS 'MODULE_PATHNAME', 'simhash_tsvector_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION simhash(tsvector) IS
    'SimHash fingerprint of lexemes; each weighs the sum of its positions'' labels: D 0.1, C 0.2, B 0.4, A 1.0';

CREATE FUNCTION simhash_features(
    content text, options jsonb DEFAULT '{}',
    OUT feature text, OUT weight double precision, OUT hash bigint
) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'simhash_features_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500 ROWS 200;
COMMENT ON FUNCTION simhash_features(text, jsonb) IS
    'the features that the fingerprint of a text is made of, with their weights and hashes';

CREATE FUNCTION simhash_format() RETURNS integer
    AS 'MODULE_PATHNAME', 'simhash_format_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION simhash_format() IS
    'version of the fingerprint format: fingerprints of different versions cannot be compared';

-- Fingerprints of features in rows --------------------------------------------

CREATE FUNCTION simhash_agg_add(state internal, feature text, weight double precision) RETURNS internal
    AS 'MODULE_PATHNAME', 'simhash_agg_add_wrapper'
    LANGUAGE c IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION simhash_agg_add(internal, text, double precision) IS 'part of simhash_agg: adds a row';

CREATE FUNCTION simhash_agg_combine(state internal, other internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'simhash_agg_combine_wrapper'
    LANGUAGE c IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION simhash_agg_combine(internal, internal) IS 'part of simhash_agg: adds up two states';

CREATE FUNCTION simhash_agg_serialize(state internal) RETURNS bytea
    AS 'MODULE_PATHNAME', 'simhash_agg_serialize_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION simhash_agg_serialize(internal) IS 'part of simhash_agg: a state as bytes';

CREATE FUNCTION simhash_agg_deserialize(bytes bytea, unused internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'simhash_agg_deserialize_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION simhash_agg_deserialize(bytea, internal) IS 'part of simhash_agg: a state from bytes';

CREATE FUNCTION simhash_agg_final(state internal) RETURNS bigint
    AS 'MODULE_PATHNAME', 'simhash_agg_final_wrapper'
    LANGUAGE c IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION simhash_agg_final(internal) IS 'part of simhash_agg: the fingerprint of a state';

CREATE AGGREGATE simhash_agg(feature text, weight double precision) (
    SFUNC = simhash_agg_add,
    STYPE = internal,
    SSPACE = 1024,
    FINALFUNC = simhash_agg_final,
    COMBINEFUNC = simhash_agg_combine,
    SERIALFUNC = simhash_agg_serialize,
    DESERIALFUNC = simhash_agg_deserialize,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE simhash_agg(text, double precision) IS
    'SimHash fingerprint of the features in a group of rows; rows with a NULL are left out';

-- Weights of features ---------------------------------------------------------

-- Without a combine function, one process reads all texts: few are needed, and a worker's state would be its whole
-- sample. The transition function is not STRICT: it leaves out a NULL text. An aggregate's arguments have no defaults.

CREATE FUNCTION simhash_weights_add(state internal, content text, options jsonb) RETURNS internal
    AS 'MODULE_PATHNAME', 'simhash_weights_add_wrapper'
    LANGUAGE c IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION simhash_weights_add(internal, text, jsonb) IS 'part of simhash_weights: adds a text';

CREATE FUNCTION simhash_weights_final(state internal) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'simhash_weights_final_wrapper'
    LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100000;
COMMENT ON FUNCTION simhash_weights_final(internal) IS 'part of simhash_weights: learns weights from the sample';

CREATE AGGREGATE simhash_weights(content text, options jsonb) (
    SFUNC = simhash_weights_add,
    STYPE = internal,
    SSPACE = 10000000,
    FINALFUNC = simhash_weights_final,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE simhash_weights(text, jsonb) IS
    'learns from texts how common features are, as the value of the option weights: about 110 features, from 300 texts';

-- Distance and resemblance ----------------------------------------------------

CREATE FUNCTION simhash_near_support(request internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'simhash_near_support_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION simhash_near_support(internal) IS
    'part of functions of near rows: lets the planner find them, and the nearest, by indexes on bands and blocks';

CREATE FUNCTION hamming(a bigint, b bigint) RETURNS integer
    AS 'MODULE_PATHNAME', 'hamming_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE LEAKPROOF SUPPORT simhash_near_support;
COMMENT ON FUNCTION hamming(bigint, bigint) IS
    'Hamming distance: the number of bits, 0 to 64, in which two fingerprints differ';

CREATE OPERATOR <~> (
    LEFTARG = bigint,
    RIGHTARG = bigint,
    FUNCTION = hamming,
    COMMUTATOR = <~>
);
COMMENT ON OPERATOR <~> (bigint, bigint) IS 'Hamming distance';

CREATE FUNCTION hamming(a bigint[], b bigint[]) RETURNS integer
    AS 'MODULE_PATHNAME', 'hamming_arrays_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 2;
COMMENT ON FUNCTION hamming(bigint[], bigint[]) IS
    'sum of the Hamming distances of the elements; NULL for arrays without elements';

CREATE OPERATOR <~> (
    LEFTARG = bigint[],
    RIGHTARG = bigint[],
    FUNCTION = hamming,
    COMMUTATOR = <~>
);
COMMENT ON OPERATOR <~> (bigint[], bigint[]) IS 'sum of the Hamming distances of the elements';

-- This reads two texts, so it takes as long as two fingerprints.
CREATE FUNCTION simhash_resemblance(a text, b text, options jsonb DEFAULT '{}') RETURNS double precision
    AS 'MODULE_PATHNAME', 'simhash_resemblance_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 400;
COMMENT ON FUNCTION simhash_resemblance(text, text, jsonb) IS
    'Jaccard resemblance, 0 to 1, of two texts by words and pairs of neighbouring words; NULL if one has no word';

CREATE FUNCTION simhash_containment(a text, b text, options jsonb DEFAULT '{}') RETURNS double precision
    AS 'MODULE_PATHNAME', 'simhash_containment_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 400;
COMMENT ON FUNCTION simhash_containment(text, text, jsonb) IS
    'share, 0 to 1, of the words and pairs of neighbouring words of text a that text b has too; NULL if a has no word';

CREATE FUNCTION simhash_difference(
    a text, b text, options jsonb DEFAULT '{}',
    OUT side text, OUT feature text, OUT weight double precision
) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'simhash_difference_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1000 ROWS 20;
COMMENT ON FUNCTION simhash_difference(text, text, jsonb) IS
    'the features that weigh more in one of two texts than in the other, a or b, and by how much';

CREATE FUNCTION simhash_explain(
    a text, b text, criterion jsonb DEFAULT '{}',
    OUT what text, OUT in_a text, OUT in_b text, OUT found text, OUT required text, OUT holds boolean
) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'simhash_explain_wrapper'
    LANGUAGE c IMMUTABLE PARALLEL SAFE COST 4000 ROWS 7;
COMMENT ON FUNCTION simhash_explain(text, text, jsonb) IS
    'why simhash_near takes two texts for near-duplicates or not: what it looks at, what that must be, and its answer';

-- Passages --------------------------------------------------------------------

CREATE FUNCTION simhash_passages(content text, options jsonb DEFAULT '{}') RETURNS bigint[]
    AS 'MODULE_PATHNAME', 'simhash_passages_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION simhash_passages(text, jsonb) IS
    'hashes of runs of words, for a GIN index: two texts with 11 words in a row in common have one in common';

-- COST is low, because the runs of the last clue are cached.
CREATE FUNCTION simhash_clue(
    clue text, share double precision DEFAULT 0, options jsonb DEFAULT '{}'
) RETURNS bigint[]
    AS 'MODULE_PATHNAME', 'simhash_clue_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION simhash_clue(text, double precision, jsonb) IS
    'part of simhash_contains: what can be a passage of a text with at least this share of a clue';

-- COST is more than that of simhash_passages and simhash_clue together, so that those are compared first.
CREATE FUNCTION simhash_coverage(content text, clue text, options jsonb DEFAULT '{}') RETURNS double precision
    AS 'MODULE_PATHNAME', 'simhash_coverage_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 600;
COMMENT ON FUNCTION simhash_coverage(text, text, jsonb) IS
    'share, 0 to 1, of a clue''s words that are in matches with a text; NULL without a word';

CREATE FUNCTION simhash_matches(
    content text, clue text, options jsonb DEFAULT '{}',
    OUT content_position integer, OUT content_length integer, OUT clue_position integer, OUT clue_length integer,
    OUT words integer, OUT changed integer
) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'simhash_matches_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1000 ROWS 3;
COMMENT ON FUNCTION simhash_matches(text, text, jsonb) IS
    'where a text and a clue have at least three words in a row in common, in characters, and how many words between them are changed';

CREATE FUNCTION simhash_headline(
    content text, clue text, headline text DEFAULT '', options jsonb DEFAULT '{}'
) RETURNS text
    AS 'MODULE_PATHNAME', 'simhash_headline_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1500;
COMMENT ON FUNCTION simhash_headline(text, text, text, jsonb) IS
    'a text, or fragments of it, with the matches of a clue marked; the parameters are those of ts_headline';

-- PostgreSQL inlines this function, and so finds an index on simhash_passages(content). It would not inline it if it
-- were STRICT.
CREATE FUNCTION simhash_contains(
    content text, clue text, share double precision DEFAULT .6, options jsonb DEFAULT '{}'
) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 1200
    RETURN simhash_passages(content, options) OPERATOR(pg_catalog.&&) simhash_clue(clue, share, options)
        AND simhash_coverage(content, clue, options) OPERATOR(pg_catalog.>=) share;
COMMENT ON FUNCTION simhash_contains(text, text, double precision, jsonb) IS
    'whether a text has at least this share of a clue; a GIN index on simhash_passages(content) serves it';

-- Blocks ----------------------------------------------------------------------

CREATE FUNCTION simhash_block_support(request internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'simhash_block_support_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION simhash_block_support(internal) IS
    'part of simhash_block: reports, at plan time, a layout that does not exist';

CREATE FUNCTION simhash_block(fingerprint bigint, block integer, blocks integer DEFAULT 4) RETURNS integer
    AS 'MODULE_PATHNAME', 'simhash_block_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE LEAKPROOF SUPPORT simhash_block_support;
COMMENT ON FUNCTION simhash_block(bigint, integer, integer) IS
    'part of block indexes: a block of a fingerprint cut into 2 to 8 blocks; block 0 is the most significant; NULL if data names no such block';

-- Fingerprints of other programs ----------------------------------------------

-- The support function distinguishes it from functions of other extensions with the same name.
CREATE FUNCTION simhash_from_hex(digits text) RETURNS bigint
    AS 'MODULE_PATHNAME', 'simhash_from_hex_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE SUPPORT simhash_block_support;
COMMENT ON FUNCTION simhash_from_hex(text) IS
    'the fingerprint in 16 hexadecimal digits, as (''x'' || digits)::bit(64) reads them; NULL where that is an error';

CREATE FUNCTION simhash_from_unsigned(number numeric) RETURNS bigint
    AS 'MODULE_PATHNAME', 'simhash_from_unsigned_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION simhash_from_unsigned(numeric) IS
    'the fingerprint that other systems have as an unsigned number, 0 to 2^64 - 1: the same 64 bits';

-- Search ----------------------------------------------------------------------

CREATE FUNCTION simhash_near(fingerprint bigint, query bigint, max_distance integer DEFAULT 3) RETURNS boolean
    AS 'MODULE_PATHNAME', 'simhash_near_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE LEAKPROOF SUPPORT simhash_near_support;
COMMENT ON FUNCTION simhash_near(bigint, bigint, integer) IS
    'whether two fingerprints differ in at most max_distance bits; a table with indexed blocks is searched by them';

-- Two texts take as long as two fingerprints, and two comparisons.
CREATE FUNCTION simhash_near(content text, query text, criterion jsonb DEFAULT '{}') RETURNS boolean
    AS 'MODULE_PATHNAME', 'simhash_near_texts_jsonb_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 600 SUPPORT simhash_near_support;
COMMENT ON FUNCTION simhash_near(text, text, jsonb) IS
    'whether two texts are near-duplicates by a criterion; a table with indexed bands of one of them is searched by these';

-- Without this overload, simhash_near('one text', 'another', '{"resemblance": 0.9}') and simhash_near($1, $2, $3) would
-- be ambiguous.
CREATE FUNCTION simhash_near(content text, query text, criterion text) RETURNS boolean
    AS 'MODULE_PATHNAME', 'simhash_near_texts_text_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 600 SUPPORT simhash_near_support;
COMMENT ON FUNCTION simhash_near(text, text, text) IS
    'simhash_near(text, text, jsonb) for literals and parameters of no declared type';

-- Indexes ---------------------------------------------------------------------

CREATE FUNCTION simhash_index(
    target regclass, source text, options jsonb DEFAULT NULL, bands integer DEFAULT 6, scope text[] DEFAULT '{}'
) RETURNS void
    AS 'MODULE_PATHNAME', 'simhash_index_wrapper'
    LANGUAGE c VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION simhash_index(regclass, text, jsonb, integer, text[]) IS
    'gives a table the indexes by which near texts are found: a btree on each band of a column or an expression';

CREATE FUNCTION simhash_index_commands(
    target regclass, source text, options jsonb DEFAULT NULL, bands integer DEFAULT 6, scope text[] DEFAULT '{}'
) RETURNS SETOF text
    AS 'MODULE_PATHNAME', 'simhash_index_commands_wrapper'
    LANGUAGE c VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION simhash_index_commands(regclass, text, jsonb, integer, text[]) IS
    'lists commands that build the indexes of simhash_index concurrently, and runs none of them: psql''s \gexec does';

-- Block columns ---------------------------------------------------------------

CREATE FUNCTION simhash_attach(
    target regclass, source name, options jsonb DEFAULT NULL, blocks integer DEFAULT 4, scope text[] DEFAULT '{}',
    prefix name DEFAULT 'simhash'
) RETURNS void
    AS 'MODULE_PATHNAME', 'simhash_attach_wrapper'
    LANGUAGE c VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION simhash_attach(regclass, name, jsonb, integer, text[], name) IS
    'gives a table the fingerprint column of a source column, its block columns and a btree on each; or, for a column of fingerprints, btrees on expressions alone';

CREATE FUNCTION simhash_detach(target regclass, prefix name DEFAULT 'simhash') RETURNS void
    AS 'MODULE_PATHNAME', 'simhash_detach_wrapper'
    LANGUAGE c VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION simhash_detach(regclass, name) IS
    'takes away what simhash_attach made, and only that';

-- Layouts ---------------------------------------------------------------------

-- This reads the table as its owner, so it is not PARALLEL SAFE.
CREATE FUNCTION simhash_layouts(
    target regclass, fingerprint name DEFAULT 'simhash', max_distance integer DEFAULT 3, scope text[] DEFAULT '{}',
    OUT blocks integer, OUT indexed boolean, OUT probes bigint, OUT commonest double precision[],
    OUT candidates double precision, OUT worst double precision, OUT cost double precision, OUT best boolean
) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'simhash_layouts_wrapper'
    LANGUAGE c STABLE PARALLEL UNSAFE COST 100000 ROWS 10;
COMMENT ON FUNCTION simhash_layouts(regclass, name, integer, text[]) IS
    'what searches of a table within a distance cost, by the number of blocks';

-- Deduplication on insert -----------------------------------------------------

CREATE FUNCTION simhash_dedup() RETURNS trigger
    AS 'MODULE_PATHNAME', 'simhash_dedup_wrapper'
    LANGUAGE c VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION simhash_dedup() IS
    'part of simhash_guard: the trigger; arguments: action, criterion, source, mark, scope, conditions';

CREATE FUNCTION simhash_guard(
    target regclass, action text DEFAULT NULL, criterion jsonb DEFAULT NULL, scope text[] DEFAULT NULL,
    among text DEFAULT NULL, mark_column name DEFAULT NULL, source text DEFAULT NULL, unless text DEFAULT NULL
) RETURNS void
    AS 'MODULE_PATHNAME', 'simhash_guard_wrapper'
    LANGUAGE c VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION simhash_guard(regclass, text, jsonb, text[], text, name, text, text) IS
    'lets no near-duplicate into a table from now on: reject (the default), skip or mark; or changes what is given of its guard';

-- All users may call these: the catalogs of triggers, with their arguments, are public, as pg_get_triggerdef is. A
-- trigger of a partition that is a clone belongs to the guard of its root.
CREATE FUNCTION simhash_guard_definition(arguments bytea) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'simhash_guard_definition_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION simhash_guard_definition(bytea) IS
    'part of simhash_guards: the arguments of a guard''s trigger as a document';
CREATE FUNCTION simhash_guard_error(
    target regclass, arguments bytea, type smallint, conditional boolean, enabled "char", name name
) RETURNS text
    AS 'MODULE_PATHNAME', 'simhash_guard_error_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION simhash_guard_error(regclass, bytea, smallint, boolean, "char", name) IS
    'part of simhash_guards: why a guard does not decide about rows, by its trigger and tried on the first row of its table';
CREATE FUNCTION simhash_guards(
    OUT target regclass, OUT guard name, OUT action text, OUT criterion jsonb, OUT source text, OUT scope text[],
    OUT mark_column name, OUT among text, OUT unless text, OUT enabled "char", OUT error text
) RETURNS SETOF record
    LANGUAGE sql STABLE PARALLEL UNSAFE ROWS 10
    BEGIN ATOMIC
        SELECT t.tgrelid::pg_catalog.regclass, t.tgname, d.action, d.criterion, d.source, d.scope, d.mark_column,
            d.among, d.unless, t.tgenabled,
            coalesce(d.error, simhash_guard_error(
                t.tgrelid::pg_catalog.regclass, t.tgargs, t.tgtype,
                t.tgqual IS NOT NULL OR pg_catalog.cardinality(t.tgattr::pg_catalog.int2[]) OPERATOR(pg_catalog.>) 0,
                t.tgenabled, t.tgname))
        FROM pg_catalog.pg_trigger AS t,
            pg_catalog.jsonb_to_record(simhash_guard_definition(t.tgargs)) AS d (
                action text, criterion jsonb, source text, scope text[], mark_column name, among text, unless text,
                error text
            )
        WHERE t.tgfoid OPERATOR(pg_catalog.=) 'simhash_dedup()'::pg_catalog.regprocedure::pg_catalog.oid
            -- Without the clones in partitions, except those that were enabled or disabled by themselves.
            AND (t.tgparentid OPERATOR(pg_catalog.=) 0::pg_catalog.oid OR t.tgenabled OPERATOR(pg_catalog.<>) (
                SELECT p.tgenabled FROM pg_catalog.pg_trigger AS p WHERE p.oid OPERATOR(pg_catalog.=) t.tgparentid))
        ORDER BY t.tgrelid, t.tgname;
    END;
COMMENT ON FUNCTION simhash_guards() IS
    'the guards of the database: what each does, and by which criterion; or why it does not decide about rows';

CREATE FUNCTION simhash_preview(
    target regclass, criterion jsonb DEFAULT '{}', scope text[] DEFAULT '{}', among text DEFAULT NULL,
    source text DEFAULT NULL, unless text DEFAULT NULL, sample integer DEFAULT 5000,
    OUT resemblance double precision, OUT distance integer, OUT duplicate boolean, OUT rows bigint,
    OUT share double precision, OUT example text, OUT earlier text, OUT example_text text, OUT earlier_text text
) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'simhash_preview_wrapper'
    LANGUAGE c VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 10;
COMMENT ON FUNCTION simhash_preview(regclass, jsonb, text[], text, text, text, integer) IS
    'what a guard would find among a sample of a table''s rows, by resemblance in steps of .05 or by distance, with examples';

CREATE FUNCTION simhash_unguard(target regclass) RETURNS void
    AS 'MODULE_PATHNAME', 'simhash_unguard_wrapper'
    LANGUAGE c VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION simhash_unguard(regclass) IS 'takes the guard of a table away';

-- Pairs and clusters ----------------------------------------------------------

CREATE FUNCTION simhash_pairs(ids anyarray, fingerprints bigint[], max_distance integer DEFAULT 3)
    RETURNS TABLE (a anyelement, b anyelement, distance integer)
    AS 'MODULE_PATHNAME', 'simhash_pairs_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100000 ROWS 1000;
COMMENT ON FUNCTION simhash_pairs(anyarray, bigint[], integer) IS
    'every pair of fingerprints within the distance, each once, by the ids that stand in the same places';

CREATE FUNCTION simhash_components(a anyarray, b anyarray)
    RETURNS TABLE (id anyelement, component anyelement)
    AS 'MODULE_PATHNAME', 'simhash_components_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100000 ROWS 1000;
COMMENT ON FUNCTION simhash_components(anyarray, anyarray) IS
    'the connected components of pairs of ids: each id once, with the smallest id of its component';

-- PostgreSQL calls a window function for every row, NULL or not, so these handle NULLs themselves. Each returns the key
-- of a row, its first argument.
CREATE FUNCTION simhash_cluster(key anyelement, fingerprint bigint, max_distance integer DEFAULT 3)
    RETURNS anyelement
    AS 'MODULE_PATHNAME', 'simhash_cluster_wrapper'
    LANGUAGE c WINDOW IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION simhash_cluster(anyelement, bigint, integer) IS
    'the cluster of near fingerprints that a row is in: the key of its first row in the partition';

CREATE FUNCTION simhash_cluster(key anyelement, content text, criterion jsonb DEFAULT '{}')
    RETURNS anyelement
    AS 'MODULE_PATHNAME', 'simhash_cluster_texts_wrapper'
    LANGUAGE c WINDOW IMMUTABLE PARALLEL SAFE COST 400 SUPPORT simhash_near_support;
COMMENT ON FUNCTION simhash_cluster(anyelement, text, jsonb) IS
    'the cluster of near-duplicates that a row is in: the key of its first row in the partition';

CREATE FUNCTION simhash_duplicate_of(key anyelement, content text, criterion jsonb DEFAULT '{}')
    RETURNS anyelement
    AS 'MODULE_PATHNAME', 'simhash_duplicate_of_wrapper'
    LANGUAGE c WINDOW IMMUTABLE PARALLEL SAFE COST 400 SUPPORT simhash_near_support;
COMMENT ON FUNCTION simhash_duplicate_of(anyelement, text, jsonb) IS
    'the key of the earlier row that stays and that a row duplicates; NULL if the row itself stays';
