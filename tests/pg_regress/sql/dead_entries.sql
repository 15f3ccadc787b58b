-- Searches mark the index entries of rows that are gone for all transactions, as PostgreSQL's own index scans do: the
-- next search does not read them again.
CREATE TABLE docs (id integer PRIMARY KEY, body text, fp bigint);
INSERT INTO docs SELECT n, string_agg(md5(n || '.' || word), ' '), random_fingerprint(n)
FROM generate_series(1, 100) n, generate_series(1, 20) word GROUP BY n;
SELECT simhash_index('docs', 'body'), simhash_attach('docs', 'fp');
SELECT body AS text, fp FROM docs WHERE id = 7 \gset
SET enable_seqscan = off;

-- The number of index entries that a search reads.
CREATE FUNCTION entries_read(query text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
    RETURN substring(plan::text FROM '"Index Entries": (\d+)');
END $$;
-- Whether a search reads the entries of 2,000 deleted copies in one index or more, and the next one less than a quarter
-- as many. Btrees keep some copies together in one entry, which they mark only if all of them are found dead in turn.
CREATE FUNCTION kills_dead_entries(query text) RETURNS TABLE (reads_all boolean, then_few boolean) LANGUAGE plpgsql AS $$
DECLARE
    before integer = entries_read(query);
BEGIN
    reads_all = before >= 2000;
    then_few = entries_read(query) < before / 4;
    RETURN NEXT;
END $$;
CREATE PROCEDURE copy_and_delete() LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO docs SELECT 1000 + n, body, fp FROM docs, generate_series(1, 2000) n WHERE id = 7;
    COMMIT;
    DELETE FROM docs WHERE id > 1000;
END $$;

CALL copy_and_delete();
SELECT kills_dead_entries(format('SELECT id FROM docs WHERE simhash_near(body, %L)', :'text'));
CALL copy_and_delete();
SELECT kills_dead_entries(format('SELECT id FROM docs WHERE simhash_near(fp, %s)', :fp));
CALL copy_and_delete();
SELECT kills_dead_entries(format('SELECT id FROM docs ORDER BY fp <~> %s LIMIT 1', :fp));

-- No entry is marked while a transaction may see the rows, or may roll back their deletion.
INSERT INTO docs SELECT 1000 + n, body, fp FROM docs, generate_series(1, 2000) n WHERE id = 7;
BEGIN ISOLATION LEVEL REPEATABLE READ;
DELETE FROM docs WHERE id > 1000;
SELECT kills_dead_entries(format('SELECT id FROM docs WHERE simhash_near(fp, %s)', :fp));
ROLLBACK;
SELECT count(*) FROM docs WHERE simhash_near(fp, :fp);
