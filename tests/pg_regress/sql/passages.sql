-- Texts that contain a clue: simhash_passages, simhash_clue and simhash_contains, served by a GIN index.
SET client_min_messages = notice;

CREATE FUNCTION pg_temp.words(first integer, last integer) RETURNS text LANGUAGE sql
    RETURN (SELECT string_agg(substr(md5(word::text), 1, 7), ' ' ORDER BY word)
        FROM generate_series(first, last) AS word);
-- Whether a plan looks up passages in an index, and evaluates simhash_contains nowhere.
CREATE FUNCTION pg_temp.uses_index_of_passages(query text) RETURNS boolean LANGUAGE sql RETURN
    EXISTS (SELECT FROM plan_lines(query, 'Index Cond: \(simhash_passages\(.*&&'))
    AND NOT EXISTS (SELECT FROM plan_lines(query, 'simhash_contains|Seq Scan on docs'));

-- Passages are stored, so they never change.
SELECT simhash_passages('The quick brown fox jumps over the lazy dog, and the dog sleeps on') AS passages;
-- A text of fewer words than a run is one passage; one without a word has none.
SELECT simhash_passages('One, two.') = simhash_passages('one two') AS equal,
    cardinality(simhash_passages('one')) AS one,
    simhash_passages('?!') AS none, simhash_passages(NULL) IS NULL AS unknown, simhash_clue('') AS empty;

-- The notice comes once for a statement.
SELECT count(*) BETWEEN 200 AND 260 AS most FROM generate_series(1, 290) AS at
WHERE simhash_passages(pg_temp.words(1, 300)) && simhash_clue(pg_temp.words(at, at + 4));
SELECT simhash_clue('Word');
SELECT cardinality(simhash_clue('one two three four'));
-- A letter of a script without spaces is not a word.
SELECT simhash_clue('天地人和');
SELECT cardinality(simhash_clue('天地人和一二'));
\set VERBOSITY sqlstate
SELECT simhash_clue('only three words');
\set VERBOSITY default

SELECT simhash_contains(text, clue), simhash_contains(text, upper(clue)), simhash_contains(text, clue || ' and more'),
    simhash_contains(text, clue || ' and more', .9) AS more, simhash_contains(text, '') AS nothing,
    simhash_contains(text, clue, options => '{"case_fold": false}'), simhash_contains(NULL, clue) IS NULL AS unknown
FROM (VALUES (pg_temp.words(1, 50), pg_temp.words(11, 22))) AS t (text, clue);

-- By characters, spaces make no difference.
SELECT simhash_contains(text, clue) AS by_words,
    simhash_contains(text, clue, options => '{"tokens": "chars"}') AS by_characters
FROM (VALUES ('우리는 산길로 돌아서 집에 왔다. 그날은 비가 왔다.', '산길 로돌아서 집에왔다 그 날은비가')) AS t (text, clue);

-- A share is 0 to 1.
SELECT errors($$SELECT simhash_contains('a b c d', 'a b c d', 1.01)$$,
    $$SELECT simhash_contains('a', 'b c d e', -0.1)$$, $$SELECT simhash_contains('a b c d', 'a b c d', 'NaN')$$,
    $$SELECT simhash_contains(NULL, 'One 天地')$$);

-- An index serves literals, parameters of generic plans, and columns of other tables; it finds what a full scan finds.
CREATE TABLE docs (id integer PRIMARY KEY, body text);
INSERT INTO docs SELECT n, pg_temp.words(n * 20, n * 20 + 59) FROM generate_series(1, 150) AS n;
INSERT INTO docs VALUES (151, NULL), (152, ''), (153, 'two words');
CREATE TABLE found AS SELECT clue.id, array_agg(docs.id ORDER BY docs.id) AS texts
    FROM docs AS clue JOIN docs ON simhash_contains(docs.body, clue.body, .3) WHERE clue.id < 150 GROUP BY clue.id;
SELECT count(*), min(cardinality(texts)), max(cardinality(texts)) FROM found;
CREATE INDEX docs_passages ON docs USING gin (simhash_passages(body));
ANALYZE docs; SET enable_seqscan = off;
SELECT array_agg(id) AS ids,
    pg_temp.uses_index_of_passages($$SELECT id FROM docs WHERE simhash_contains(body, 'b c d e f g h i j k l')$$)
FROM docs WHERE simhash_contains(body, pg_temp.words(100, 111));
PREPARE search (text) AS SELECT id FROM docs WHERE simhash_contains(body, lower($1), .6);
SET plan_cache_mode = force_generic_plan;
SELECT pg_temp.uses_index_of_passages($$EXECUTE search ('x')$$);
EXECUTE search (upper(pg_temp.words(100, 111)));
RESET plan_cache_mode;
SELECT pg_temp.uses_index_of_passages($$SELECT * FROM found, LATERAL
    (SELECT id FROM docs WHERE simhash_contains(body, found.id::text)) AS d$$);
SELECT count(*) AS differences FROM found FULL JOIN (
    SELECT clue.id, array_agg(docs.id ORDER BY docs.id) AS texts
    FROM docs AS clue JOIN docs ON simhash_contains(docs.body, clue.body, .3) WHERE clue.id < 150 GROUP BY clue.id
) AS again USING (id, texts) WHERE found.* IS NULL OR again.* IS NULL;
-- PostgreSQL replaces no call whose argument is a subquery.
SELECT pg_temp.uses_index_of_passages($$SELECT id FROM docs WHERE simhash_contains(body, (SELECT 'a'))$$) AS subquery;
-- PostgreSQL does not replace a call either if an expensive function makes its text; the expression itself is served.
CREATE FUNCTION stripped(body text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN body; END';
CREATE INDEX docs_stripped ON docs USING gin (simhash_passages(stripped(body)));
SELECT pg_temp.uses_index_of_passages($$SELECT id FROM docs WHERE simhash_contains(stripped(body), 'b c d e f g h i j k l')$$)
    AS call,
    pg_temp.uses_index_of_passages($$SELECT id FROM docs
        WHERE simhash_passages(stripped(body)) && simhash_clue('b c d e f g h i j k l')
        AND simhash_coverage(stripped(body), 'b c d e f g h i j k l') >= .8$$) AS expression;
DROP INDEX docs_stripped;

-- Partitions, expressions, options, and materialized views have such indexes too.
CREATE TABLE parts (id integer, body text) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (75);
CREATE TABLE parts_2 PARTITION OF parts DEFAULT;
CREATE INDEX ON parts USING gin (simhash_passages(body));
INSERT INTO parts SELECT * FROM docs;
SELECT array_agg(id ORDER BY id) AS ids FROM parts WHERE simhash_contains(body, pg_temp.words(1505, 1525));
CREATE MATERIALIZED VIEW pages AS SELECT id, '<p>' || body AS html FROM docs;
CREATE INDEX ON pages USING gin (simhash_passages(html, '{"markup": "html"}'));
SELECT pg_temp.uses_index_of_passages($$SELECT id FROM parts WHERE simhash_contains(body, 'b c d e f g h i j k l')$$) AS parts,
    pg_temp.uses_index_of_passages($$SELECT id FROM pages
        WHERE simhash_contains(html, 'b c d e f g h i j k l', options => '{"markup": "html"}')$$) AS pages;
-- A column with a collation of its own needs the default one in the index and in the query.
CREATE TABLE collated AS SELECT id, body COLLATE "C" AS body FROM docs;
CREATE INDEX ON collated USING gin (simhash_passages(body));
SELECT pg_temp.uses_index_of_passages($$SELECT id FROM collated WHERE simhash_contains(body, 'b c d e f g h i j k l')$$)
    AS of_column;
CREATE INDEX ON collated USING gin (simhash_passages(body COLLATE "default"));
SELECT pg_temp.uses_index_of_passages($$SELECT id FROM collated
    WHERE simhash_contains(body COLLATE "default", 'b c d e f g h i j k l')$$) AS "default";
