-- Since PostgreSQL 19: pg_plan_advice. Advice for another scan of a table is followed.
LOAD 'pg_plan_advice';
CREATE TABLE advised (id integer PRIMARY KEY, fp bigint);
INSERT INTO advised SELECT n, random_fingerprint(n) FROM generate_series(1, 5000) AS n;
SELECT simhash_attach('advised', 'fp');
EXPLAIN (COSTS OFF, PLAN_ADVICE) SELECT id FROM advised WHERE simhash_near(fp, 42);
SET pg_plan_advice.advice = 'SEQ_SCAN(advised)';
EXPLAIN (COSTS OFF) SELECT id FROM advised WHERE simhash_near(fp, 42);
SET pg_plan_advice.advice = 'INDEX_SCAN(advised advised_pkey)';
EXPLAIN (COSTS OFF) SELECT id FROM advised WHERE simhash_near(fp, 42) AND id < 10;
-- Advice on another table, or on a join, excludes nothing.
SET pg_plan_advice.advice = 'SEQ_SCAN(one) NESTED_LOOP_PLAIN(other)';
EXPLAIN (COSTS OFF) SELECT one.id, other.id FROM advised AS one JOIN advised AS other ON simhash_near(one.fp, other.fp);
