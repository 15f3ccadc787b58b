-- How many rows the planner expects within a distance, and the plans that follow.
-- A tenth of the rows has one fingerprint, another tenth none.
CREATE TABLE docs (id integer PRIMARY KEY, author integer, created_at integer, fp bigint);
INSERT INTO docs SELECT n, n % 1000, -n, CASE n % 10 WHEN 0 THEN 42 WHEN 1 THEN NULL ELSE random_fingerprint(n) END
FROM generate_series(1, 20000) n;
CREATE INDEX ON docs (author);
CREATE INDEX ON docs (created_at);
SELECT simhash_attach('docs', 'fp');
CREATE TABLE news AS SELECT id, fp # 1 AS fp FROM docs WHERE id % 100 = 7;
VACUUM ANALYZE docs, news;
CREATE FUNCTION plan_nodes(query text) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(line, '; ') FROM plan_lines(query, '^( *->|\w)') AS line
$$;

-- Few rows are expected within 3 bits, many within 30, whichever way the condition is written; also without a scan, and
-- in each kind of path.
SELECT estimate('SELECT FROM docs WHERE simhash_near(fp, 7)') AS near,
    estimate('SELECT FROM docs WHERE 4 > hamming(7, fp)') AS hamming,
    estimate('SELECT FROM docs WHERE fp <~> 7 <= 30') AS far;
SELECT estimate('SELECT FROM docs WHERE fp <~> 7 <= 3 AND author < 500 ORDER BY author', 'Index Scan|SimhashScan');
SET pg_simhash.enable_scan = off;
SELECT plan_nodes('SELECT FROM docs WHERE fp <~> 7 <= 3'), estimate('SELECT FROM docs WHERE fp <~> 7 <= 3');
RESET pg_simhash.enable_scan;
-- With ORDER BY and LIMIT, the few near rows are sorted; the index of the order is not scanned.
SELECT plan_nodes('SELECT id FROM docs WHERE fp <~> 7 <= 3 ORDER BY created_at LIMIT 20');
-- Most common values are counted, whichever argument the query is, and for the parameter of a custom plan.
SELECT estimate('SELECT FROM docs WHERE simhash_near(fp, 42)') AS near,
    estimate('SELECT FROM docs WHERE 4 > hamming(40, fp)') AS hamming,
    estimate('SELECT FROM docs WHERE simhash_near(fp, 40, 0)') AS others;
SELECT plan_nodes('SELECT id FROM docs WHERE author = 110 AND simhash_near(fp, 42)');
SELECT plan_nodes('SELECT id FROM docs WHERE fp <~> 42 <= 3 ORDER BY created_at LIMIT 20');
SET plan_cache_mode = force_custom_plan;
PREPARE near (bigint) AS SELECT FROM docs WHERE simhash_near(fp, $1);
SELECT estimate('EXECUTE near (42)'), estimate('EXECUTE near (7)');
SET plan_cache_mode = force_generic_plan;
SELECT estimate('EXECUTE near (42)');
RESET plan_cache_mode;

-- Joins: as many near pairs as rows; half of the rows have a near one.
SELECT estimate('SELECT FROM news n JOIN docs d ON simhash_near(d.fp, n.fp)') AS near,
    estimate('SELECT FROM news n LEFT JOIN docs d ON d.fp <~> n.fp <= 3') AS outer;
SELECT estimate('SELECT FROM news n WHERE EXISTS (SELECT FROM docs d WHERE simhash_near(d.fp, n.fp))') AS near,
    estimate('SELECT FROM news n WHERE NOT EXISTS (SELECT FROM docs d WHERE simhash_near(d.fp, n.fp))') AS not_near;

-- EXISTS and NOT EXISTS with another equality: a search for each row, unless a hash join compares few pairs.
CREATE TABLE notes (id integer, tenant integer, fp bigint) PARTITION BY LIST (tenant);
CREATE TABLE notes0 PARTITION OF notes FOR VALUES IN (0, 1, 2);
CREATE TABLE notes1 PARTITION OF notes DEFAULT;
INSERT INTO notes SELECT n, n % 6, random_fingerprint(n % 4999) FROM generate_series(1, 6000) n;
SELECT simhash_attach('notes', 'fp', scope => '{tenant}');
CREATE TABLE tenants AS SELECT n AS tenant FROM generate_series(0, 5) n;
VACUUM ANALYZE notes, tenants;
CREATE TEMPORARY TABLE queries AS
SELECT format('SELECT n.id FROM %s WHERE %s (SELECT FROM notes0 o WHERE o.tenant = n.tenant AND o.id < n.id AND %s)',
    source, test, near) AS query
FROM unnest('{notes0 n, notes0 n JOIN tenants USING (tenant)}'::text[]) source,
    unnest('{EXISTS, NOT EXISTS}'::text[]) test,
    unnest('{"simhash_near(n.fp, o.fp)", "o.fp <~> n.fp <= 3", "bit_count((o.fp # n.fp)::bit(64)) < 4"}'::text[]) near
UNION ALL
SELECT 'SELECT n.id FROM notes0 n LEFT JOIN notes0 o ON o.tenant = n.tenant AND o.id < n.id AND simhash_near(o.fp, n.fp)
    WHERE o.id IS NULL';
SELECT count(*) AS queries,
    count(*) FILTER (WHERE plan ~ 'Nested Loop (Semi|Anti) Join.*SimhashScan' AND plan !~ 'Hash (Semi|Anti)')
FROM queries, plan_nodes(query) AS plan;
SET enable_partitionwise_join = on;
SELECT plan_nodes('SELECT FROM notes n WHERE EXISTS
    (SELECT FROM notes o WHERE o.tenant = n.tenant AND simhash_near(o.fp, n.fp))');
RESET enable_partitionwise_join;
-- Joins for which a hash join is cheaper, or the only choice.
SELECT plan_nodes('SELECT n.id FROM notes0 n WHERE EXISTS
    (SELECT FROM notes0 o WHERE o.id = n.id AND o.id < n.id AND simhash_near(n.fp, o.fp))')
    ~ 'Hash (Right )?Semi Join' AS of_few_pairs;
SET enable_nestloop = off;
SELECT bool_and(plan_nodes(query) ~ 'Hash (Right )?(Semi|Anti) Join') AS without_nested_loop FROM queries;

-- Families of tables: the whole, and each member.
CREATE TABLE parts (id integer, fp bigint) PARTITION BY LIST ((id % 3));
SELECT run(format('CREATE TABLE parts%s PARTITION OF parts FOR VALUES IN (%1$s)%s', n,
    CASE n WHEN 2 THEN ' PARTITION BY RANGE (id)' END)) FROM generate_series(0, 2) n;
CREATE TABLE parts2_1 PARTITION OF parts2 DEFAULT;
INSERT INTO parts SELECT id, fp FROM docs;
ANALYZE parts;
SELECT estimate('SELECT FROM parts WHERE fp <~> 7 <= 3') AS whole,
    estimate('SELECT FROM parts WHERE fp <~> 7 <= 3', 'parts1') AS part,
    estimate('SELECT FROM parts p JOIN docs d USING (id) WHERE p.fp <~> 7 <= 3') AS joined,
    estimate('SELECT FROM (SELECT fp FROM docs UNION ALL SELECT fp FROM parts) u WHERE fp <~> 7 <= 3') AS of_union;

-- Without LIMIT, the nearest rows are sorted; with LIMIT, the scan finds them, also with little memory.
SET enable_seqscan = off; SET work_mem = '64kB';
SELECT plan_nodes('SELECT fp <~> 7 FROM docs ORDER BY fp <~> 7');
SELECT plan_nodes('SELECT fp <~> 7 FROM docs ORDER BY fp <~> 7 LIMIT 5');

-- The searches of many partitions are not worth a parallel worker each, as PostgreSQL's own scans of indexes are not,
-- unless one of them takes longer than starting a worker.
CREATE TABLE days (day integer, body text, fp bigint) PARTITION BY LIST (day);
SELECT run(format('CREATE TABLE day%s PARTITION OF days FOR VALUES IN (%1$s)', n)) FROM generate_series(1, 20) n;
INSERT INTO days SELECT n % 20 + 1, 'text ' || n, random_fingerprint(n) FROM generate_series(1, 1000) n;
SELECT simhash_index('days', 'body'), simhash_attach('days', 'fp');
ANALYZE days;
CREATE FUNCTION is_parallel(query text) RETURNS boolean LANGUAGE sql RETURN plan_nodes(query) ~ 'Gather.*SimhashScan';
SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 40; SET min_parallel_table_scan_size = 0;
SELECT is_parallel('SELECT FROM days WHERE simhash_near(fp, 7)') AS near,
    is_parallel('SELECT FROM days WHERE simhash_near(body, ''text 7'')') AS text;
SET parallel_setup_cost = 1;
SELECT is_parallel('SELECT FROM days WHERE simhash_near(fp, 7)') AS near,
    is_parallel('SELECT FROM days WHERE simhash_near(body, ''text 7'')') AS text;
RESET max_parallel_workers_per_gather;

-- Texts that share a band and differ in their numbers.
CREATE TABLE letters AS SELECT 'the parcel with the number ' || n
    || ' has left our store and will arrive on Monday, so please be at home between eight and noon' AS body
FROM generate_series(1, 1000) n;
SELECT simhash_index('letters', 'body');
ANALYZE letters;
SELECT estimate(format('SELECT FROM letters WHERE simhash_near(body, %L)', body)) AS template,
    estimate(format('SELECT FROM letters WHERE simhash_near(body, %L, ''{"same": ["numbers"]}'')', body)) AS copies
FROM letters LIMIT 1;

-- Half of the texts are one. The search by the key of a join stays a search for one row, and a search by bands for each
-- row of a tenant, which compares ten thousand texts each time, is not chosen.
CREATE TABLE copies AS SELECT n AS id, n % 50 AS tenant, CASE WHEN n / 50 % 2 = 0
    THEN 'a text that very many of them have in common' ELSE md5(n::text) || ' ' || md5('a' || n) || ' ' || md5('b' || n)
    END AS body FROM generate_series(1, 20000) AS n;
ALTER TABLE copies ADD PRIMARY KEY (id);
CREATE INDEX copies_tenant ON copies (tenant);
CREATE TABLE few AS SELECT * FROM copies WHERE id % 100 = 51;
SELECT simhash_index('copies', 'body'), simhash_index('few', 'body');
VACUUM ANALYZE copies, few; RESET ALL;
SELECT plan_nodes('SELECT FROM copies a JOIN copies b ON b.id = a.id + 1 AND simhash_near(b.body, a.body) WHERE a.id < 100');
SELECT plan_nodes('SELECT FROM copies a JOIN copies b ON b.tenant = a.tenant AND simhash_near(b.body, a.body)
    WHERE a.id <= 200');
-- The order of two indexed tables does not matter.
SELECT estimate('SELECT FROM few f JOIN copies c ON simhash_near(c.body, f.body)') AS few_first,
    estimate('SELECT FROM copies c JOIN few f ON simhash_near(c.body, f.body)') AS copies_first;
-- The planner may change the places of outer joins.
SELECT estimate('SELECT FROM news n LEFT JOIN docs d ON d.id = n.id LEFT JOIN docs e ON e.fp <~> d.fp <= 3');
