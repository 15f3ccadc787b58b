-- What the generated columns cost: the documents of the table pages, inserted into a table without a fingerprint, with
-- one, and with one and its four block columns. No indexes. Medians of :runs runs, in which the tables take turns. The
-- documents come
--   select   from a warm table, as they are stored there: those of more than 2 kB compressed
--   copy     from COPY, read from the file :file on the server: plain text that is yet to be compressed, as from a client
-- into unlogged and into logged tables.
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET client_min_messages = warning;

CREATE TEMPORARY TABLE target (position int, name text, columns text);
INSERT INTO target VALUES
    (1, 'none', 'id bigint, body text'),
    (2, 'fingerprint', 'id bigint, body text, simhash bigint GENERATED ALWAYS AS (simhash(body)) STORED'),
    (3, 'blocks', 'id bigint, body text, simhash bigint GENERATED ALWAYS AS (simhash(body)) STORED'
        || (SELECT string_agg(format(', simhash_block%1$s integer'
            ' GENERATED ALWAYS AS (simhash_block(simhash(body), %1$s)) STORED', i), '') FROM generate_series(0, 3) AS i));

CREATE TEMPORARY TABLE source (position int, name text, statement text);
INSERT INTO source VALUES
    (1, 'select', 'INSERT INTO target_%s SELECT id, body FROM pages'),
    (2, 'copy', format('COPY target_%%s (id, body) FROM %L', :'file'));

CREATE TEMPORARY TABLE measurement (source text, persistence text, target text, seconds float8);
SELECT set_config('bench.runs', :'runs', false) \g /dev/null

COPY pages TO :'file';

CREATE PROCEDURE measure_inserts() LANGUAGE plpgsql AS $$
DECLARE
    s record;
    t record;
    persistence text;
    started timestamptz;
BEGIN
    FOR run IN 0..current_setting('bench.runs')::int LOOP
        FOR s IN SELECT * FROM source ORDER BY position LOOP
            FOREACH persistence IN ARRAY '{unlogged,logged}'::text[] LOOP
                -- Compressing takes so much longer than all else that one kind of table tells enough.
                CONTINUE WHEN persistence = 'logged' AND s.name <> 'select';
                FOR t IN SELECT * FROM target ORDER BY position LOOP
                    EXECUTE format('CREATE %s TABLE target_%s (%s)',
                        CASE persistence WHEN 'unlogged' THEN 'UNLOGGED' ELSE '' END, t.name, t.columns);
                    COMMIT;
                    started := clock_timestamp();
                    EXECUTE format(s.statement, t.name);
                    -- Run 0 warms up.
                    IF run > 0 THEN
                        INSERT INTO measurement VALUES
                            (s.name, persistence, t.name, extract(epoch FROM clock_timestamp() - started));
                    END IF;
                    COMMIT;
                    EXECUTE format('DROP TABLE target_%s', t.name);
                    -- Nobody's run pays for writing out another's pages.
                    COMMIT;
                    CHECKPOINT;
                END LOOP;
            END LOOP;
        END LOOP;
    END LOOP;
END
$$;
CALL measure_inserts();

CREATE TEMPORARY VIEW result AS
    SELECT source, persistence, target, percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) AS seconds,
        min(seconds) AS fastest
    FROM measurement GROUP BY source, persistence, target;

\pset footer off
SELECT count(*) AS documents, round(sum(octet_length(body)) / 1e6, 1) AS "MB",
    round(avg(octet_length(body))) AS "bytes each", round(sum(pg_column_size(body)) / 1e6, 1) AS "MB as stored"
FROM pages;

\echo 'inserting them: median and fastest of' :runs 'runs'
SELECT s.name AS source, persistence, t.name AS target, round(r.seconds::numeric, 2) AS s,
    round(r.fastest::numeric, 2) AS fastest,
    round((r.seconds / fingerprint.seconds)::numeric, 3) AS "to fingerprint alone",
    round((r.fastest / fingerprint.fastest)::numeric, 3) AS "fastest"
FROM result r
    JOIN source s ON s.name = r.source
    JOIN target t ON t.name = r.target
    JOIN result fingerprint USING (source, persistence)
WHERE fingerprint.target = 'fingerprint'
ORDER BY s.position, persistence DESC, t.position;

\pset tuples_only on
SELECT format('four block columns to the fingerprint alone, %s, %s: %s, bar 1.1: %s', source, persistence,
    round((blocks.seconds / fingerprint.seconds)::numeric, 3),
    CASE WHEN blocks.seconds <= 1.1 * fingerprint.seconds THEN 'reached' ELSE 'MISSED' END)
FROM result blocks JOIN result fingerprint USING (source, persistence) JOIN source s ON s.name = source
WHERE blocks.target = 'blocks' AND fingerprint.target = 'fingerprint'
ORDER BY s.position, persistence DESC;

DROP PROCEDURE measure_inserts;
