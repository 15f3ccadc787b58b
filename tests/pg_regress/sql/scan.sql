-- The scan of block indexes as the executor uses it: repeatedly, with changing tables, and during other commands.
CREATE TABLE prints (id integer PRIMARY KEY, tag integer, fp bigint);
INSERT INTO prints SELECT n, n % 10, n::bigint << 40 | n FROM generate_series(1, 5000) n;
SELECT simhash_attach('prints', 'fp', prefix => 'b');
VACUUM ANALYZE prints;

-- The first query of a session loads the library while it is planned, and already has the scan.
\c -
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM prints ORDER BY fp <~> 5 LIMIT 1;

-- After an update, the entries point to the new versions.
BEGIN;
UPDATE prints SET tag = -1 WHERE id <= 10;
SELECT count(*), count(DISTINCT fp) FROM prints WHERE simhash_near(fp, 5::bigint << 40 | 5, 2);
SELECT tableoid::regclass, id FROM prints WHERE simhash_near(fp, 5::bigint << 40 | 5, 0);
ROLLBACK;
SELECT count(*) FROM prints WHERE simhash_near(fp, 5::bigint << 40 | 5, 2);

-- Chains of versions that share an index entry: each snapshot sees its own.
SELECT count(DISTINCT ctid) FROM prints WHERE simhash_near(fp, 6::bigint << 40 | 6, 0);
BEGIN ISOLATION LEVEL REPEATABLE READ;
DECLARE before_update CURSOR FOR SELECT id, tag FROM prints WHERE simhash_near(fp, 6::bigint << 40 | 6, 0);
UPDATE prints SET tag = 60 WHERE id = 6;
UPDATE prints SET tag = 61 WHERE id = 6;
SELECT id, tag FROM prints WHERE simhash_near(fp, 6::bigint << 40 | 6, 0);
FETCH ALL FROM before_update;
UPDATE prints SET fp = -1 WHERE id = 6;
SELECT id, tag FROM prints WHERE simhash_near(fp, 6::bigint << 40 | 6, 0);
ROLLBACK;

-- A cursor on the scan has a current row.
BEGIN;
DECLARE c CURSOR FOR SELECT id, fp FROM prints WHERE simhash_near(fp, 5::bigint << 40 | 5, 0) FOR UPDATE;
FETCH c;
UPDATE prints SET tag = 55 WHERE CURRENT OF c RETURNING id, tag;
CLOSE c;
DECLARE c CURSOR FOR SELECT id FROM prints ORDER BY fp <~> (8::bigint << 40 | 8);
FETCH c;
DELETE FROM prints WHERE CURRENT OF c RETURNING id, tag;
ROLLBACK;

-- A cursor at a row whose update has left the indexes unchanged.
CREATE TABLE updated (id integer, fp bigint) WITH (fillfactor = 50);
INSERT INTO updated SELECT n, n::bigint << 40 | n FROM generate_series(1, 2000) n;
CREATE INDEX ON updated (simhash_block(fp, 0, 2)) INCLUDE (fp);
CREATE INDEX updated_block1 ON updated (simhash_block(fp, 1, 2)) INCLUDE (fp);
VACUUM ANALYZE updated;
UPDATE updated SET id = -id WHERE id IN (7, 1500);
BEGIN;
DECLARE c CURSOR FOR SELECT fp FROM updated WHERE simhash_near(fp, 7::bigint << 40 | 7, 0);
FETCH c;
DELETE FROM updated WHERE CURRENT OF c RETURNING id;
ROLLBACK;
-- An index that an open cursor uses cannot be dropped, even if the cursor has read nothing.
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM updated WHERE simhash_near(fp, 8::bigint << 40 | 8, 0);
SAVEPOINT before_drop;
\set VERBOSITY sqlstate
DROP INDEX updated_block1;
\set VERBOSITY default
ROLLBACK TO before_drop;
FETCH c;
CLOSE c;
DROP INDEX updated_block1; ROLLBACK;

-- Cached plans, while the table and its indexes change.
SET plan_cache_mode = force_generic_plan;
PREPARE near (bigint) AS SELECT id FROM prints WHERE simhash_near(fp, $1, 1) ORDER BY id;
PREPARE nearest (bigint) AS SELECT id FROM prints ORDER BY fp <~> $1 LIMIT 1;
EXECUTE near (7::bigint << 40 | 7);
EXECUTE nearest (7::bigint << 40 | 7);
DROP INDEX prints_b_block0_idx;
EXECUTE near (7::bigint << 40 | 7);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'prints_b_block1_idx'::regclass;
ALTER TABLE prints ADD added text DEFAULT 'added';
ALTER TABLE prints DROP COLUMN tag;
EXECUTE near (7::bigint << 40 | 7);
REINDEX TABLE prints;
EXECUTE nearest (7::bigint << 40 | 7);
DROP INDEX prints_b_block2_idx, prints_b_block3_idx;
EXECUTE near (7::bigint << 40 | 7);
UPDATE pg_index SET indisvalid = true WHERE indexrelid = 'prints_b_block1_idx'::regclass;
DROP INDEX prints_b_block1_idx;
EXECUTE near (7::bigint << 40 | 7);
EXECUTE nearest (7::bigint << 40 | 7);
SELECT is_searched('EXECUTE near (7)');
DEALLOCATE ALL;
RESET plan_cache_mode;

-- Parallel workers run the scan, and report what it did.
CREATE TABLE queries AS SELECT n AS id, n::bigint << 40 | n AS q FROM generate_series(1, 2000) n;
ALTER TABLE queries SET (parallel_workers = 2);
SELECT simhash_attach('prints', 'fp', prefix => 'b');
VACUUM ANALYZE prints, queries;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2; SET enable_seqscan = on;
EXPLAIN (COSTS OFF) SELECT count(*) FROM queries JOIN prints ON simhash_near(fp, q, 0);
SELECT count(*) FROM queries JOIN prints ON simhash_near(fp, q, 0);
SELECT line ~ 'Custom Scan.*loops=2000\)|Heap Fetches: 2000' OR substring(line, ': (\d+)')::integer >= 2000
FROM run_lines('SELECT max(prints.id) FROM queries JOIN prints ON simhash_near(fp, q, 0)',
    'Custom Scan|Heap Fetches|Index Entries') AS line;
RESET ALL;

-- Indexes on a column and the block serve searches among the rows with one value of that column, and know its new name.
CREATE TABLE tenants (tenant text, part smallint, id integer, fp bigint);
INSERT INTO tenants SELECT 'tenant ' || n % 7, n % 3, n, n::bigint << 40 | n FROM generate_series(1, 5000) n;
INSERT INTO tenants VALUES ('tenant 5', 0, 0, NULL);
SELECT run(format('CREATE INDEX ON tenants (tenant, part, simhash_block(fp, %s)) INCLUDE (fp)', block))
FROM generate_series(0, 3) AS block;
ALTER TABLE tenants RENAME part TO section; ANALYZE tenants; SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM tenants WHERE tenant = 'tenant 5' AND section = 1 AND simhash_near(fp, 5, 4);
-- No scan with another collation, with another operator, or without a condition on each of the columns.
SELECT condition, is_searched(format('SELECT id FROM tenants WHERE %s AND simhash_near(fp, 5)', condition))
FROM unnest(ARRAY['tenant = ''tenant 5'' COLLATE "POSIX" AND section = 1', 'tenant >= ''tenant 5'' AND section = 1',
    'tenant = ''tenant 5''']) AS condition;
-- A condition is compared by one collation, so an index of another collation is left out.
SELECT coalesce((SELECT collname FROM pg_collation WHERE collname = 'und-x-icu'), 'POSIX') AS collation \gset
CREATE TABLE collated (tenant text COLLATE :"collation", fp bigint);
INSERT INTO collated
SELECT (ARRAY['B', 'a', 'C', 'b', 'A', 'c'])[n % 6 + 1], n::bigint << 40 | n FROM generate_series(1, 3000) n;
CREATE INDEX ON collated (tenant, simhash_block(fp, 0, 2)) INCLUDE (fp);
CREATE INDEX ON collated (tenant COLLATE "C", simhash_block(fp, 1, 2)) INCLUDE (fp);
ANALYZE collated;
EXPLAIN (COSTS OFF) SELECT count(*) FROM collated WHERE tenant = 'B' AND simhash_near(fp, 6, 12);
SELECT t, (SELECT count(*) FROM collated WHERE tenant = t AND simhash_near(fp, 6, 12)) AS found,
    (SELECT count(*) FROM collated WHERE tenant = t AND hamming(fp, 6) + 0 <= 12) AS expected
FROM unnest('{A,B,C,a,b,c}'::text[]) AS t;

-- A cached plan, while the table grows a thousandfold: the search takes the new size into account.
CREATE TABLE growing (fp bigint);
SELECT simhash_attach('growing', 'fp', blocks => 2);
INSERT INTO growing SELECT hashint8extended(n, 0) FROM generate_series(1, 100) n;
ANALYZE growing; SET plan_cache_mode = force_generic_plan;
PREPARE grown (bigint) AS SELECT count(*) FROM growing WHERE simhash_near(fp, $1);
EXECUTE grown (hashint8extended(7, 0));
BEGIN;
-- Three in four of these share a block.
INSERT INTO growing SELECT hashint8extended(n, 0) & ~((1::bigint << 31 + n % 2) - 1) FROM generate_series(1, 100000) n;
SELECT run_lines('EXECUTE grown (hashint8extended(8, 0) & ~((1::bigint << 31) - 1))', 'Full Scans');
ROLLBACK; RESET plan_cache_mode;

-- Another order of integers is not the order of the scan.
CREATE FUNCTION compare_reversed(integer, integer) RETURNS integer LANGUAGE sql IMMUTABLE RETURN btint4cmp($2, $1);
CREATE OPERATOR <^ (FUNCTION = int4gt, LEFTARG = integer, RIGHTARG = integer);
CREATE OPERATOR <=^ (FUNCTION = int4ge, LEFTARG = integer, RIGHTARG = integer);
CREATE OPERATOR >=^ (FUNCTION = int4le, LEFTARG = integer, RIGHTARG = integer);
CREATE OPERATOR >^ (FUNCTION = int4lt, LEFTARG = integer, RIGHTARG = integer);
CREATE OPERATOR CLASS reversed FOR TYPE integer USING btree AS
    OPERATOR 1 <^, OPERATOR 2 <=^, OPERATOR 3 =, OPERATOR 4 >=^, OPERATOR 5 >^,
    FUNCTION 1 compare_reversed(integer, integer);
SELECT is_searched('SELECT FROM prints ORDER BY (fp <~> 42) USING <^ LIMIT 1') AS reversed,
    is_searched('SELECT FROM prints ORDER BY (fp <~> 42) USING < LIMIT 1') AS ascending;
SELECT (SELECT fp <~> 42 FROM prints ORDER BY (fp <~> 42) USING <^ LIMIT 1)
    = (SELECT max(fp <~> 42) FROM prints) AS farthest;

-- With LIMIT, the scan of each partition stores about as many rows as are wanted.
CREATE TABLE many (id integer, fp bigint) PARTITION BY HASH (id);
SELECT run(format('CREATE TABLE many%s PARTITION OF many FOR VALUES WITH (MODULUS 20, REMAINDER %1$s)', n))
FROM generate_series(0, 19) AS n;
SELECT simhash_attach('many', 'fp', blocks => 2);
INSERT INTO many SELECT n, hashint8extended(n, 0) FROM generate_series(1, 300000) n;
VACUUM ANALYZE many;
-- Linux reports a process's memory; on other systems, the function returns 0.
CREATE FUNCTION resident_bytes() RETURNS bigint LANGUAGE sql RETURN coalesce(
    substring(pg_read_file('/proc/self/status', 0, 10000, true) FROM 'RssAnon:\s*(\d+) kB')::bigint * 1024, 0);
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM many ORDER BY fp <~> 42 LIMIT 10;
SELECT resident_bytes() AS before \gset
MOVE 1 FROM c;
SELECT resident_bytes() - :before < 4 * 1024 * 1024 AS stores_little;
ROLLBACK;
-- If other conditions refuse more rows than expected, the scan goes on with more memory.
SELECT same_rows('SELECT array_agg(d) FROM
    (SELECT fp <~> 42 AS d FROM many WHERE id % 5000 = 7 ORDER BY d LIMIT 10) AS nearest');

-- A search can be cancelled while everything it has found is invisible. It is cancelled after a twentieth of the time
-- of the faster of two searches. The function after the search in the same row must not be reached.
CREATE TABLE copies (fp bigint);
INSERT INTO copies SELECT 42 FROM generate_series(1, 500000);
SELECT simhash_attach('copies', 'fp', blocks => 2);
VACUUM ANALYZE copies;
CREATE SEQUENCE after_search;
SET work_mem = '64MB';
BEGIN;
DELETE FROM copies;
SELECT clock_timestamp() AS start \gset
SELECT fp FROM copies ORDER BY fp <~> 42 LIMIT 1;
SELECT clock_timestamp() - :'start' AS first, clock_timestamp() AS start \gset
SELECT fp FROM copies ORDER BY fp <~> 42 LIMIT 1;
SELECT ceil(1000 * extract(epoch FROM least(:'first', clock_timestamp() - :'start')) / 20) AS twentieth,
    setval('after_search', 1, false) \gset
\set VERBOSITY sqlstate
SET LOCAL statement_timeout = :twentieth;
SELECT nextval('after_search')
FROM (VALUES (1)) AS one LEFT JOIN LATERAL (SELECT fp FROM copies ORDER BY fp <~> 42 LIMIT 1) AS nearest ON true;
\set VERBOSITY default
ROLLBACK;
SELECT NOT is_called AS cancelled_within FROM after_search;
