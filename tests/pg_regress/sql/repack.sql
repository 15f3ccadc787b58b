-- Since PostgreSQL 19: REPACK on a table with fingerprints, indexes and a guard.
CREATE TABLE repacked (id integer PRIMARY KEY, body text);
INSERT INTO repacked
SELECT n, (SELECT string_agg(md5(n::text || word), ' ') FROM generate_series(1, 20) AS word)
FROM generate_series(1, 500) AS n;
SELECT simhash_attach('repacked', 'body'), simhash_index('repacked', 'body'), simhash_guard('repacked', 'skip');
CREATE FUNCTION holds() RETURNS TABLE (fingerprints boolean, pairs bigint, searched boolean, stored bigint)
    LANGUAGE plpgsql AS $$
BEGIN
    SELECT bool_and(simhash = simhash(body)) INTO fingerprints FROM repacked;
    SET LOCAL enable_seqscan = off;
    SELECT count(*) INTO pairs FROM repacked AS one JOIN repacked AS other ON simhash_near(one.simhash, other.simhash);
    searched = is_searched('SELECT FROM repacked WHERE simhash_near(simhash, 42)');
    INSERT INTO repacked SELECT id + 1000, upper(body) FROM repacked WHERE id <= 10;
    GET DIAGNOSTICS stored = ROW_COUNT;
    RETURN NEXT;
END
$$;
SELECT * FROM holds();
DELETE FROM repacked WHERE id BETWEEN 100 AND 199;
REPACK repacked;
SELECT * FROM holds();
REPACK (CONCURRENTLY) repacked;
SELECT * FROM holds();
