-- Indexes that interrupted commands have left: simhash_index_commands completes them, or drops them if another one
-- serves, and simhash_detach drops them all. An index with another name or definition is the user's.
CREATE TABLE interrupted (id integer, body text);
INSERT INTO interrupted SELECT n, 'text ' || n FROM generate_series(1, 10) AS n;
SET client_min_messages = warning;
SELECT simhash_attach_online('interrupted', 'body');
CALL simhash_fill('interrupted');
SELECT simhash_index_commands('interrupted', 2) \gexec
CREATE FUNCTION pg_temp.invalidate(VARIADIC names regclass[]) RETURNS void LANGUAGE sql
    AS 'UPDATE pg_index SET indisvalid = false WHERE indexrelid = ANY (names)';
CREATE VIEW of_interrupted AS SELECT indexrelid::regclass AS index, indisvalid AS valid,
    obj_description(indexrelid, 'pg_class') AS comment
FROM pg_index WHERE indrelid = 'interrupted'::regclass ORDER BY indexrelid::regclass::text COLLATE "C";

-- The session ended before the COMMENT.
COMMENT ON INDEX interrupted_simhash_block0_idx IS NULL;
SELECT simhash_index_commands('interrupted', 2);
SELECT simhash_index_commands('interrupted', 2) \gexec
SELECT simhash_index_commands('interrupted', 2);
-- CREATE INDEX CONCURRENTLY was interrupted, then its REINDEX, twice; and the REINDEX of a complete index.
COMMENT ON INDEX interrupted_simhash_block0_idx IS NULL;
CREATE INDEX interrupted_simhash_block0_idx_ccnew ON interrupted (simhash_block(simhash, 0, 2));
CREATE INDEX interrupted_simhash_block0_idx_ccnew1 ON interrupted (simhash_block(simhash, 0, 2));
CREATE INDEX interrupted_simhash_block1_idx_ccold ON interrupted (simhash_block(simhash, 1, 2)) INCLUDE (simhash);
CREATE INDEX interrupted_simhash_block1_idx7 ON interrupted (simhash_block(simhash, 1, 2));
SELECT pg_temp.invalidate('interrupted_simhash_block0_idx', 'interrupted_simhash_block0_idx_ccnew',
    'interrupted_simhash_block0_idx_ccnew1', 'interrupted_simhash_block1_idx_ccold', 'interrupted_simhash_block1_idx7');
SELECT simhash_index_commands('interrupted', 2);
SELECT simhash_index_commands('interrupted', 2) \gexec
TABLE of_interrupted;
SELECT simhash_index_commands('interrupted', 2);
-- Only a leftover of REINDEX is there.
ALTER INDEX interrupted_simhash_block1_idx RENAME TO interrupted_simhash_block1_idx_ccnew;
COMMENT ON INDEX interrupted_simhash_block1_idx_ccnew IS NULL;
SELECT pg_temp.invalidate('interrupted_simhash_block1_idx_ccnew');
SELECT simhash_index_commands('interrupted', 2);
SELECT simhash_index_commands('interrupted', 2) \gexec
-- DROP INDEX CONCURRENTLY was interrupted: PostgreSQL does not list such an index for its table.
UPDATE pg_index SET indisvalid = false, indisready = false, indislive = false
WHERE indexrelid = 'interrupted_simhash_block1_idx'::regclass;
ALTER TABLE interrupted SET (fillfactor = 90);
SELECT simhash_index_commands('interrupted', 2);
SELECT simhash_index_commands('interrupted', 2) \gexec
TABLE of_interrupted;

-- Not ours: another name, another definition, another comment. They are left alone, and block detaching.
CREATE FUNCTION pg_temp.not_ours(name text, statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE statement;
    PERFORM pg_temp.invalidate(name::regclass);
    RETURN QUERY SELECT simhash_index_commands('interrupted', 2);
    RETURN QUERY SELECT errors('SELECT simhash_detach(''interrupted'')');
    EXECUTE 'DROP INDEX ' || name;
END $$;
\pset format unaligned
\pset tuples_only on
SELECT pg_temp.not_ours('mine', 'CREATE INDEX mine ON interrupted (simhash_block(simhash, 0, 2))');
SELECT pg_temp.not_ours('interrupted_simhash_block0_idx_ccnewer',
    'CREATE INDEX interrupted_simhash_block0_idx_ccnewer ON interrupted (simhash_block(simhash, 0, 2))');
SELECT pg_temp.not_ours('interrupted_simhash_block1_idx_ccnew',
    'CREATE INDEX interrupted_simhash_block1_idx_ccnew ON interrupted (simhash_block(simhash, 0, 2))');
SELECT pg_temp.not_ours('interrupted_simhash_block0_idx_ccnew',
    'CREATE INDEX interrupted_simhash_block0_idx_ccnew ON interrupted (simhash_block(simhash, 0, 2)) WHERE id > 0');
SELECT pg_temp.not_ours('interrupted_simhash_block0_idx_ccnew',
    'CREATE INDEX interrupted_simhash_block0_idx_ccnew ON interrupted (simhash_block(simhash, 0, 2), id)');
SELECT pg_temp.not_ours('interrupted_simhash_block0_idx_ccnew',
    'CREATE INDEX interrupted_simhash_block0_idx_ccnew ON interrupted (simhash_block(simhash, 0, 2)) INCLUDE (id)');
SELECT pg_temp.not_ours('interrupted_simhash_block0_idx_ccnew',
    'CREATE INDEX interrupted_simhash_block0_idx_ccnew ON interrupted (simhash_block(simhash, 0, 2) DESC)');
SELECT pg_temp.not_ours('interrupted_simhash_block0_idx_ccnew',
    'CREATE UNIQUE INDEX interrupted_simhash_block0_idx_ccnew ON interrupted (simhash_block(simhash, 0, 2))');
SELECT pg_temp.not_ours('interrupted_simhash_block0_idx_ccnew',
    'CREATE INDEX interrupted_simhash_block0_idx_ccnew ON interrupted USING hash (simhash_block(simhash, 0, 2))');
\pset format aligned
\pset tuples_only off
COMMENT ON INDEX interrupted_simhash_block1_idx1 IS 'mine now';
SELECT simhash_index_commands('interrupted', 2);
SELECT simhash_detach('interrupted');
COMMENT ON INDEX interrupted_simhash_block1_idx1 IS NULL;

-- simhash_detach drops all leftovers.
CREATE INDEX interrupted_simhash_block0_idx_ccnew ON interrupted (simhash_block(simhash, 0, 2));
CREATE INDEX interrupted_simhash_block1_idx_ccold2 ON interrupted (simhash_block(simhash, 1, 2));
SELECT pg_temp.invalidate('interrupted_simhash_block0_idx_ccnew', 'interrupted_simhash_block1_idx_ccold2',
    'interrupted_simhash_block0_idx');
UPDATE pg_index SET indisvalid = false, indisready = false, indislive = false
WHERE indexrelid = 'interrupted_simhash_block1_idx1'::regclass;
ALTER TABLE interrupted SET (fillfactor = 80);
RESET client_min_messages;
SELECT simhash_detach('interrupted');
TABLE of_interrupted;
-- The same for indexes on block columns.
SET client_min_messages = warning;
SELECT simhash_attach('interrupted', 'body', 2, covering => true);
CREATE INDEX interrupted_simhash_block0_idx_ccnew ON interrupted (simhash_block0) INCLUDE (simhash);
CREATE INDEX mine ON interrupted (simhash_block1);
SELECT pg_temp.invalidate('interrupted_simhash_block0_idx_ccnew', 'mine');
COMMENT ON INDEX interrupted_simhash_block1_idx IS NULL;
SELECT simhash_detach('interrupted');
DROP INDEX mine;
RESET client_min_messages;
SELECT simhash_detach('interrupted');
TABLE of_interrupted;

-- Partitions: an index on a partition is dropped with the index on the partitioned table, and needs no comment.
SET client_min_messages = warning;
CREATE TABLE interrupted_parts (id integer, body text) PARTITION BY LIST (id);
CREATE TABLE interrupted_parts_1 PARTITION OF interrupted_parts FOR VALUES IN (1);
SELECT simhash_attach_online('interrupted_parts', 'body');
SELECT simhash_index_commands('interrupted_parts', 2) \gexec
COMMENT ON INDEX interrupted_parts_simhash_block0_idx IS NULL;
COMMENT ON INDEX interrupted_parts_1_simhash_block0_idx IS NULL;
CREATE INDEX interrupted_parts_1_simhash_block1_idx_ccold ON interrupted_parts_1 (simhash_block(simhash, 1, 2));
SELECT pg_temp.invalidate('interrupted_parts_1_simhash_block1_idx_ccold');
SELECT simhash_index_commands('interrupted_parts', 2);
RESET client_min_messages;
SELECT simhash_detach('interrupted_parts');

-- Names that are too long are shortened, and then say less.
SET client_min_messages = warning;
CREATE TABLE interrupted_with_a_name_as_long_as_a_name_can_be_in_postgresql1 (id integer, body text);
SELECT simhash_attach_online('interrupted_with_a_name_as_long_as_a_name_can_be_in_postgresql1', 'body');
SELECT simhash_index_commands('interrupted_with_a_name_as_long_as_a_name_can_be_in_postgresql1', 2) \gexec
SELECT indexrelid::regclass AS index FROM pg_index
WHERE indrelid = 'interrupted_with_a_name_as_long_as_a_name_can_be_in_postgresql1'::regclass ORDER BY 1 LIMIT 1 \gset
REINDEX INDEX CONCURRENTLY :index;
SELECT format('COMMENT ON INDEX %s IS NULL', :'index') \gexec
SELECT format('CREATE INDEX %I ON %s (simhash_block(simhash, 0, 2))', left(:'index', 57) || '_ccnew',
    'interrupted_with_a_name_as_long_as_a_name_can_be_in_postgresql1') \gexec
SELECT pg_temp.invalidate((left(:'index', 57) || '_ccnew')::regclass);
SELECT simhash_index_commands('interrupted_with_a_name_as_long_as_a_name_can_be_in_postgresql1', 2);
SELECT simhash_detach('interrupted_with_a_name_as_long_as_a_name_can_be_in_postgresql1');

DROP VIEW of_interrupted;
DROP TABLE interrupted, interrupted_parts, interrupted_with_a_name_as_long_as_a_name_can_be_in_postgresql1;
