-- Guards that propose candidates by radii, and let the texts decide.

-- The radii are written into the trigger: those that are given or, by default, 1 in each block of the table's layout,
-- and 0 where that would read a tenth of the rows.
CREATE FUNCTION criterion(layout integer, criterion jsonb DEFAULT '{}') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    definition text;
BEGIN
    CREATE TABLE docs (id integer PRIMARY KEY, body text);
    PERFORM simhash_attach('docs', 'body', blocks => layout);
    PERFORM simhash_guard('docs', criterion => criterion);
    SELECT pg_get_triggerdef(oid) INTO definition FROM pg_trigger WHERE tgrelid = 'docs'::regclass;
    DROP TABLE docs;
    RETURN substring(definition FROM $re$'reject', '([^']*)'$re$);
END $$;
SELECT layout, criterion(layout) FROM generate_series(2, 8) AS layout;
-- At distances within which everything is found by as many look-ups, there are none.
SELECT max_distance, layout, criterion(layout, jsonb_build_object('max_distance', max_distance))
FROM unnest(ARRAY[3, 7, 8]) AS max_distance, unnest(ARRAY[3, 4]) AS layout ORDER BY 1, 2;
SELECT criterion(4, asked) FROM unnest(ARRAY[
    '{"radii": []}', '{"radii": [0, 0, 0, 0]}', '{"radii": [1, 1, -1, 0], "max_distance": 8, "resemblance": 0.5}',
    '{"radii": [1, 1, 1], "max_distance": 5, "resemblance": 0.9}',
    '{"resemblance": null}', '{"resemblance": null, "radii": [1, 0, 0, 0]}'
]::jsonb[]) AS asked;
SELECT criterion(4, '{"radii": [1]}');
-- No layout of this table serves three blocks, nor a search within 30 bits.
SELECT criterion(4, '{"radii": [1, 1, 1], "max_distance": 30}');
\echo :LAST_ERROR_SQLSTATE

-- What the layouts serve does not depend on the number of rows: the same criteria are refused for the same reason, and
-- the guard works when the table has become empty.
CREATE TABLE sized (id integer PRIMARY KEY, f bigint);
CREATE TABLE outcomes (size integer, layout integer, criterion jsonb, outcome text);
DO $$
DECLARE
    size integer;
BEGIN
    FOREACH size IN ARRAY '{0,100,20000}'::integer[] LOOP
        FOR layout IN 2..8 LOOP
            TRUNCATE sized;
            INSERT INTO sized SELECT n, random_fingerprint(n) FROM generate_series(1, size) AS n;
            ANALYZE sized;
            PERFORM simhash_attach('sized', 'f', blocks => layout);
            INSERT INTO outcomes SELECT size, layout, criterion, line
            FROM unnest('{3,7,10,12,15,19,24}'::integer[]) AS distance,
                (VALUES ('{}'::integer[]), (array_fill(0, ARRAY[layout])), (array_fill(1, ARRAY[layout]))) AS v (radii),
                jsonb_build_object('max_distance', distance, 'resemblance', NULL, 'radii', radii) AS criterion,
                errors(format($s$SELECT simhash_guard('sized', 'skip', fingerprint => 'f', criterion => %L);
                    TRUNCATE sized; INSERT INTO sized VALUES (-1, 0), (-2, 1);
                    DO 'BEGIN ASSERT (SELECT count(*) = 1 FROM sized); RAISE ''served''; END'$s$, criterion)) AS line
            WHERE line ~ '^  \w{5}: ';
            PERFORM simhash_detach('sized');
        END LOOP;
    END LOOP;
END
$$;
SELECT count(DISTINCT (layout, criterion)) AS criteria, count(DISTINCT (layout, criterion, outcome)) AS outcomes,
    count(*) FILTER (WHERE size = 0 AND outcome ~ 'served') AS served FROM outcomes;

-- With flips, those stay that no search for them finds a copy of among the earlier ones.
CREATE TABLE texts AS
SELECT n AS id, (SELECT string_agg(CASE WHEN (word + n * 7) % 37 = 0 THEN 'edit' || n % 40
        ELSE substr(md5(n / 6 || ' ' || word), 1, 5) END, ' ' ORDER BY word) FROM generate_series(1, 60) AS word) AS body
FROM generate_series(1, 1200) AS n;
CREATE TABLE docs (id integer PRIMARY KEY, body text);
SELECT simhash_attach('docs', 'body');
SELECT simhash_guard('docs', 'skip');
INSERT INTO docs SELECT * FROM texts WHERE id <= 300 ORDER BY id;
CREATE TABLE copies AS SELECT a.id AS a, b.id AS b FROM texts AS a JOIN texts AS b ON a.id < b.id AND b.id <= 300
    AND simhash_near(simhash(a.body), simhash(b.body), 10) AND simhash_resemblance(a.body, b.body) >= .84
    AND is_found(simhash(a.body), b.body, '{}', 10, '{1,1,1,1}', '{5,3}');
SELECT count(d.id) AS kept, count(*) FILTER (WHERE (d.id IS NULL) <> EXISTS (
    SELECT FROM copies JOIN docs AS kept ON kept.id = a WHERE b = texts.id)) AS wrong
FROM texts LEFT JOIN docs AS d USING (id) WHERE id <= 300;
