-- Throughput in SQL over the sets of documents named in :sets, in the tables that load.sql made of them. Medians of
-- :runs runs, in which all ways take turns. One process, no JIT, everything in memory.
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET client_min_messages = warning;

CREATE TEMPORARY TABLE way (position int, name text, expression text);
INSERT INTO way VALUES
    (1, 'octet_length', 'sum(octet_length(body))'),        -- the scan alone: reads no text
    (2, 'ascii', 'sum(ascii(body))'),                      -- detoasts the text and looks at one character of it
    (3, 'length', 'sum(length(body))'),
    (4, 'hashtextextended', 'sum(hashtextextended(body, 0))'),
    (5, 'md5', 'sum(length(md5(body)))'),
    (6, 'simhash', 'sum(simhash(body))');

CREATE TEMPORARY TABLE dataset (position serial, name text, storage text, relation regclass, bytes bigint);
CREATE TEMPORARY TABLE measurement (dataset text, storage text, way text, seconds float8);

SELECT set_config('bench.sets', :'sets', false), set_config('bench.runs', :'runs', false) \g /dev/null

DO $$
DECLARE
    name text;
    storage text;
    relation regclass;
    bytes bigint;
    storage_matters boolean;
    d record;
    w record;
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
        FOR d IN SELECT * FROM dataset ORDER BY position LOOP
            FOR w IN SELECT * FROM way ORDER BY position LOOP
                started := clock_timestamp();
                EXECUTE format('SELECT %s FROM %s', w.expression, d.relation);
                -- Run 0 warms up.
                IF run > 0 THEN
                    INSERT INTO measurement
                        VALUES (d.name, d.storage, w.name, extract(epoch FROM clock_timestamp() - started));
                END IF;
            END LOOP;
        END LOOP;
    END LOOP;
END
$$;

CREATE TEMPORARY VIEW result AS
    SELECT dataset, storage, way, percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) AS seconds, min(seconds) AS fastest
    FROM measurement GROUP BY dataset, storage, way;

\pset footer off
\echo 'whole statements, SELECT <way> FROM <set>: median and fastest of' :runs 'runs'
SELECT r.dataset, r.storage, w.expression AS way, round(bytes / 1e6, 1) AS "MB",
    round(r.seconds::numeric * 1000, 1) AS ms, round(r.fastest::numeric * 1000, 1) AS fastest,
    round((bytes / 1e6 / r.seconds)::numeric) AS "MB/s",
    round((r.seconds / md5.seconds)::numeric, 2) AS "to md5",
    round((r.fastest / md5.fastest)::numeric, 2) AS "fastest"
FROM result r
    JOIN way w ON w.name = r.way
    JOIN dataset d ON d.name = r.dataset AND d.storage = r.storage
    JOIN result md5 ON md5.dataset = r.dataset AND md5.storage = r.storage AND md5.way = 'md5'
ORDER BY d.position, w.position;

\echo 'without the scan and the detoasting, which is what ascii() takes'
SELECT r.dataset, r.storage, r.way, round(((r.seconds - detoast.seconds) * 1000)::numeric, 1) AS ms,
    round((bytes / 1e6 / nullif(r.seconds - detoast.seconds, 0))::numeric) AS "MB/s",
    round(((r.seconds - detoast.seconds) / (md5.seconds - detoast.seconds))::numeric, 2) AS "to md5"
FROM result r
    JOIN way w ON w.name = r.way AND w.position > 2
    JOIN dataset d ON d.name = r.dataset AND d.storage = r.storage
    JOIN result md5 ON md5.dataset = r.dataset AND md5.storage = r.storage AND md5.way = 'md5'
    JOIN result detoast ON detoast.dataset = r.dataset AND detoast.storage = r.storage AND detoast.way = 'ascii'
ORDER BY d.position, w.position;

\pset tuples_only on
SELECT format('simhash(body) to md5(body), %s, pglz: %s, bar %s: %s', r.dataset,
    round((r.seconds / md5.seconds)::numeric, 2), bar,
    CASE WHEN r.seconds <= bar * md5.seconds THEN 'reached' ELSE 'MISSED' END)
FROM result r
    JOIN dataset d ON d.name = r.dataset AND d.storage = r.storage
    JOIN result md5 ON md5.dataset = r.dataset AND md5.storage = r.storage AND md5.way = 'md5'
    JOIN (VALUES ('english', 1.2), ('source', 1.2), ('chinese', 2)) AS bars (dataset, bar) ON bars.dataset = r.dataset
WHERE r.way = 'simhash' AND r.storage = 'pglz'
ORDER BY d.position;
