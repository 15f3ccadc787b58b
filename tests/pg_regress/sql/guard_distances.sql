-- Guards of fingerprints: what their layouts serve does not depend on the number of rows. The same distances are
-- refused for the same reason, and the guard works when the table has become empty.
CREATE TABLE sized (id integer PRIMARY KEY, f bigint);
CREATE TABLE outcomes (rows integer, layout integer, distance integer, outcome text);
DO $$
DECLARE
    rows integer;
BEGIN
    FOREACH rows IN ARRAY '{0,100,20000}'::integer[] LOOP
        FOR layout IN 2..8 LOOP
            TRUNCATE sized;
            INSERT INTO sized SELECT n, random_fingerprint(n) FROM generate_series(1, rows) AS n;
            ANALYZE sized;
            PERFORM simhash_attach('sized', 'f', blocks => layout);
            -- The guard must skip one of two near rows. The error 'served' says so, and undoes all. Of the lines about
            -- an error, only the line with its SQLSTATE counts.
            INSERT INTO outcomes SELECT rows, layout, distance, line
            FROM unnest('{0,3,7,10,12,15,19,24}'::integer[]) AS distance,
                errors(format($s$SELECT simhash_guard('sized', 'skip', source => 'f',
                    criterion => '{"max_distance": %s}');
                    TRUNCATE sized; INSERT INTO sized VALUES (-1, 0), (-2, 1 >> (%1$s = 0)::integer);
                    DO 'BEGIN ASSERT (SELECT count(*) = 1 FROM sized); RAISE ''served''; END'$s$, distance)) AS line
            WHERE line ~ '^  \w{5}: ';
            PERFORM simhash_detach('sized');
        END LOOP;
    END LOOP;
END
$$;
SELECT count(DISTINCT (layout, distance)) AS criteria, count(DISTINCT (layout, distance, outcome)) AS outcomes,
    count(*) FILTER (WHERE rows = 0 AND outcome ~ 'served') AS served FROM outcomes;
SELECT DISTINCT outcome FROM outcomes WHERE outcome !~ 'served';

-- Within any distance, two near rows that one statement stores are found.
CREATE TABLE prints (id integer PRIMARY KEY, f bigint);
SELECT simhash_attach('prints', 'f');
CREATE FUNCTION kept(distance integer) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    PERFORM simhash_guard('prints', 'skip', jsonb_build_object('max_distance', distance));
    TRUNCATE prints;
    INSERT INTO prints SELECT 2 * n + copy, random_fingerprint(n) # CASE copy WHEN 1 THEN (1::bigint << distance) - 1
        ELSE 0 END
    FROM generate_series(1, 100) AS n, generate_series(0, 1) AS copy;
    RETURN count(*) FROM prints;
END $$;
SELECT distance, kept(distance) FROM unnest('{0,1,3,7,8}'::integer[]) AS distance;

-- The distance of the criterion decides.
TRUNCATE prints;
SELECT simhash_guard('prints', 'reject', '{"max_distance": 0}');
INSERT INTO prints VALUES (1, random_fingerprint(1)), (2, random_fingerprint(2));
INSERT INTO prints SELECT 10 + n, f # (1 - n) FROM prints, generate_series(0, 1) AS n WHERE id = 1;
SELECT simhash_guard('prints', criterion => '{"max_distance": 8}');
INSERT INTO prints SELECT 12, f # 510 FROM prints WHERE id = 1;
INSERT INTO prints SELECT 12, f # 255 FROM prints WHERE id = 2;
INSERT INTO prints SELECT 12, f # 511 FROM prints WHERE id = 2;
