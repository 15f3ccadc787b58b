-- Blocks that are expressions in the indexes: simhash_attach(.., columns => false).

CREATE TABLE lean (id integer PRIMARY KEY, tenant integer, body text, fp bigint);
INSERT INTO lean SELECT n, n % 10, md5((n / 5)::text) || ' ' || n, n FROM generate_series(1, 2000) AS n;
CREATE VIEW lean_indexes AS
SELECT pg_get_indexdef(indexrelid) AS index, obj_description(indexrelid, 'pg_class') AS comment
FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
WHERE indrelid = 'lean'::regclass AND NOT indisprimary ORDER BY relname;

SELECT simhash_attach('lean', 'body', blocks => 2, columns => false);
SELECT simhash_attach('lean', 'body', blocks => 2, columns => false);
\d lean
SELECT * FROM lean_indexes;
-- The expressions are analyzed.
SELECT count(*) FROM pg_stats WHERE tablename LIKE 'lean\_simhash\_block%';
SELECT blocks, indexed FROM simhash_skew('lean') WHERE blocks < 4;
EXPLAIN (COSTS OFF) SELECT id FROM lean WHERE simhash_near(simhash, 5);
SELECT count(*) FROM lean AS a JOIN lean AS b ON simhash_near(a.simhash, b.simhash, 4);
SET pg_simhash.enable_scan = off;
SELECT count(*) FROM lean AS a JOIN lean AS b ON simhash_near(a.simhash, b.simhash, 4);
RESET pg_simhash.enable_scan;
-- A second layout, and a scope.
SELECT simhash_attach('lean', 'body', blocks => 3, columns => false, scope => '{tenant}');
SELECT simhash_guard('lean', max_distance => 3, scope => '{tenant}', resemblance => NULL);
INSERT INTO lean (id, tenant, body) SELECT 3000, tenant, body FROM lean WHERE id = 7;
SELECT simhash_unguard('lean');
-- Concurrently: nothing is missing.
SELECT simhash_index_commands('lean', 3, scope => '{tenant}');
-- Not both ways at once.
SELECT simhash_attach('lean', 'body', blocks => 2);
SELECT simhash_detach('lean');
SELECT * FROM lean_indexes;
SELECT simhash_attach('lean', 'body', blocks => 2);
SELECT simhash_attach('lean', 'body', blocks => 2, columns => false);
SELECT simhash_attach('lean', 'body', blocks => 2, columns => false, prefix => 'other');
SELECT simhash_detach('lean', 'other');
SELECT simhash_detach('lean');
SELECT simhash_attach('lean', 'body', blocks => 2, columns => NULL);

-- A column that holds fingerprints stays as it is. Detaching knows the indexes by the prefix, or by the column.
SELECT simhash_attach('lean', 'fp', blocks => 2, columns => false);
ALTER INDEX lean_simhash_block0_idx RENAME TO a_name;
SELECT simhash_attach('lean', 'fp', blocks => 2, columns => false);
SELECT simhash_attach('lean', 'fp', blocks => 2, prefix => 'other', columns => false, scope => '{tenant}');
SELECT * FROM lean_indexes;
SELECT simhash_detach('lean');
SELECT simhash_detach('lean', 'fp');
SELECT simhash_detach('lean');
-- Partitions and children.
CREATE TABLE lean_parts (id integer, body text) PARTITION BY RANGE (id);
CREATE TABLE lean_parts_1 PARTITION OF lean_parts FOR VALUES FROM (0) TO (10);
SELECT simhash_attach('lean_parts', 'body', blocks => 2, columns => false);
SELECT simhash_attach('lean_parts', 'body', blocks => 2, columns => false);
SELECT simhash_guard('lean_parts', max_distance => 3, resemblance => NULL);
INSERT INTO lean_parts VALUES (1, 'a text'), (2, 'a text');
SELECT simhash_unguard('lean_parts');
SELECT simhash_detach('lean_parts');
CREATE TABLE lean_parent (body text);
CREATE TABLE lean_child (own integer) INHERITS (lean_parent);
SELECT simhash_attach('lean_parent', 'body', blocks => 2, columns => false);
SELECT simhash_attach('lean_parent', 'body', blocks => 2, columns => false);
SELECT simhash_detach('lean_parent');
DROP TABLE lean, lean_parts, lean_parent, lean_child CASCADE;
