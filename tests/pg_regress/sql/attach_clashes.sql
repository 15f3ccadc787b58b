-- Where simhash_attach refuses: an error with a SQLSTATE, the reason and a hint; nothing is changed.
CREATE TABLE clash (id integer, body text, title text, number integer, document jsonb,
    bounded varchar(3) GENERATED ALWAYS AS (body) STORED);
INSERT INTO clash VALUES (1, 'a b', 'a title', 1, '{}');

-- Wrong arguments fail.
SELECT errors(
    $$SELECT simhash_attach(NULL, 'body')$$, $$SELECT simhash_attach('clash', NULL)$$,
    $$SELECT simhash_attach('clash', 'body', blocks => NULL)$$,
    $$SELECT simhash_attach('clash', 'body', prefix => NULL)$$,
    $$SELECT simhash_attach('clash', 'body', blocks => 1)$$, $$SELECT simhash_attach('clash', 'body', blocks => 9)$$,
    $$SELECT simhash_attach('clash', 'body', prefix => '')$$,
    $$SELECT simhash_attach('clash', 'body', prefix => repeat('é', 29)::name)$$,
    $$SELECT simhash_attach('clash', 'body', options => '{"ngrams": 2}')$$,
    $$SELECT simhash_attach('no_such_table', 'body')$$, $$SELECT simhash_attach(1::regclass, 'body')$$,
    $$SELECT simhash_attach('clash', 'Body')$$, $$SELECT simhash_attach('clash', 'ctid')$$,
    $$SELECT simhash_attach('clash', '')$$);
-- Sources that cannot be fingerprinted.
SELECT errors(
    $$SELECT simhash_attach('clash', 'number')$$, $$SELECT simhash_attach('clash', 'document')$$,
    $$SELECT simhash_attach('clash', 'bounded')$$);
ALTER TABLE clash ADD features text[], ADD own bigint, ADD vector tsvector;
SELECT errors(
    $$SELECT simhash_attach('clash', 'features', options => '{}')$$,
    $$SELECT simhash_attach('clash', 'own', options => '{"ngram": 2}')$$,
    $$SELECT simhash_attach('clash', 'vector', options => '{"ngram": 2}')$$);

-- Existing columns with other definitions.
ALTER TABLE clash ADD a bigint,
    ADD b bigint GENERATED ALWAYS AS (simhash(title)) STORED,
    ADD c bigint GENERATED ALWAYS AS (simhash(body, '{"ngram": 2}')) STORED,
    ADD d numeric GENERATED ALWAYS AS (simhash(body)) STORED,
    ADD e_block3 integer GENERATED ALWAYS AS (simhash_block(simhash(body), 3, 5)) STORED,
    ADD f_block0 integer GENERATED ALWAYS AS (simhash_block(simhash(body), 1)) STORED,
    ADD g_block0 integer GENERATED ALWAYS AS (simhash_block(simhash(title), 0)) STORED,
    ADD h_block0 bigint GENERATED ALWAYS AS (simhash_block(simhash(body), 0)) STORED,
    ADD i_block0 integer GENERATED ALWAYS AS (simhash_block(simhash(body, '{"ngram": 2}'), 0)) STORED,
    ADD j_block0 integer GENERATED ALWAYS AS (simhash_block(simhash(body), 0) + 0) STORED,
    ADD k_block1 integer GENERATED ALWAYS AS (number) STORED,
    ADD l bigint DEFAULT simhash('body'),
    ADD m bigint GENERATED ALWAYS AS IDENTITY,
    ADD n_block0 integer GENERATED ALWAYS AS (simhash_block(simhash(body), 0)) STORED;
CREATE SCHEMA clash_schema;
CREATE FUNCTION clash_schema.simhash(text) RETURNS bigint LANGUAGE sql IMMUTABLE RETURN 42;
CREATE FUNCTION clash_schema.simhash_block(bigint, integer, integer DEFAULT 4) RETURNS integer
    LANGUAGE sql IMMUTABLE RETURN 42;
ALTER TABLE clash ADD o bigint GENERATED ALWAYS AS (clash_schema.simhash(body)) STORED,
    ADD p_block0 integer GENERATED ALWAYS AS (clash_schema.simhash_block(simhash(body), 0)) STORED;
CREATE TEMP TABLE before AS SELECT attrelid, attname, attnum FROM pg_attribute WHERE attrelid = 'clash'::regclass;
SELECT errors(VARIADIC array_agg(format('SELECT simhash_attach(''clash'', ''body'', prefix => %L)', prefix)
    ORDER BY prefix))
FROM unnest('{a,b,c,d,e,f,g,h,i,j,k,l,m,o,p}'::name[]) AS prefix;
SELECT errors(
    $$SELECT simhash_attach('clash', 'body', blocks => 2, prefix => 'n')$$,
    $$SELECT simhash_attach('clash', 'body', prefix => 'body')$$,
    $$SELECT simhash_attach('clash', 'body', prefix => 'ctid')$$);
SELECT count(*) AS changed FROM pg_attribute a FULL JOIN before b USING (attrelid, attname, attnum)
WHERE attrelid = 'clash'::regclass AND (a IS NULL OR b IS NULL);
SELECT count(*) AS indexes FROM pg_index WHERE indrelid = 'clash'::regclass;
-- A column's comment and name do not make it a fingerprint; its expression does.
COMMENT ON COLUMN clash.a IS 'made by simhash_attach, prefix a: fingerprint of body';
SELECT errors($$SELECT simhash_attach('clash', 'body', prefix => 'a')$$);

-- Relations that cannot have generated columns of their own.
CREATE VIEW clash_view AS SELECT body FROM clash;
CREATE MATERIALIZED VIEW clash_matview AS SELECT body FROM clash;
CREATE FOREIGN DATA WRAPPER clash_wrapper;
CREATE SERVER clash_server FOREIGN DATA WRAPPER clash_wrapper;
CREATE FOREIGN TABLE clash_foreign (body text) SERVER clash_server;
CREATE TABLE clash_partitioned (id integer, body text) PARTITION BY RANGE (id);
CREATE TABLE clash_partition PARTITION OF clash_partitioned FOR VALUES FROM (0) TO (10);
CREATE TYPE clash_type AS (body text);
CREATE TABLE clash_typed OF clash_type;
CREATE SEQUENCE clash_sequence;
CREATE INDEX clash_index ON clash (id);
SELECT errors(VARIADIC array_agg(format('SELECT simhash_attach(%L, ''body'')', relation) ORDER BY relation))
FROM unnest('{clash_view,clash_matview,clash_foreign,clash_partition,clash_typed,clash_sequence,clash_index,
    clash_type}'::text[]) AS relation;
SELECT errors($$SELECT simhash_attach('pg_class', 'relname')$$,
    $$SELECT simhash_attach('pg_toast.pg_toast_1255', 'chunk_id')$$);

-- A child's own column of the same name, with which PostgreSQL would silently merge the parent's.
CREATE TABLE clash_parent (body text);
CREATE TABLE clash_child (simhash bigint) INHERITS (clash_parent);
SELECT errors($$SELECT simhash_attach('clash_parent', 'body')$$);
\d clash_parent

-- What a REINDEX CONCURRENTLY that failed has left.
CREATE TABLE clash_reindexed (body text);
SELECT simhash_attach('clash_reindexed', 'body', blocks => 2);
CREATE INDEX clash_reindexed_ccnew ON clash_reindexed (simhash_block0, simhash);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'clash_reindexed_ccnew'::regclass;
SET client_min_messages = notice;
SELECT simhash_attach('clash_reindexed', 'body', blocks => 2);
\di clash_reindexed*
