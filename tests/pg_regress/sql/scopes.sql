-- Searches within a scope whose value is not written as `column = value`: it comes from a join, or is a boolean.
-- (Constants: scan.sql.)
CREATE TABLE docs (id integer PRIMARY KEY, tenant integer, lang text, published boolean, fp bigint);
INSERT INTO docs SELECT n, n % 50, (ARRAY['de', 'en', 'fr'])[n % 3 + 1], n % 2 = 0,
    random_fingerprint(n % 2000) # (1::bigint << n / 2000) FROM generate_series(1, 20000) n;
SELECT simhash_attach('docs', 'fp', scope => '{tenant}');
CREATE TABLE news AS SELECT id, tenant, lang, fp # 1 AS fp FROM docs WHERE id % 97 = 7;
CREATE TABLE tenants AS SELECT n AS id, 'tenant ' || n AS name FROM generate_series(0, 49) n;
VACUUM ANALYZE docs, news, tenants;
-- The scopes of a plan, and whether the query has the rows that it has without the scan.
CREATE FUNCTION scopes(query text) RETURNS TABLE (scope text, is_same boolean) LANGUAGE sql AS $$
    SELECT (SELECT string_agg(substring(line FROM 'Scope: (.*)'), '; ') FROM plan_lines(query, 'Scope: ') AS line),
        coalesce(same_rows(query), false)
$$;

-- Joins ---------------------------------------------------------------------------

-- With default settings, the planner chooses the scan.
SELECT * FROM scopes('SELECT n.id, d.id FROM news n JOIN docs d ON d.tenant = n.tenant AND simhash_near(d.fp, n.fp)');
SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
SELECT * FROM scopes('SELECT n.id, d.id FROM news n JOIN docs d ON d.tenant = n.tenant AND simhash_near(d.fp, n.fp)');
SELECT * FROM scopes('SELECT n.id, d.id FROM news n LEFT JOIN docs d ON d.tenant = n.tenant + 1
    AND simhash_near(d.fp, n.fp, 9)');
SELECT * FROM scopes('SELECT n.id FROM news n WHERE NOT EXISTS (SELECT FROM docs d WHERE d.tenant = n.tenant
    AND simhash_near(d.fp, n.fp) AND d.id < n.id)');
-- The tenant of another table, and one that follows from two equalities.
SELECT * FROM scopes('SELECT d.id FROM docs d JOIN tenants t ON t.id = d.tenant WHERE t.name = ''tenant 4''
    AND simhash_near(d.fp, random_fingerprint(104), 5)');
SELECT * FROM scopes('SELECT n.id, d.id FROM news n JOIN docs d ON d.tenant = n.tenant AND simhash_near(d.fp, n.fp)
    WHERE n.tenant = 7');
-- A row without a tenant has no near rows; neither has one without a fingerprint.
INSERT INTO news VALUES (-1, NULL, NULL, random_fingerprint(7)), (-2, 7, 'de', NULL);
SELECT * FROM scopes('SELECT n.id, d.id FROM news n LEFT JOIN docs d ON d.tenant = n.tenant
    AND simhash_near(d.fp, n.fp) WHERE n.id < 2000');
-- A volatile value gives no scope. A LATERAL that PostgreSQL does not pull up has parameters.
SELECT scope FROM scopes('SELECT n.id, d.id FROM news n JOIN docs d ON d.tenant = n.tenant + (random() * 0)::integer
    AND simhash_near(d.fp, n.fp)');
SELECT * FROM scopes('SELECT n.id, f.id FROM news n, LATERAL (SELECT id FROM docs d WHERE d.tenant = n.tenant
    AND simhash_near(d.fp, n.fp) ORDER BY id LIMIT 1) f');

-- Two columns, of which both or one have a value.
SELECT simhash_detach('docs'), simhash_attach('docs', 'fp', scope => '{tenant,lang}');
ANALYZE docs;
SELECT * FROM scopes('SELECT n.id, d.id FROM news n JOIN docs d ON d.tenant = n.tenant AND d.lang = n.lang
    AND simhash_near(d.fp, n.fp)');
SELECT scope FROM scopes('SELECT n.id, d.id FROM news n JOIN docs d ON d.tenant = n.tenant
    AND simhash_near(d.fp, n.fp)');

-- A join that is planned partition by partition: the scope is a column of a partition, too.
CREATE TABLE parts (id integer, tenant integer, fp bigint) PARTITION BY LIST (tenant);
CREATE TABLE new_parts (id integer, tenant integer, fp bigint) PARTITION BY LIST (tenant);
SELECT run(format('CREATE TABLE %s_%s PARTITION OF %1$s FOR VALUES IN (%2$s)', t, n))
FROM unnest('{parts,new_parts}'::text[]) t, generate_series(1, 2) n;
INSERT INTO parts SELECT id, tenant, fp FROM docs WHERE tenant IN (1, 2);
INSERT INTO new_parts SELECT id, tenant, fp # 1 FROM docs WHERE tenant IN (1, 2) AND id % 16 = 1;
SELECT simhash_attach('parts', 'fp', prefix => 'b', scope => '{tenant}');
ANALYZE parts, new_parts; SET enable_partitionwise_join = on;
SELECT * FROM scopes('SELECT n.id, d.id FROM new_parts n JOIN parts d ON d.tenant = n.tenant
    AND simhash_near(d.fp, n.fp)');
RESET enable_partitionwise_join;

-- Booleans ------------------------------------------------------------------------

SELECT simhash_detach('docs'), simhash_attach('docs', 'fp', scope => '{published}');
ANALYZE docs;
SELECT * FROM scopes('SELECT id FROM docs WHERE published AND simhash_near(fp, random_fingerprint(42))');
SELECT * FROM scopes('SELECT id FROM docs WHERE NOT published AND simhash_near(fp, random_fingerprint(43))');
SELECT * FROM scopes('SELECT fp <~> 42 FROM docs WHERE published ORDER BY fp <~> 42 LIMIT 3');
PREPARE published (boolean) AS SELECT count(*) FROM docs WHERE published = $1
    AND simhash_near(fp, random_fingerprint(43));
SET plan_cache_mode = force_generic_plan;
EXECUTE published (false);
-- IS NOT TRUE means two values, so it gives no scope.
SELECT scope FROM scopes('SELECT id FROM docs WHERE published IS NOT TRUE
    AND simhash_near(fp, random_fingerprint(42))');
