-- Refusals of simhash_attach: an error with a SQLSTATE, the reason and a hint; nothing is changed.
CREATE TABLE docs (id integer, body text, title text, number integer, document jsonb,
    bounded varchar(3) GENERATED ALWAYS AS (body) STORED);
INSERT INTO docs VALUES (1, 'a b', 'a title', 1, '{}');

-- Wrong arguments fail.
SELECT errors(
    $$SELECT simhash_attach(NULL, 'body')$$, $$SELECT simhash_attach('docs', NULL)$$,
    $$SELECT simhash_attach('docs', 'body', blocks => NULL)$$,
    $$SELECT simhash_attach('docs', 'body', prefix => NULL)$$,
    $$SELECT simhash_attach('docs', 'body', blocks => 1)$$, $$SELECT simhash_attach('docs', 'body', blocks => 9)$$,
    $$SELECT simhash_attach('docs', 'body', prefix => '')$$,
    $$SELECT simhash_attach('docs', 'body', prefix => repeat('é', 29)::name)$$,
    $$SELECT simhash_attach('docs', 'body', options => '{"ngrams": 2}')$$,
    $$SELECT simhash_attach('no_such_table', 'body')$$, $$SELECT simhash_attach(1::regclass, 'body')$$,
    $$SELECT simhash_attach('docs', 'Body')$$, $$SELECT simhash_attach('docs', 'ctid')$$,
    $$SELECT simhash_attach('docs', '')$$);
-- A source must be of a type that has fingerprints.
SELECT errors(
    $$SELECT simhash_attach('docs', 'number')$$, $$SELECT simhash_attach('docs', 'document')$$,
    $$SELECT simhash_attach('docs', 'bounded')$$);
ALTER TABLE docs ADD features text[], ADD own bigint, ADD vector tsvector;
SELECT errors(
    $$SELECT simhash_attach('docs', 'features', options => '{}')$$,
    $$SELECT simhash_attach('docs', 'own', options => '{"ngram": 2}')$$,
    $$SELECT simhash_attach('docs', 'vector', options => '{"ngram": 2}')$$);

-- A column of the name that exists must have the same definition.
ALTER TABLE docs ADD a bigint,
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
CREATE SCHEMA lookalikes;
CREATE FUNCTION lookalikes.simhash(text) RETURNS bigint LANGUAGE sql IMMUTABLE RETURN 42;
CREATE FUNCTION lookalikes.simhash_block(bigint, integer, integer DEFAULT 4) RETURNS integer
    LANGUAGE sql IMMUTABLE RETURN 42;
ALTER TABLE docs ADD o bigint GENERATED ALWAYS AS (lookalikes.simhash(body)) STORED,
    ADD p_block0 integer GENERATED ALWAYS AS (lookalikes.simhash_block(simhash(body), 0)) STORED;
CREATE TEMP TABLE before AS SELECT attrelid, attname, attnum FROM pg_attribute WHERE attrelid = 'docs'::regclass;
SELECT errors(VARIADIC array_agg(format('SELECT simhash_attach(''docs'', ''body'', prefix => %L)', prefix)
    ORDER BY prefix))
FROM unnest('{a,b,c,d,e,f,g,h,i,j,k,l,m,o,p}'::name[]) AS prefix;
SELECT errors(
    $$SELECT simhash_attach('docs', 'body', blocks => 2, prefix => 'n')$$,
    $$SELECT simhash_attach('docs', 'body', prefix => 'body')$$,
    $$SELECT simhash_attach('docs', 'body', prefix => 'ctid')$$);
SELECT count(*) AS changed FROM pg_attribute a FULL JOIN before b USING (attrelid, attname, attnum)
WHERE attrelid = 'docs'::regclass AND (a IS NULL OR b IS NULL);
SELECT count(*) AS indexes FROM pg_index WHERE indrelid = 'docs'::regclass;
-- A column's comment and name do not make it a fingerprint; its expression does.
COMMENT ON COLUMN docs.a IS 'made by simhash_attach, prefix a: fingerprint of body';
SELECT errors($$SELECT simhash_attach('docs', 'body', prefix => 'a')$$);

-- Relations that cannot have generated columns of their own.
CREATE VIEW a_view AS SELECT body FROM docs;
CREATE MATERIALIZED VIEW a_matview AS SELECT body FROM docs;
CREATE FOREIGN DATA WRAPPER nowhere;
CREATE SERVER nowhere FOREIGN DATA WRAPPER nowhere;
CREATE FOREIGN TABLE a_foreign (body text) SERVER nowhere;
CREATE TABLE a_partitioned (id integer, body text) PARTITION BY RANGE (id);
CREATE TABLE a_partition PARTITION OF a_partitioned FOR VALUES FROM (0) TO (10);
CREATE TYPE a_type AS (body text);
CREATE TABLE a_typed OF a_type;
CREATE SEQUENCE a_sequence;
CREATE INDEX a_index ON docs (id);
SELECT errors(VARIADIC array_agg(format('SELECT simhash_attach(%L, ''body'')', relation) ORDER BY relation))
FROM unnest('{a_view,a_matview,a_foreign,a_partition,a_typed,a_sequence,a_index,
    a_type}'::text[]) AS relation;
SELECT errors($$SELECT simhash_attach('pg_class', 'relname')$$,
    $$SELECT simhash_attach('pg_toast.pg_toast_1255', 'chunk_id')$$);

-- A child's own column of the same name: PostgreSQL would silently merge the parent's column with it.
CREATE TABLE parent (body text);
CREATE TABLE child (simhash bigint) INHERITS (parent);
SELECT errors($$SELECT simhash_attach('parent', 'body')$$);
\d parent

-- No refusal: simhash_attach drops the invalid indexes that a failed REINDEX or DROP INDEX CONCURRENTLY has left.
CREATE TABLE reindexed (body text);
SELECT simhash_attach('reindexed', 'body', blocks => 2);
CREATE INDEX reindexed_ccnew ON reindexed (simhash_block0, simhash);
CREATE INDEX reindexed_half_dropped ON reindexed (simhash_block1, simhash);
UPDATE pg_index SET indisvalid = false, indislive = indexrelid = 'reindexed_ccnew'::regclass
WHERE indexrelid IN ('reindexed_ccnew'::regclass, 'reindexed_half_dropped'::regclass);
CREATE TABLE whole (part integer, body text) PARTITION BY LIST (part);
CREATE TABLE whole_1 PARTITION OF whole DEFAULT;
SELECT simhash_attach('whole', 'body', blocks => 2);
CREATE INDEX whole_1_ccnew ON whole_1 (simhash_block0, simhash);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'whole_1_ccnew'::regclass;
SET client_min_messages = notice;
SELECT simhash_attach('reindexed', 'body', blocks => 2);
SELECT simhash_attach('whole', 'body', blocks => 2);
\di reindexed*
