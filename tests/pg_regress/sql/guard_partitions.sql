-- A guard on a partitioned table: one for all partitions, whatever happens to them.
-- (A row that moves to another partition is never lost: guard_moves.)

-- A row is near rows of all partitions, whatever table it is written to.
CREATE TABLE parted (id integer, part integer, body text) PARTITION BY LIST (part);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
-- This partition has other columns, in another order.
CREATE TABLE parted_2 (gone integer, body text, part integer, extra integer, id integer);
ALTER TABLE parted_2 DROP COLUMN gone, DROP COLUMN extra;
ALTER TABLE parted ATTACH PARTITION parted_2 FOR VALUES IN (2);
CREATE TABLE parted_3 PARTITION OF parted FOR VALUES IN (3) PARTITION BY LIST (part);
CREATE TABLE parted_3_3 PARTITION OF parted_3 FOR VALUES IN (3);
SELECT simhash_index('parted', 'body'), simhash_guard('parted');
INSERT INTO parted VALUES (1, 1, 'Number one');
SELECT errors('INSERT INTO parted VALUES (2, 2, ''number one'')',
    'INSERT INTO parted_2 (id, part, body) VALUES (2, 2, ''number one'')',
    'INSERT INTO parted_3_3 (id, part, body) VALUES (2, 3, ''number one'')');
INSERT INTO parted VALUES (2, 2, 'Number two'), (3, 3, 'Number three');
INSERT INTO parted_3 VALUES (4, 3, 'number two');
-- A partition is guarded by the guard of the whole table.
SELECT simhash_guard('parted_2');
SELECT errors($$SELECT simhash_guard('parted_2', 'skip')$$, $$SELECT simhash_unguard('parted_2')$$);
-- Partitions of an unguarded table may have guards of their own.
SELECT simhash_unguard('parted'), simhash_guard('parted_3');
SELECT simhash_guard('parted_2');
INSERT INTO parted VALUES (5, 3, 'number three');
-- The guard of a partition searches this partition alone.
INSERT INTO parted VALUES (5, 2, 'number three');
INSERT INTO parted VALUES (6, 2, 'number three');
-- The guard of the whole table replaces the guards of partitions.
SELECT simhash_guard('parted', 'skip');
INSERT INTO parted VALUES (7, 1, 'number three') RETURNING id;
SELECT tgrelid::regclass AS relation, tgparentid <> 0 AS is_child, substr(tgargs, 1, 4) = 'skip' AS skips
FROM pg_trigger WHERE tgrelid::regclass::text LIKE 'parted%' ORDER BY tgrelid::regclass::text;

-- Partitions by an expression and by hash: an UPDATE that moves no row stores all; one that moves near rows is refused.
CREATE TABLE deep (id integer, kind text, f bigint) PARTITION BY LIST (lower(kind));
CREATE TABLE deep_a PARTITION OF deep FOR VALUES IN ('a') PARTITION BY HASH (id);
CREATE TABLE deep_a_0 PARTITION OF deep_a FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE deep_a_1 PARTITION OF deep_a FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE deep_other PARTITION OF deep DEFAULT;
INSERT INTO deep SELECT n, 'a', n FROM generate_series(0, 3) AS n;
SELECT simhash_attach('deep', 'f'), simhash_guard('deep', 'skip', source => 'f');
UPDATE deep SET kind = 'A' RETURNING id;
UPDATE deep SET kind = 'b' RETURNING id;
-- The locks are kept from one partition to the next, so no other session can store a near row in between.
CREATE TABLE moving (id integer, part integer, f bigint, note text, PRIMARY KEY (id, part)) PARTITION BY LIST (part);
CREATE TABLE moving_1 PARTITION OF moving FOR VALUES IN (1);
CREATE TABLE moving_2 PARTITION OF moving FOR VALUES IN (2);
INSERT INTO moving VALUES (4, 2, 255);
SELECT simhash_attach('moving', 'f'), simhash_guard('moving', source => 'f');
CREATE FUNCTION tell_locks() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN NEW.note = guard_locks(); RETURN NEW; END $$;
CREATE TRIGGER aa BEFORE INSERT ON moving_1 FOR EACH ROW EXECUTE FUNCTION tell_locks();
UPDATE moving SET part = 1 WHERE id = 4 RETURNING id, note;
SELECT guard_locks();

-- Partitions that are added and removed at any level, while the session has the former ones in its cache.
CREATE TABLE tree (id integer, part integer, f bigint) PARTITION BY LIST (part);
CREATE TABLE tree_1 PARTITION OF tree FOR VALUES IN (1);
CREATE TABLE tree_2 PARTITION OF tree FOR VALUES IN (2, 3, 4) PARTITION BY LIST (part);
CREATE TABLE tree_2_2 PARTITION OF tree_2 FOR VALUES IN (2);
SELECT simhash_attach('tree', 'f'), simhash_guard('tree', 'skip', source => 'f');
INSERT INTO tree VALUES (1, 1, 0), (2, 2, 255);
CREATE TABLE tree_2_3 PARTITION OF tree_2 FOR VALUES IN (3);
INSERT INTO tree VALUES (3, 3, -1) RETURNING id;
INSERT INTO tree VALUES (4, 1, -1), (4, 2, -2), (4, 3, -3) RETURNING id;
CREATE TABLE tree_2_4 (LIKE tree_2_3 INCLUDING GENERATED);
INSERT INTO tree_2_4 VALUES (5, 4, 65535);
INSERT INTO tree VALUES (6, 1, 65535) RETURNING id;
DELETE FROM tree WHERE id = 6;
ALTER TABLE tree_2 ATTACH PARTITION tree_2_4 FOR VALUES IN (4);
INSERT INTO tree VALUES (6, 1, 65535), (6, 2, 65534) RETURNING id;
ALTER TABLE tree_2 DETACH PARTITION tree_2_4;
INSERT INTO tree VALUES (6, 1, 65535) RETURNING id;
DROP TABLE tree_2_3;
INSERT INTO tree VALUES (7, 2, -1) RETURNING id;
ALTER TABLE tree DETACH PARTITION tree_2;
INSERT INTO tree VALUES (8, 1, -1) RETURNING id;
INSERT INTO tree_2 VALUES (9, 2, -1), (9, 2, 0) RETURNING id;

-- Partitions may have keys of different types of their own: equally near rows, one with each key.
CREATE TABLE keyed (part integer, id integer, name text, f bigint) PARTITION BY LIST (part);
CREATE TABLE keyed_1 PARTITION OF keyed FOR VALUES IN (1);
CREATE TABLE keyed_2 PARTITION OF keyed FOR VALUES IN (2);
ALTER TABLE keyed_1 ADD PRIMARY KEY (id);
ALTER TABLE keyed_2 ADD PRIMARY KEY (name);
SELECT simhash_attach('keyed', 'f');
INSERT INTO keyed VALUES (1, 7, 'seven', 0), (2, 8, 'eight', 0), (2, 9, 'a ninth', 0);
SELECT simhash_guard('keyed', source => 'f');
SELECT errors('INSERT INTO keyed VALUES (1, 10, ''ten'', 1)', 'INSERT INTO keyed VALUES (2, 10, ''ten'', 1)');

-- Partitions with indexes of their own, and none on the table, must agree in the source and the options.
CREATE TABLE apart (part integer, body text, title text) PARTITION BY LIST (part);
CREATE TABLE apart_1 PARTITION OF apart FOR VALUES IN (1);
CREATE TABLE apart_2 PARTITION OF apart FOR VALUES IN (2);
SELECT simhash_index('apart_1', 'body', '{"same": ["numbers"]}'), simhash_index('apart_2', 'body', '{"seed": 0}');
SELECT errors('SELECT simhash_guard(''apart'')', 'SELECT * FROM simhash_preview(''apart'')',
    'SELECT simhash_guard(''apart'', criterion => ''{"same": []}'')');
SELECT simhash_guard('apart', criterion => '{"same": ["numbers"]}');
SELECT simhash_unguard('apart'), simhash_index('apart_2', 'body', '{"same": ["numbers"]}');
SELECT errors('SELECT simhash_guard(''apart'')');
SELECT run(format('DROP INDEX %s', indexrelid::regclass)) FROM pg_index WHERE indrelid = 'apart_1'::regclass;
SELECT simhash_index('apart_1', 'title');
SELECT errors('SELECT simhash_guard(''apart'', criterion => ''{"same": []}'')');
SELECT simhash_index('apart', 'title'), simhash_guard('apart');
SELECT source FROM simhash_guards() WHERE target = 'apart'::regclass;
-- The guard needs the same bands in each partition, and searches all partitions.
CREATE TABLE parts (id integer, body text) PARTITION BY HASH (id);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts_1 (body text, gone integer, id integer);
ALTER TABLE parts_1 DROP gone;
ALTER TABLE parts ATTACH PARTITION parts_1 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
SELECT simhash_index('parts_0', 'upper(body)'), simhash_index('parts_1', 'upper(body)', bands => 5);
SELECT errors($$SELECT simhash_guard('parts', 'skip')$$);
SELECT simhash_guard('parts', 'skip', '{"bands": 5}');
INSERT INTO parts SELECT n, 'the same text' FROM generate_series(1, 10) AS n;
SELECT count(*) FROM parts;
