-- Indexes within a scope: simhash_attach(.., scope).
SET client_min_messages = notice;

CREATE TABLE scoped (id integer PRIMARY KEY, tenant_id integer, lang text COLLATE "C", body text, fields json);
INSERT INTO scoped
SELECT n, n % 20, CASE n % 3 WHEN 0 THEN 'de' WHEN 1 THEN 'en' END, md5((n / 40)::text) || ' ' || n, '{}'
FROM generate_series(1, 4000) AS n;
INSERT INTO scoped SELECT 10000 + id, NULL, lang, body FROM scoped WHERE id <= 100;
CREATE VIEW scoped_indexes AS
SELECT pg_get_indexdef(indexrelid) AS index, obj_description(indexrelid, 'pg_class') AS comment
FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
WHERE indrelid = 'scoped'::regclass AND NOT indisprimary ORDER BY relname;

-- A scope added to an attached table gets its own indexes, and the others stay. A second call changes nothing.
SELECT simhash_attach('scoped', 'body', blocks => 2);
SELECT simhash_attach('scoped', 'body', blocks => 2, scope => '{tenant_id}');
SELECT simhash_attach('scoped', 'body', blocks => 2, scope => '{tenant_id}');
SELECT simhash_attach('scoped', 'body', blocks => 2);
SELECT * FROM scoped_indexes;
-- Missing indexes are built, renamed columns and indexes are recognised, and detaching removes all of them.
DROP INDEX scoped_simhash_block1_tenant_id_idx;
ALTER INDEX scoped_simhash_block0_tenant_id_idx RENAME TO a_name;
ALTER TABLE scoped RENAME tenant_id TO tenant;
SELECT simhash_attach('scoped', 'body', blocks => 2, scope => '{tenant}');
ALTER TABLE scoped RENAME tenant TO tenant_id;
SELECT simhash_detach('scoped');
SELECT * FROM scoped_indexes;
SET client_min_messages = warning;
-- An index with other operators or another collation is not taken for one of the scope.
SELECT simhash_attach('scoped', 'body', blocks => 2);
CREATE INDEX other_collation ON scoped (lang COLLATE "POSIX", simhash_block0);
CREATE INDEX other_operators ON scoped (lang text_pattern_ops, simhash_block1);
SET client_min_messages = notice;
SELECT simhash_attach('scoped', 'body', blocks => 2, scope => '{lang}');
SET client_min_messages = warning;
SELECT simhash_detach('scoped');
DROP INDEX other_collation, other_operators;
SELECT simhash_detach('scoped');

-- A scope names other columns of the table than the source, each once, of types that a btree compares.
SELECT simhash_attach('scoped', 'body', blocks => 2);
SELECT errors(VARIADIC
    array_agg(format('SELECT simhash_attach(''scoped'', ''body'', blocks => 2, scope => %L)', scope)))
FROM unnest(ARRAY['{nothing}', '{tenant_id,tenant_id}', '{fields}', '{body}', '{tenant_id,NULL}', '{{tenant_id}}',
    '{ctid}', NULL]) AS scope;
SELECT errors($$SELECT simhash_layouts('scoped', scope => '{simhash}')$$);

-- simhash_layouts counts within the scope group with most rows.
SELECT simhash_attach('scoped', 'body', blocks => 2, scope => '{tenant_id}');
CREATE TABLE skewed (tenant integer, simhash bigint);
INSERT INTO skewed SELECT 1, random_fingerprint(n) FROM generate_series(1, 500) AS n;
INSERT INTO skewed SELECT 2, 7 FROM generate_series(1, 400);
INSERT INTO skewed SELECT NULL, n FROM generate_series(1, 300) AS n;
PREPARE costs AS SELECT commonest, candidates, worst FROM simhash_layouts('skewed', scope => $1) WHERE blocks = 2;
EXECUTE costs ('{}');
EXECUTE costs ('{tenant}');
-- Only the rows with NULL in the scope are left.
DELETE FROM skewed WHERE tenant IS NOT NULL;
EXECUTE costs ('{tenant}');

-- A guard uses indexes within its scope, or within a part of its scope.
DROP INDEX scoped_simhash_block0_idx, scoped_simhash_block1_idx;
SELECT errors($$SELECT simhash_guard('scoped', criterion => '{"resemblance": null}')$$,
    $$SELECT simhash_guard('scoped', criterion => '{"resemblance": null}', scope => '{lang}')$$);
SELECT simhash_guard('scoped', 'skip', '{"max_distance": 3, "resemblance": null}', '{tenant_id}');
SELECT body FROM scoped WHERE id = 283 \gset
INSERT INTO scoped VALUES (20001, 3, 'fr', :'body'), (20002, 21, 'fr', :'body'),
    (20003, NULL, 'fr', 'a text of its own'), (20004, NULL, 'de', 'a text of its own') RETURNING id;
SELECT simhash_guard('scoped', 'skip', '{"max_distance": 3, "resemblance": null}', '{lang,tenant_id}');
INSERT INTO scoped VALUES (20005, 3, 'xx', :'body'), (20006, 3, 'xx', :'body') RETURNING id;
SELECT simhash_unguard('scoped');
-- A guard within a scope searches all partitions.
CREATE TABLE scope_parts (id integer, tenant integer, body text) PARTITION BY RANGE (id);
CREATE TABLE scope_parts_1 PARTITION OF scope_parts FOR VALUES FROM (0) TO (10);
CREATE TABLE scope_parts_2 (body text, tenant integer, id integer);
ALTER TABLE scope_parts ATTACH PARTITION scope_parts_2 FOR VALUES FROM (10) TO (20);
SELECT simhash_attach('scope_parts', 'body', blocks => 2, scope => '{tenant}');
SELECT simhash_guard('scope_parts', criterion => '{"max_distance": 3, "resemblance": null}', scope => '{tenant}');
INSERT INTO scope_parts VALUES (1, 1, 'a text'), (11, 2, 'a text');
INSERT INTO scope_parts VALUES (12, 1, 'a text');
SELECT simhash_unguard('scope_parts'), simhash_detach('scope_parts');

SET client_min_messages = notice;
-- A warning if a unique index makes all rows of a scope differ; not if NULLs or other tables may repeat the values.
CREATE TABLE unlike (id integer PRIMARY KEY, tenant integer NOT NULL, number integer, body text, f bigint,
    UNIQUE (tenant, number), UNIQUE (id, body));
SELECT simhash_index('unlike', 'body', bands => 1, scope => '{tenant, id}');
SELECT count(*) > 0 FROM simhash_index_commands('unlike', 'body', bands => 2, scope => '{id}');
SELECT simhash_attach('unlike', 'f', blocks => 2, scope => '{id}');
SELECT simhash_guard('unlike', criterion => '{"bands": 1}', scope => '{number, id, tenant}', source => 'body');
SELECT simhash_index('unlike', 'body', bands => 1, scope => '{tenant, number}');
ALTER TABLE unlike DROP CONSTRAINT unlike_pkey, ALTER number SET NOT NULL, ALTER id DROP NOT NULL;
SELECT simhash_index('unlike', 'body', bands => 2, scope => '{tenant, number}');
SELECT simhash_index('unlike', 'body', bands => 1, scope => '{number, id}');
CREATE TABLE heir () INHERITS (unlike);
SELECT simhash_index('unlike', 'body', bands => 3, scope => '{tenant, number}');
-- No warning either if the index distinguishes values that are equal by the scope's collation.
CREATE TABLE cased (code text COLLATE no_case NOT NULL, body text);
CREATE UNIQUE INDEX ON cased (code COLLATE "C");
SELECT simhash_index('cased', 'body', bands => 1, scope => '{code}');
