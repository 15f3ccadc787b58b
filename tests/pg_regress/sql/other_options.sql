-- Warnings of a query that compares a fingerprint column with the fingerprint of a text by other options.
CREATE TABLE docs (id integer PRIMARY KEY, title text, tags text[], by_hand bigint, kind integer);
SELECT simhash_attach('docs', 'title', '{"tokens": "chars"}');
INSERT INTO docs VALUES (1, 'a title', NULL, 0), (2, 'another one', '{a,b}', 1);
-- The default options, a distance, and an order.
SELECT id FROM docs WHERE simhash_near(simhash, simhash('a title'), 3);
\set VERBOSITY terse
SELECT id FROM docs WHERE simhash('a title', '{"seed": 1}') <~> simhash <= 0;
SELECT count(*) FROM (SELECT id FROM docs ORDER BY simhash <~> simhash('a title') LIMIT 1) AS nearest;
UPDATE docs SET by_hand = 2 WHERE simhash_near(simhash, simhash('a title'));
-- A query with several such searches has one warning.
SELECT count(*) FROM docs AS a, docs AS b
WHERE a.simhash <~> simhash('a title') < 3 AND b.simhash <~> simhash('a title') < 3
    AND EXISTS (SELECT FROM docs WHERE simhash_near(simhash, simhash('a title')));
-- A generic plan warns once, and so does a join.
SET plan_cache_mode = force_generic_plan;
PREPARE search AS SELECT id FROM docs WHERE simhash_near(simhash, simhash($1), 3);
EXECUTE search('a title');
EXECUTE search('a title');
SELECT count(*) FROM docs, (VALUES ('a title'), ('no title')) AS asked (text)
WHERE simhash_near(simhash, simhash(text));
\set VERBOSITY default
-- No warning: options that make the same fingerprints, texts, other columns, features, options that are not known.
SELECT id FROM docs WHERE simhash_near(simhash, simhash('a title', '{"same": ["numbers"], "tokens": "chars"}'));
SELECT id FROM docs WHERE simhash_near(title, 'a title');
SELECT id FROM docs WHERE simhash_near(by_hand, simhash('a title'));
SELECT id FROM docs WHERE simhash_near(simhash, 0) OR simhash_near(simhash, simhash_of_features(ARRAY['a', 'title']));
SELECT id FROM docs WHERE simhash_near(simhash, simhash_of_features(tags));
SELECT a.id FROM docs AS a JOIN docs AS b ON simhash_near(a.simhash, b.simhash) AND a.id < b.id;
SELECT id FROM docs WHERE simhash_near(simhash, simhash(title, jsonb_build_object('seed', id)));
-- Partitions, and a fingerprint in a CASE.
CREATE TABLE parts (id integer, body text,
    f bigint GENERATED ALWAYS AS (CASE WHEN body <> '' THEN simhash(body) END) STORED) PARTITION BY LIST (id);
CREATE TABLE part_1 PARTITION OF parts FOR VALUES IN (1);
CREATE TABLE part_2 PARTITION OF parts FOR VALUES IN (2);
SELECT count(*) FROM parts WHERE simhash_near(f, simhash('a title', '{"tokens": "chars"}'));
SELECT count(*) FROM parts WHERE simhash_near(f, simhash('a title'));
-- Long options are left out.
SELECT format('{"weights": {%s}}', string_agg(format('"word%s": 0.5', n), ', ')) AS weights
FROM generate_series(1, 99) AS n \gset
CREATE TABLE weighted (body text);
SELECT simhash_attach('weighted', 'body', :'weights');
SELECT count(*) FROM weighted WHERE simhash_near(simhash, simhash('a title'));
-- The query again, in this session: no further warning. Another query: a warning.
SELECT count(*) FROM weighted WHERE simhash_near(simhash, simhash('a title'));
SELECT count(*) AS rows FROM weighted WHERE simhash_near(simhash, simhash('a title'));
-- Texts by bands, window functions and passages: the options of the indexes.
CREATE TABLE pages (id integer PRIMARY KEY, html text, part text GENERATED ALWAYS AS (lower(html)) STORED);
INSERT INTO pages VALUES (1, '<p>It was the best of times, it was the worst of times, it was the age of wisdom.</p>');
SELECT simhash_index('pages', 'html', '{"markup": "html"}');
CREATE INDEX ON pages USING gin (simhash_passages(html, '{"markup": "html"}'));
SELECT count(*) FROM pages WHERE simhash_near(html, 'best of times');
SELECT count(*) FROM pages WHERE id = 1 OR simhash_near(html, 'best of times');
SELECT count(*) FROM pages WHERE NOT simhash_near('best of times', html, '{"resemblance": 0.9}');
SELECT simhash_duplicate_of(id, html) OVER () FROM pages;
SELECT simhash_cluster(id, html, criterion => '{"weights": "table", "resemblance": 0.9}') OVER (ORDER BY id) FROM pages;
SELECT count(*) FROM pages WHERE simhash_contains(html, 'the best of times, it was the worst of times');
SELECT count(*) FROM pages WHERE id > 1
    OR simhash_contains(html, 'it was the best of times, it was the worst of times');
SELECT count(*) FROM pages WHERE id > 1 AND NOT simhash_contains(html, 'it was the best of times, it was the age');
ALTER TABLE pages ENABLE ROW LEVEL SECURITY;
CREATE POLICY later ON pages USING (id > 1);
GRANT SELECT ON pages TO regress_reader; SET ROLE regress_reader;
SELECT count(*) FROM public.pages WHERE public.simhash_contains(html, 'the worst of times, it was the best of times');
RESET ROLE; DROP POLICY later ON pages;
ALTER TABLE pages DISABLE ROW LEVEL SECURITY;
-- No warning: the options of the indexes, another text, a text that is not indexed, fingerprints.
SELECT count(*) FROM pages WHERE simhash_near(html, 'best of times', '{"markup": "html"}');
SELECT count(*) FROM pages WHERE id = 1 OR simhash_near(html, 'best of times', '{"markup": "html"}');
SELECT simhash_duplicate_of(id, html, '{"markup": "html", "same": ["numbers"]}') OVER () FROM pages;
SELECT simhash_cluster(id, upper(html)) OVER (), simhash_cluster(id, part) OVER (),
    simhash_cluster(id, simhash(html)) OVER (), simhash_cluster(id, html || part) OVER () FROM pages;
SELECT simhash_cluster(id, html) OVER () FROM (SELECT 2 AS id, 'a text' AS html) AS texts;
SELECT count(*) FROM pages
WHERE simhash_contains(html, 'the best of times, it was the worst of times', 0.8, '{"markup": "html"}');
SELECT count(*) FROM pages WHERE simhash_contains(part, 'the best of times, it was the worst of times');
SELECT count(*) FROM pages WHERE id > 1
    OR simhash_contains(html, 'the best of times, it was the worst of times', 0.7, '{"markup": "html"}')
    OR cardinality(simhash_passages(html)) > 1000;
-- An expression that a generated column repeats, and a partitioned table.
SELECT simhash_index('pages', 'part', '{"ngram": 2}');
SELECT simhash_cluster(id, lower(html)) OVER () FROM pages;
SELECT simhash_index('parts', 'body', '{"ngram": 2}');
SELECT simhash_cluster(id, body) OVER () FROM parts;
