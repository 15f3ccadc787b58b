-- simhash_attach: the columns and btrees for searches, in one call.
SET client_min_messages = notice;
CREATE TABLE attach_docs (id integer UNIQUE, body text);
INSERT INTO attach_docs
SELECT n, (SELECT string_agg(md5(n::text || word), ' ') FROM generate_series(1, 20) AS word)
FROM generate_series(1, 1000) AS n;
INSERT INTO attach_docs VALUES (1001, NULL), (1002, ''), (1003, '...');
SELECT simhash_attach('attach_docs', 'body');
\d+ attach_docs
SELECT count(simhash) AS fingerprints, bool_and(simhash IS NOT DISTINCT FROM simhash(body)
    AND simhash_block0 IS NOT DISTINCT FROM simhash_block(simhash(body), 0)
    AND simhash_block3 IS NOT DISTINCT FROM simhash_block(simhash(body), 3)) AS correct
FROM attach_docs;
-- The new columns have statistics, so the planner knows how few rows a block value finds.
SELECT attname, round((null_frac * 1003)::numeric) AS nulls FROM pg_stats
WHERE tablename = 'attach_docs' AND attname LIKE 'simhash%'
ORDER BY attname;
-- Attaching again does nothing.
SELECT relfilenode AS file FROM pg_class WHERE oid = 'attach_docs'::regclass \gset
SELECT simhash_attach('attach_docs', 'body', options => '{"case_fold": true, "tokens": "words"}');
SELECT relfilenode = :file AS not_rewritten FROM pg_class WHERE oid = 'attach_docs'::regclass;

-- Half attached: only what is missing is added. What existed before gets no comment.
ALTER TABLE attach_docs DROP COLUMN simhash_block1, DROP COLUMN simhash_block2;
DROP INDEX attach_docs_simhash_block3_idx;
SELECT simhash_attach('attach_docs', 'body');
SELECT count(*) AS indexes FROM pg_index WHERE indrelid = 'attach_docs'::regclass;
CREATE TABLE attach_half (body text,
    simhash bigint GENERATED ALWAYS AS (simhash(body)) STORED,
    simhash_block1 integer GENERATED ALWAYS AS (simhash_block(simhash(body), 1, 4)) STORED,
    simhash_block0 integer GENERATED ALWAYS AS (simhash_block(blocks => 4, block => 0, fingerprint => simhash(body)))
    STORED);
CREATE UNIQUE INDEX my_own ON attach_half (simhash_block0 DESC NULLS LAST, body);
SELECT simhash_attach('attach_half', 'body');
\d+ attach_half
-- An index that is partial, of another access method or operator class, or invalid does not count.
CREATE TABLE attach_other_indexes (body text,
    simhash bigint GENERATED ALWAYS AS (simhash(body)) STORED,
    simhash_block0 integer GENERATED ALWAYS AS (simhash_block(simhash(body), 0, 2)) STORED,
    simhash_block1 integer GENERATED ALWAYS AS (simhash_block(simhash(body), 1, 2)) STORED);
CREATE OPERATOR CLASS odd_integers FOR TYPE integer USING btree AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 btint4cmp(integer, integer);
CREATE INDEX a_partial ON attach_other_indexes (simhash_block0) WHERE body <> '';
CREATE INDEX a_hash ON attach_other_indexes USING hash (simhash_block0);
CREATE INDEX a_class ON attach_other_indexes (simhash_block0 odd_integers);
CREATE INDEX a_second_key ON attach_other_indexes (body, simhash_block0);
CREATE INDEX a_invalid ON attach_other_indexes (simhash_block1);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'a_invalid'::regclass;
SELECT simhash_attach('attach_other_indexes', 'body', blocks => 2);

-- Other layouts, options and names.
CREATE TABLE attach_layouts (title text, body text);
SELECT simhash_attach('attach_layouts', 'body', blocks => 2, options => '{"tokens": "chars", "ngram": 3}');
SET client_min_messages = warning;
SELECT simhash_attach('attach_layouts', 'title', blocks => 8, prefix => 't');
SELECT line FROM described('attach_layouts') AS line WHERE line !~ 't_block[1-6]';

-- Sources of every type that can be fingerprinted.
CREATE DOMAIN attach_domain AS varchar(100) CHECK (VALUE <> 'x');
CREATE TABLE attach_types (a varchar(50), b char(20), c attach_domain, d name, e text[], f varchar[], g tsvector,
    h bigint);
INSERT INTO attach_types VALUES ('a text', 'a text', 'a text', 'text', '{a,text}', '{a,text}', 'a text', 42);
SELECT simhash_attach('attach_types', c::name, blocks => 2, prefix => ('f' || c)::name)
FROM unnest('{a,b,c,d,e,f,g,h}'::text[]) AS c;
SELECT line FROM described('attach_types') AS line WHERE line ~ '^f.(_block1)? ';
SELECT fa = simhash('a text'::text) AS a, fb = fa AS b, fc = fa AS c, fd = simhash('text'::text) AS d,
    fe = simhash_of_features('{a,text}'::text[]) AS e, ff = fe AS f, fg = simhash('a text'::tsvector) AS g
FROM attach_types;
SET client_min_messages = notice;
SELECT simhash_attach('attach_types', c::name, blocks => 2, prefix => ('f' || c)::name)
FROM unnest('{a,b,c,d,e,f,g,h}'::text[]) AS c;

-- A generated source is replaced by its expression, since a generated column cannot refer to another.
CREATE TABLE attach_generated (title text, body text, hint integer,
    both_texts text GENERATED ALWAYS AS (title || ' ' || body) STORED,
    folded varchar GENERATED ALWAYS AS (lower(body)) STORED,
    own bigint GENERATED ALWAYS AS (simhash(body, '{"ngram": 2}')) STORED,
    wide bigint GENERATED ALWAYS AS (hint) STORED);
INSERT INTO attach_generated VALUES ('a title', 'The Body', 7);
SET client_min_messages = warning;
PREPARE attach_generated AS SELECT simhash_attach('attach_generated', source, blocks => 2, prefix => prefix)
FROM (VALUES ('both_texts'::name, 'simhash'::name), ('folded', 'f'), ('own', 'own'), ('wide', 'wide'))
    AS v (source, prefix);
EXECUTE attach_generated;
SELECT line FROM described('attach_generated') AS line WHERE line !~ 'block0|INDEX';
SELECT simhash = simhash(both_texts) AS a, f = simhash(folded) AS b
FROM attach_generated;
SET client_min_messages = notice;
EXECUTE attach_generated;

-- Dumps keep what attach needs to know: a copy with the comments is attached too.
CREATE TABLE attach_copy (LIKE attach_half INCLUDING ALL);
SELECT simhash_attach('attach_copy', 'body');
SELECT col_description('attach_copy'::regclass, 4) AS mark;
