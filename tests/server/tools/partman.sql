-- pg_partman makes partitions, moves rows into them, and detaches old ones.
CREATE SCHEMA partman;
CREATE EXTENSION pg_partman SCHEMA partman;
CREATE TABLE docs (id integer NOT NULL, body text) PARTITION BY RANGE (id);
SET client_min_messages = warning;
SELECT simhash_attach('docs', 'body', blocks => 2), simhash_index('docs', 'body', bands => 2);
SELECT partman.create_parent('public.docs', 'id', 'native', '100', p_start_partition => '100', p_premake => 1);
-- Rows that have no partition yet, two of them near each other.
INSERT INTO docs SELECT n, text_of(n) FROM generate_series(1, 10) AS n;
SELECT simhash_guard('docs', criterion => '{"bands": 2}', source => 'body');
-- The first call fails, because pg_partman also writes generated columns unless they are ignored. The second fails,
-- because the guard sees a moved row as a new one, near another row. So the guard is disabled for the move.
SELECT partman.partition_data_id('public.docs');
SELECT partman.partition_data_id('public.docs', p_ignored_columns => '{simhash,simhash_block0,simhash_block1}');
BEGIN;
ALTER TABLE docs DISABLE TRIGGER zzz_simhash_guard;
SELECT partman.partition_data_id('public.docs', p_ignored_columns => '{simhash,simhash_block0,simhash_block1}');
ALTER TABLE docs ENABLE TRIGGER zzz_simhash_guard;
COMMIT;
SELECT tableoid::regclass AS partition, count(*) FROM docs GROUP BY 1;
-- New partitions have the indexes and the guard.
INSERT INTO docs VALUES (210, text_of(210));
SELECT partman.run_maintenance('public.docs', p_analyze => false);
SELECT described('docs_p300');
SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'docs_p300'::regclass;
-- An old partition has the comments of simhash_attach, so it can be detached as a table of its own.
SELECT partman.drop_partition_id('public.docs', '100', p_keep_table => true, p_keep_index => true);
SELECT simhash_detach('docs_p0');
SELECT described('docs_p0');
SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'docs_p0'::regclass;
