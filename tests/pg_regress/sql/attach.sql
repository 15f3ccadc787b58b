-- simhash_attach: the columns and btrees for searches, in one call.
SET client_min_messages = notice;
CREATE TABLE docs (id integer UNIQUE, body text);
INSERT INTO docs
SELECT n, (SELECT string_agg(md5(n::text || word), ' ') FROM generate_series(1, 20) AS word)
FROM generate_series(1, 1000) AS n;
INSERT INTO docs VALUES (1001, NULL), (1002, ''), (1003, '...');
SELECT simhash_attach('docs', 'body');
\d+ docs
SELECT count(simhash) AS fingerprints, bool_and(simhash IS NOT DISTINCT FROM simhash(body)
    AND simhash_block0 IS NOT DISTINCT FROM simhash_block(simhash(body), 0)
    AND simhash_block3 IS NOT DISTINCT FROM simhash_block(simhash(body), 3)) AS correct FROM docs;
-- The new columns have statistics, so the planner knows how few rows a block value finds.
SELECT attname, round((null_frac * 1003)::numeric) AS nulls FROM pg_stats
WHERE tablename = 'docs' AND attname LIKE 'simhash%' ORDER BY attname;
-- Attaching again does nothing.
SELECT relfilenode AS file FROM pg_class WHERE oid = 'docs'::regclass \gset
SELECT simhash_attach('docs', 'body', options => '{"case_fold": true, "tokens": "words"}');
SELECT relfilenode = :file AS not_rewritten FROM pg_class WHERE oid = 'docs'::regclass;

-- Half attached: only the missing objects are added. Objects that existed before get no comment.
ALTER TABLE docs DROP COLUMN simhash_block1, DROP COLUMN simhash_block2;
DROP INDEX docs_simhash_block3_idx;
SELECT simhash_attach('docs', 'body');
SELECT count(*) AS indexes FROM pg_index WHERE indrelid = 'docs'::regclass;
CREATE TABLE half_attached (body text,
    simhash bigint GENERATED ALWAYS AS (simhash(body)) STORED,
    simhash_block1 integer GENERATED ALWAYS AS (simhash_block(simhash(body), 1, 4)) STORED,
    simhash_block0 integer GENERATED ALWAYS AS (simhash_block(blocks => 4, block => 0, fingerprint => simhash(body)))
    STORED);
CREATE UNIQUE INDEX my_own ON half_attached (simhash_block0 DESC NULLS LAST, body);
SELECT simhash_attach('half_attached', 'body');
\d+ half_attached
-- An index that is partial, of another access method or operator class, or invalid does not count.
CREATE TABLE other_indexes (body text,
    simhash bigint GENERATED ALWAYS AS (simhash(body)) STORED,
    simhash_block0 integer GENERATED ALWAYS AS (simhash_block(simhash(body), 0, 2)) STORED,
    simhash_block1 integer GENERATED ALWAYS AS (simhash_block(simhash(body), 1, 2)) STORED);
CREATE OPERATOR CLASS odd_integers FOR TYPE integer USING btree AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 btint4cmp(integer, integer);
CREATE INDEX a_partial ON other_indexes (simhash_block0) WHERE body <> '';
CREATE INDEX a_hash ON other_indexes USING hash (simhash_block0);
CREATE INDEX a_class ON other_indexes (simhash_block0 odd_integers);
CREATE INDEX a_second_key ON other_indexes (body, simhash_block0);
CREATE INDEX a_invalid ON other_indexes (simhash_block1);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'a_invalid'::regclass;
SELECT simhash_attach('other_indexes', 'body', blocks => 2);

-- A call may choose the layout, the options, and the prefix of the columns' names.
CREATE TABLE layouts (title text, body text);
SELECT simhash_attach('layouts', 'body', blocks => 2, options => '{"tokens": "chars", "ngram": 3}');
SET client_min_messages = warning;
SELECT simhash_attach('layouts', 'title', blocks => 8, prefix => 't');
SELECT line FROM described('layouts') AS line WHERE line !~ 't_block[1-6]';

-- Sources of every type that can be fingerprinted.
CREATE DOMAIN short_text AS varchar(100) CHECK (VALUE <> 'x');
CREATE TABLE types (limited varchar(50), padded char(20), of_domain short_text, short name, words text[],
    limited_words varchar[], lexemes tsvector, print bigint);
INSERT INTO types VALUES ('a text', 'a text', 'a text', 'text', '{a,text}', '{a,text}', 'a text', 42);
SELECT simhash_attach('types', source, blocks => 2, prefix => ('f_' || source)::name)
FROM unnest('{limited,padded,of_domain,short,words,limited_words,lexemes,print}'::name[]) AS source;
SELECT line FROM described('types') AS line WHERE line ~ '^f_' AND line !~ 'block0';
SELECT f_limited = simhash('a text'::text), f_padded = f_limited, f_of_domain = f_limited,
    f_short = simhash('text'::text), f_words = simhash_of_features('{a,text}'::text[]), f_limited_words = f_words,
    f_lexemes = simhash('a text'::tsvector) FROM types;
SET client_min_messages = notice;
SELECT simhash_attach('types', source, blocks => 2, prefix => ('f_' || source)::name)
FROM unnest('{limited,padded,of_domain,short,words,limited_words,lexemes,print}'::name[]) AS source;

-- A generated source is replaced by its expression, since a generated column cannot refer to another.
CREATE TABLE generated_sources (title text, body text, hint integer,
    both_texts text GENERATED ALWAYS AS (title || ' ' || body) STORED,
    folded varchar GENERATED ALWAYS AS (lower(body)) STORED,
    own bigint GENERATED ALWAYS AS (simhash(body, '{"ngram": 2}')) STORED,
    wide bigint GENERATED ALWAYS AS (hint) STORED);
INSERT INTO generated_sources VALUES ('a title', 'The Body', 7);
SET client_min_messages = warning;
PREPARE attach_sources AS SELECT simhash_attach('generated_sources', source, blocks => 2, prefix => prefix)
FROM (VALUES ('both_texts'::name, 'simhash'::name), ('folded', 'f'), ('own', 'own'), ('wide', 'wide'))
    AS v (source, prefix);
EXECUTE attach_sources;
SELECT line FROM described('generated_sources') AS line WHERE line !~ 'block0|INDEX';
SELECT simhash = simhash(both_texts), f = simhash(folded) FROM generated_sources;
SET client_min_messages = notice;
EXECUTE attach_sources;

-- A copy of the table with its comments, as a dump makes it, is attached too. Column 4, simhash_block0, still has none.
CREATE TABLE copy_of_half (LIKE half_attached INCLUDING ALL);
SELECT simhash_attach('copy_of_half', 'body');
SELECT col_description('copy_of_half'::regclass, 4) AS mark;
