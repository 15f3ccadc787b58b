-- Throughput in SQL over the sets of documents named in :sets, in the tables that load.sql made of them. Medians of
-- :runs runs, in which all expressions take turns. One process, no JIT, everything in memory.
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET client_min_messages = warning;

CREATE TEMPORARY TABLE expressions (position int, name text, expression text);
INSERT INTO expressions VALUES
    (1, 'octet_length', 'sum(octet_length(body))'),        -- the scan alone: reads no text
    (2, 'ascii', 'sum(ascii(body))'),                      -- detoasts the text and looks at one character of it
    (3, 'length', 'sum(length(body))'),
    (4, 'hashtextextended', 'sum(hashtextextended(body, 0))'),
    (5, 'md5', 'sum(length(md5(body)))'),
    (6, 'simhash', 'sum(simhash(body))');

CREATE TEMPORARY TABLE dataset (position serial, name text, storage text, relation regclass, bytes bigint);
CREATE TEMPORARY TABLE measurement (dataset text, storage text, measured text, seconds float8);

SELECT set_config('bench.sets', :'sets', false), set_config('bench.runs', :'runs', false) \g /dev/null

DO $$
DECLARE
    name text;
    storage text;
    relation regclass;
    bytes bigint;
    storage_matters boolean;
    dataset_row record;
    measured_row record;
    started timestamptz;
BEGIN
    FOREACH name IN ARRAY string_to_array(current_setting('bench.sets'), ' ') LOOP
        FOREACH storage IN ARRAY '{pglz,lz4,uncompressed}'::text[] LOOP
            relation := to_regclass(name || '_' || storage);
            CONTINUE WHEN relation IS NULL;
            EXECUTE format('SELECT sum(octet_length(body)), max(octet_length(body)) > 2000 FROM %s', relation)
                INTO bytes, storage_matters;
            IF storage_matters OR storage = 'pglz' THEN
                INSERT INTO dataset (name, storage, relation, bytes) VALUES (name, storage, relation, bytes);
            END IF;
        END LOOP;
    END LOOP;
    FOR run IN 0..current_setting('bench.runs')::int LOOP
        FOR dataset_row IN SELECT * FROM dataset ORDER BY position LOOP
            FOR measured_row IN SELECT * FROM expressions ORDER BY position LOOP
                started := clock_timestamp();
                EXECUTE format('SELECT %s FROM %s', measured_row.expression, dataset_row.relation);
                -- Run 0 warms up.
                IF run > 0 THEN
                    INSERT INTO measurement VALUES (dataset_row.name, dataset_row.storage, measured_row.name,
                        extract(epoch FROM clock_timestamp() - started));
                END IF;
            END LOOP;
        END LOOP;
    END LOOP;
END
$$;

CREATE TEMPORARY VIEW result AS
    SELECT median.*, expression, bytes / 1e6 AS megabytes,
        row_number() OVER (ORDER BY d.position, e.position) AS position,
        max(seconds) FILTER (WHERE measured = 'md5') OVER same AS md5_seconds,
        max(fastest) FILTER (WHERE measured = 'md5') OVER same AS md5_fastest,
        max(seconds) FILTER (WHERE measured = 'ascii') OVER same AS detoast_seconds
    FROM (SELECT dataset, storage, measured, percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) AS seconds,
            min(seconds) AS fastest
        FROM measurement GROUP BY dataset, storage, measured) AS median
        JOIN expressions AS e ON e.name = measured
        JOIN dataset AS d ON d.name = dataset AND d.storage = median.storage
    WINDOW same AS (PARTITION BY dataset, median.storage);

\pset footer off
\echo 'whole statements, SELECT <expression> FROM <set>: median and fastest of' :runs 'runs'
SELECT dataset, storage, expression, round(megabytes, 1) AS "MB", round(seconds::numeric * 1000, 1) AS ms,
    round(fastest::numeric * 1000, 1) AS fastest, round((megabytes / seconds)::numeric) AS "MB/s",
    round((seconds / md5_seconds)::numeric, 2) AS "to md5",
    round((fastest / md5_fastest)::numeric, 2) AS "fastest to md5"
FROM result ORDER BY position;

\echo 'without the scan and the detoasting, which is what ascii() takes'
SELECT dataset, storage, measured, round(((seconds - detoast_seconds) * 1000)::numeric, 1) AS ms,
    round((megabytes / nullif(seconds - detoast_seconds, 0))::numeric) AS "MB/s",
    round(((seconds - detoast_seconds) / (md5_seconds - detoast_seconds))::numeric, 2) AS "to md5"
FROM result WHERE measured NOT IN ('octet_length', 'ascii') ORDER BY position;

\pset tuples_only on
SELECT format('simhash(body) to md5(body), %s, pglz: %s, bar %s: %s', dataset,
    round((seconds / md5_seconds)::numeric, 2), bar,
    CASE WHEN seconds <= bar * md5_seconds THEN 'reached' ELSE 'MISSED' END)
FROM result JOIN (VALUES ('english', 1.2), ('source', 1.2), ('chinese', 2)) AS bars (dataset, bar) USING (dataset)
WHERE measured = 'simhash' AND storage = 'pglz' ORDER BY position;
