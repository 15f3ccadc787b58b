-- Throughput in SQL over the sets of documents named in :sets, in the tables that load.sql made of them. Medians of
-- :runs runs, in which all expressions take turns. One process, no JIT, everything in memory.
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET client_min_messages = warning;

CREATE TEMPORARY TABLE expressions (position integer, name text, expression text);
INSERT INTO expressions VALUES
    (1, 'octet_length', 'sum(octet_length(body))'),        -- the scan alone: reads no text
    (2, 'ascii', 'sum(ascii(body))'),                      -- detoasts the text and looks at one character of it
    (3, 'length', 'sum(length(body))'),
    (4, 'hashtextextended', 'sum(hashtextextended(body, 0))'),
    (5, 'md5', 'sum(length(md5(body)))'),
    (6, 'simhash', 'sum(simhash(body))');

CREATE TEMPORARY TABLE sets (position serial, name text, storage text, relation regclass, bytes bigint);
CREATE TEMPORARY TABLE measurements (set_name text, storage text, measured text, seconds float8);

-- Of a set without long texts, which are the only ones to be compressed, only one table is measured.
-- HAVING without GROUP BY: inserts a row or none.
SELECT format('INSERT INTO sets (name, storage, relation, bytes) SELECT %1$L, %2$L, %3$L, sum(octet_length(body))'
    ' FROM %3$s HAVING %2$L = ''pglz'' OR max(octet_length(body)) > 2000', name, storage, relation)
FROM string_to_table(:'sets', ' ') WITH ORDINALITY AS names (name, name_position),
    unnest('{pglz,lz4,uncompressed}'::text[]) WITH ORDINALITY AS storages (storage, storage_position),
    to_regclass(name || '_' || storage) AS relation
WHERE relation IS NOT NULL ORDER BY name_position, storage_position \gexec

-- psql replaces no variable within $$.
SELECT set_config('bench.runs', :'runs', false) \g /dev/null

DO $$
DECLARE
    chosen record;
    started timestamptz;
BEGIN
    FOR run IN 0..current_setting('bench.runs')::integer LOOP
        FOR chosen IN SELECT sets.name AS set_name, storage, relation, expressions.name AS measured, expression
            FROM sets CROSS JOIN expressions ORDER BY sets.position, expressions.position LOOP
            started := clock_timestamp();
            EXECUTE format('SELECT %s FROM %s', chosen.expression, chosen.relation);
            -- Run 0 warms up.
            IF run > 0 THEN
                INSERT INTO measurements VALUES (chosen.set_name, chosen.storage, chosen.measured,
                    extract(epoch FROM clock_timestamp() - started));
            END IF;
        END LOOP;
    END LOOP;
END
$$;

CREATE TEMPORARY VIEW results AS
    SELECT medians.*, expression, bytes / 1e6 AS megabytes,
        row_number() OVER (ORDER BY sets.position, expressions.position) AS position,
        max(seconds) FILTER (WHERE measured = 'md5') OVER same_set AS md5_seconds,
        max(fastest) FILTER (WHERE measured = 'md5') OVER same_set AS md5_fastest,
        max(seconds) FILTER (WHERE measured = 'ascii') OVER same_set AS detoast_seconds
    FROM (SELECT set_name, storage, measured, percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) AS seconds,
            min(seconds) AS fastest
        FROM measurements GROUP BY set_name, storage, measured) AS medians
        JOIN expressions ON expressions.name = measured
        JOIN sets ON sets.name = set_name AND sets.storage = medians.storage
    WINDOW same_set AS (PARTITION BY set_name, medians.storage);

\pset footer off
\echo 'whole statements, SELECT <expression> FROM <set>: median and fastest of' :runs 'runs'
SELECT set_name, storage, expression, round(megabytes, 1) AS "MB", round(seconds::numeric * 1000, 1) AS ms,
    round(fastest::numeric * 1000, 1) AS fastest, round((megabytes / seconds)::numeric) AS "MB/s",
    round((seconds / md5_seconds)::numeric, 2) AS "to md5",
    round((fastest / md5_fastest)::numeric, 2) AS "fastest to md5"
FROM results ORDER BY position;

\echo 'without the scan and the detoasting, which is what ascii() takes'
SELECT set_name, storage, measured, round(((seconds - detoast_seconds) * 1000)::numeric, 1) AS ms,
    round((megabytes / nullif(seconds - detoast_seconds, 0))::numeric) AS "MB/s",
    round(((seconds - detoast_seconds) / (md5_seconds - detoast_seconds))::numeric, 2) AS "to md5"
FROM results WHERE measured NOT IN ('octet_length', 'ascii') ORDER BY position;

\pset tuples_only on
-- The bars, as ratios to md5. Sets that are not named here have none.
SELECT format('simhash(body) to md5(body), %s, pglz: %s, bar %s: %s', set_name,
    round((seconds / md5_seconds)::numeric, 2), bar,
    CASE WHEN seconds <= bar * md5_seconds THEN 'reached' ELSE 'MISSED' END)
FROM results JOIN (VALUES ('english', 1.2), ('source', 1.2), ('chinese', 2)) AS bars (set_name, bar) USING (set_name)
WHERE measured = 'simhash' AND storage = 'pglz' ORDER BY position;
