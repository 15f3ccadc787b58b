-- Nothing leaks from PostgreSQL's memory or the allocator's: in a million rows, in errors, in unread rows.
CREATE FUNCTION pg_temp.in_contexts() RETURNS bigint LANGUAGE sql AS
    $$ SELECT sum(total_bytes)::bigint FROM pg_backend_memory_contexts $$;
-- Linux reports a process's memory; elsewhere this compares nothing.
CREATE FUNCTION pg_temp.resident() RETURNS bigint LANGUAGE sql AS
    $$ SELECT substring(pg_read_file('/proc/self/status', 0, 10000, true) FROM 'RssAnon:\s*(\d+) kB')::bigint * 1024 $$;
CREATE PROCEDURE pg_temp.work(rows integer) LANGUAGE plpgsql AS $$
DECLARE
    ids integer[] = ARRAY(SELECT generate_series(1, 1000));
    same bigint[] = ARRAY(SELECT 0 FROM generate_series(1, 1000));
BEGIN
    PERFORM count(simhash('document ' || n || ' of many words')) FROM generate_series(1, rows) n;
    PERFORM count(simhash('document ' || n, '{"ngram": 2, "weight": "log", "top": 2}'))
        FROM generate_series(1, rows / 10) n;
    PERFORM count(simhash(ARRAY['a', n::text])) + count(simhash(ARRAY['a', n::text], ARRAY[n, 2]))
        FROM generate_series(1, rows / 10) n;
    PERFORM count(simhash(('a:1A ' || n)::tsvector)) FROM generate_series(1, rows / 10) n;
    PERFORM count(f) FROM (SELECT simhash_agg(n::text, 1)
                           FROM generate_series(1, rows / 10) n GROUP BY n / 5) AS groups (f);
    PERFORM sum(cardinality(simhash_probes(n, 0, 4, 7))) + sum(simhash_block(n, 3))
        FROM generate_series(1, rows / 10) n;
    PERFORM count(*) FROM generate_series(1, rows / 20) n, simhash_features('document ' || n);
    PERFORM sum(simhash_resemblance('document ' || n, 'document')) FROM generate_series(1, rows / 10) n;
    PERFORM sum(simhash_resemblance('document ' || n, 'document', '{"weight": "tf"}'))
        FROM generate_series(1, rows / 10) n;
    PERFORM count(*) FROM generate_series(1, rows / 50) n,
        simhash_pairs(ARRAY['a', 'b', n::text], ARRAY[n, 2, NULL]::bigint[], 20);
    PERFORM count(*) FROM generate_series(1, rows / 50) n, simhash_components(ARRAY['a', 'b', n::text], ARRAY['c', 'd', 'b']);
    PERFORM count(cluster) FROM (SELECT simhash_cluster(n, n::bigint, 1) OVER (PARTITION BY n / 5) AS cluster
                                 FROM generate_series(1, rows / 10) n) AS clusters;
    PERFORM count(cluster) + count(duplicate_of)
        FROM (SELECT simhash_cluster(n, n::text) OVER w AS cluster, simhash_duplicate_of(n::text, n::text) OVER w AS duplicate_of
              FROM generate_series(1, rows / 10) n WINDOW w AS (PARTITION BY n / 5)) AS clusters;
    -- Half a million pairs; and fingerprints that are computed on demand.
    PERFORM count(*) FROM simhash_pairs(ids, same);
    PERFORM count(cluster) FROM (SELECT simhash_cluster(n, simhash(repeat('document ' || n || ' ', 1000))) OVER () AS cluster
                                 FROM generate_series(1, rows / 200) n) AS clusters;
    FOR n IN 1 .. rows / 200 LOOP
        PERFORM simhash_pairs(ids, same) LIMIT 1;
        PERFORM simhash_components(ids, ids) LIMIT 1;
        BEGIN
            -- The comparison fails.
            PERFORM simhash_components(ARRAY[ROW(point(n, 2))], ARRAY[ROW(point(1, 2))]);
        EXCEPTION WHEN undefined_function THEN
        END;
        BEGIN
            PERFORM simhash_pairs(ARRAY[n, 2, NULL], ARRAY[1, 2, 3]::bigint[]);
        EXCEPTION WHEN null_value_not_allowed THEN
        END;
        BEGIN
            PERFORM count(1 / (cluster - cluster)) FROM
                (SELECT simhash_cluster(i, i::bigint) OVER () AS cluster FROM generate_series(1, 3) AS i) AS clusters;
        EXCEPTION WHEN division_by_zero THEN
        END;
        BEGIN
            PERFORM count(1 / (cluster - cluster)) FROM
                (SELECT simhash_cluster(i, i::text, '{"weight": "tf"}') OVER () AS cluster
                 FROM generate_series(1, 3) AS i) AS clusters;
        EXCEPTION WHEN division_by_zero THEN
        END;
        BEGIN
            PERFORM simhash_duplicate_of(i, (1 / (3 - i))::text) OVER () FROM generate_series(1, 3) AS i;
        EXCEPTION WHEN division_by_zero THEN
        END;
        PERFORM simhash_features(repeat('unread ' || n || ' ', 50)) LIMIT 1;
        BEGIN
            PERFORM simhash('error ' || n, '{"ngram": 17}');
        EXCEPTION WHEN invalid_parameter_value THEN
        END;
        BEGIN
            PERFORM simhash(ARRAY[repeat('error', 100), NULL]);
        EXCEPTION WHEN null_value_not_allowed THEN
        END;
    END LOOP;
END
$$;
-- The same work before and after: what is kept for reuse is allocated in the first round.
CALL pg_temp.work(1000000);
SELECT pg_temp.in_contexts() AS in_contexts, coalesce(pg_temp.resident(), 0) AS resident \gset
CALL pg_temp.work(1000000);
-- One byte per row would be 1 MB, and one allocation per row at least 16 MB.
SELECT pg_temp.in_contexts() - :in_contexts < 1000000 AS contexts,
    coalesce(pg_temp.resident(), 0) - :resident < 12000000 AS resident;
