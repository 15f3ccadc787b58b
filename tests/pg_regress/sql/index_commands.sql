-- simhash_index_commands: the commands by which psql builds the indexes of simhash_index without blocking writers. They
-- can be interrupted anywhere: then they are listed again, without those that are done.
SET client_min_messages = notice;
CREATE TABLE docs AS SELECT n AS id, n % 3 AS tenant, 'text ' || n AS body FROM generate_series(1, 300) AS n;
SELECT simhash_index_commands('docs', 'body', '{"ngram": 2}', 2, '{tenant}');
SET client_min_messages = warning;
-- One command at a time, each from a new list.
CREATE FUNCTION next_of(target regclass) RETURNS text LANGUAGE sql RETURN
    (SELECT command FROM simhash_index_commands(target, 'body', '{"ngram": 2}', 2, '{tenant}') AS command LIMIT 1);
SELECT next_of('docs') \gexec
SELECT next_of('docs') \gexec
SELECT next_of('docs') \gexec
SELECT next_of('docs') IS NULL AS done;
SELECT simhash_index('docs', 'body', '{"ngram": 2}', 2, '{tenant}');
SELECT described('docs') OFFSET 3;
SELECT tablename FROM pg_stats WHERE tablename LIKE 'docs_simhash%' GROUP BY 1 ORDER BY 1;
-- Indexes that an interrupted command has left are dropped, and their names are free again.
CREATE INDEX docs_simhash_band0_tenant_idx_ccnew ON docs (tenant, simhash_band(body, 0, '{"ngram": 2}'),
    simhash_size(body, '{"ngram": 2}'), simhash(body, '{"ngram": 2}'));
UPDATE pg_index SET indisvalid = false
WHERE indexrelid::regclass::text IN ('docs_simhash_band1_tenant_idx', 'docs_simhash_band0_tenant_idx_ccnew');
SELECT simhash_index_commands('docs', 'body', '{"ngram": 2}', 2, '{tenant}') \gexec
SELECT simhash_index_commands('docs', 'body', '{"ngram": 2}', 2, '{tenant}');
-- An empty table has no statistics, and ANALYZE is not listed again, until it has rows; nor if they are deleted.
CREATE TABLE empty (body text); SELECT simhash_index_commands('empty', 'body', bands => 1) \gexec
SELECT simhash_index_commands('empty', 'body', bands => 1);
INSERT INTO empty VALUES ('a text'); SELECT simhash_index_commands('empty', 'body', bands => 1);
DELETE FROM empty; SELECT simhash_index_commands('empty', 'body', bands => 1) \gexec
SELECT simhash_index_commands('empty', 'body', bands => 1);
-- Nor if no statistics are asked for.
ALTER INDEX docs_simhash_band1_tenant_idx ALTER COLUMN 2 SET STATISTICS 0;
DELETE FROM pg_statistic WHERE starelid = 'docs_simhash_band1_tenant_idx'::regclass;
SELECT simhash_index_commands('docs', 'body', '{"ngram": 2}', 2, '{tenant}');

-- Partitions: an index on each, then one on the partitioned table, to which they are attached.
CREATE TABLE parts (id integer, body text) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (150);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (150) TO (2000) PARTITION BY RANGE (id);
CREATE TABLE parts_2_1 PARTITION OF parts_2 DEFAULT;
INSERT INTO parts SELECT id, body FROM docs;
SELECT simhash_index_commands('parts', 'body', bands => 1);
CREATE FUNCTION next_of_parts() RETURNS SETOF text LANGUAGE sql AS
    $$ SELECT command FROM simhash_index_commands('parts', 'body', bands => 1) AS command LIMIT 1 $$;
SELECT next_of_parts() \gexec
SELECT next_of_parts() \gexec
-- The index of parts_1 is not valid when it is attached. It cannot be dropped alone.
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'parts_1_simhash_band0_idx'::regclass;
CREATE INDEX parts_simhash_band0_idx ON ONLY parts (simhash_band(body, 0), simhash_size(body), simhash(body));
ALTER INDEX parts_simhash_band0_idx ATTACH PARTITION parts_1_simhash_band0_idx;
SELECT simhash_index_commands('parts', 'body', bands => 1);
SELECT next_of_parts() \gexec
SELECT next_of_parts() \gexec
SELECT next_of_parts() \gexec
SELECT next_of_parts() \gexec
SELECT next_of_parts() \gexec
SELECT count(*) AS left_to_do FROM next_of_parts();
SELECT relid AS index, indisvalid AS valid FROM pg_partition_tree('parts_simhash_band0_idx')
    JOIN pg_index ON indexrelid = relid WHERE isleaf ORDER BY relid::text;
SELECT simhash_index('parts', 'body', bands => 1);
-- All commands at once. Nothing is left then, for a partition alone either.
SELECT simhash_index_commands('parts', 'body', bands => 2) \gexec
SELECT count(*) AS indexes, bool_and(indisvalid) AS valid FROM pg_index WHERE pg_get_indexdef(indexrelid) ~ 'body, 1\)';
SELECT simhash_index_commands(target, 'body', bands => 2) FROM unnest('{parts,parts_2}'::regclass[]) AS target;
-- simhash_index goes on where the commands were interrupted.
SELECT command FROM simhash_index_commands('parts', 'body', bands => 3) WITH ORDINALITY AS c (command, n)
WHERE n IN (1, 3) \gexec
SELECT simhash_index('parts', 'body', bands => 3);
SELECT count(*) AS indexes, bool_and(indisvalid) AS valid FROM pg_index WHERE pg_get_indexdef(indexrelid) ~ 'body, 2\)';
-- An index of a partition that serves, but is defined in another way, cannot be attached: the partition gets another.
CREATE TABLE others (id integer, body text) PARTITION BY LIST (id);
CREATE TABLE others_1 PARTITION OF others FOR VALUES IN (1);
CREATE TABLE others_2 PARTITION OF others FOR VALUES IN (2);
CREATE INDEX ON others_1 (simhash_band(body, 0), simhash_size(body), simhash(body), id);
CREATE INDEX ON others_1 (simhash_band(body, 0, '{"ngram": 2}'), simhash_size(body, '{"ngram": 2, "weight": "set"}'),
    simhash(body, '{"ngram": 2, "case_fold": true}'));
SELECT simhash_index('others_2', 'body', '{"ngram": 2, "weight": "set"}', 1);
SELECT simhash_index_commands('others', 'body', bands => 1) \gexec
SELECT simhash_index_commands('others', 'body', '{"ngram": 2}', 1) \gexec
SELECT simhash_index_commands('others', 'body', options, 1) FROM unnest('{NULL, "{\"ngram\": 2}"}'::jsonb[]) AS options;
SELECT count(*) AS indexes, bool_and(indisvalid) AS valid FROM pg_index WHERE indrelid::regclass::text ~ '^others';

-- Inheritors have indexes of their own, and materialized views can have indexes too.
CREATE TABLE parent (body text);
CREATE TABLE child () INHERITS (parent);
CREATE MATERIALIZED VIEW view AS TABLE docs;
SELECT simhash_index_commands(target, 'upper(body)', bands => 1)
FROM unnest('{parent,view}'::regclass[]) AS target \gexec
SELECT simhash_index_commands(target, 'upper(body)', bands => 1) FROM unnest('{parent,view}'::regclass[]) AS target;

-- The refusals are those of simhash_index. Nothing is changed, and only AccessShareLock is taken.
SELECT errors($$SELECT simhash_index_commands(NULL, 'body')$$, $$SELECT simhash_index_commands('docs', NULL)$$,
    $$SELECT simhash_index_commands('docs', 'id')$$, $$SELECT simhash_index_commands('docs', 'concat(body)')$$,
    $$SELECT simhash_index_commands('docs', 'body', bands => 65)$$,
    $$SELECT simhash_index_commands('docs', 'body); DROP TABLE docs; SELECT (1')$$,
    $$SELECT simhash_index_commands('docs_simhash_band0_tenant_idx', 'body')$$);
SELECT errors_as('regress_other', $$SELECT simhash_index_commands('docs', 'body')$$);
CREATE SCHEMA mine; CREATE FUNCTION mine.upper(text) RETURNS text IMMUTABLE LANGUAGE sql RETURN 'constant';
BEGIN READ ONLY;
SELECT count(*) FROM simhash_index_commands('docs', 'body');
SELECT DISTINCT mode FROM pg_locks WHERE relation = 'docs'::regclass;
-- Where the commands are run, their names mean the same.
SET search_path = mine, pg_catalog, public;
SELECT fields($$SELECT simhash_index_commands('docs', 'pg_catalog.upper(body)')$$);
