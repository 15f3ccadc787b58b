-- Functions that may run for a long time notice that the query is cancelled. PostgreSQL itself only looks between rows.
--
-- An argument of the call cancels the query. The function that follows the call in the same row must not be reached.
-- The first row is the control: short functions of PostgreSQL end first.
CREATE SEQUENCE after_call;
CREATE FUNCTION is_cancelled(call text, source text DEFAULT '') RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM setval('after_call', 1, false);
    call := replace(call, 'CANCEL', 'pg_cancel_backend(pg_backend_pid())');
    EXECUTE format('SELECT %s, nextval(''after_call'') %s', call, source);
    RETURN NULL;
EXCEPTION WHEN query_canceled THEN
    RETURN (SELECT NOT is_called FROM after_call);
END $$;
SELECT is_cancelled('upper(CASE WHEN CANCEL THEN ''text'' END)') AS function,
    is_cancelled('generate_series(1, CASE WHEN CANCEL THEN 1 END)') AS set,
    is_cancelled('last_value(CASE WHEN n < 9 OR CANCEL THEN n END) OVER ()', 'FROM generate_series(1, 9) AS n')
        AS window;

\set text 'CASE WHEN CANCEL THEN repeat(''ab '', 1000000) END'
SELECT is_cancelled(format('simhash(%s)', :'text')) AS simhash,
    is_cancelled(format('simhash(%s, ''{"tokens": "chars", "ngram": 16}'')', :'text')) AS chars,
    is_cancelled(format('simhash_features(%s)', :'text')) AS simhash_features,
    is_cancelled(format('simhash_resemblance(''ab'', %s)', :'text')) AS simhash_resemblance,
    is_cancelled(format('simhash_resemblance(%s, ''ab'')', :'text')) AS long_first,
    is_cancelled(format('simhash_passages(%s)', replace(:'text', 'ab ', 'one two three four five ')))
        AS simhash_passages,
    is_cancelled(format('simhash_matches(%s, ''ab ab'')', :'text')) AS simhash_matches,
    is_cancelled(format('simhash_coverage(%s, ''ab ab ab'')', :'text')) AS simhash_coverage,
    is_cancelled(format('simhash_headline(%s, ''ab ab ab'')', :'text')) AS simhash_headline;

-- Pairs, components and clusters of numbers and of texts.
CREATE FUNCTION many(OUT ids bigint[], OUT fps bigint[], OUT texts text[]) LANGUAGE sql AS
    'SELECT array_agg(n), array_agg(hashint8extended(n, 0)), array_agg(md5(n::text))
    FROM generate_series(1, 100000) AS n';
\set many 'FROM many()'
SELECT is_cancelled('simhash_pairs(ids, CASE WHEN CANCEL THEN fps END, 19)', :'many') AS simhash_pairs,
    is_cancelled('simhash_pairs(texts, CASE WHEN CANCEL THEN fps END, 3)', :'many') AS pairs_of_texts,
    is_cancelled('simhash_components(ids, CASE WHEN CANCEL THEN ids END)', :'many') AS simhash_components,
    is_cancelled('simhash_components(texts, CASE WHEN CANCEL THEN texts END)', :'many') AS components_of_texts;
-- The last fingerprint, or the last text, that is read cancels the query.
\set rows 'FROM generate_series(1, 1000) AS n'
SELECT is_cancelled('simhash_cluster(n, CASE WHEN n < 1000 OR CANCEL THEN n::bigint END) OVER ()', :'rows')
    AS simhash_cluster,
    is_cancelled('simhash_cluster(n, CASE WHEN n < 1000 OR CANCEL THEN md5(n::text) END) OVER ()', :'rows')
        AS clusters_of_texts,
    is_cancelled('simhash_duplicate_of(n, CASE WHEN n < 1000 OR CANCEL THEN md5(n::text) END) OVER ()', :'rows')
        AS simhash_duplicate_of;
-- The first comparison of two ids cancels the query. simhash_components notices it before the next one: the context of
-- the error does not name the function that compares them.
CREATE TYPE slow_id AS (n integer);
CREATE FUNCTION compare(a slow_id, b slow_id) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
    RETURN CASE WHEN pg_cancel_backend(pg_backend_pid()) THEN btint4cmp(a.n, b.n) END;
END $$;
CREATE FUNCTION is_less(a slow_id, b slow_id) RETURNS boolean LANGUAGE sql RETURN compare(a, b) < 0;
CREATE OPERATOR < (LEFTARG = slow_id, RIGHTARG = slow_id, FUNCTION = is_less);
CREATE OPERATOR CLASS slow_id DEFAULT FOR TYPE slow_id USING btree AS OPERATOR 1 <,
    FUNCTION 1 compare(slow_id, slow_id);
DO $$
DECLARE context text;
BEGIN
    PERFORM simhash_components(array_agg(ROW(n)::slow_id), array_agg(ROW(n + 1)::slow_id))
    FROM generate_series(1, 9) AS n;
EXCEPTION WHEN query_canceled THEN
    GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
    RAISE WARNING 'cancelled within compare: %', context LIKE '%compare%';
END $$;
