-- simhash_resemblance: the share of their features that two texts have in common.
SELECT simhash_resemblance('a b c', 'b c d') AS two_of_four, simhash_resemblance('a b c', 'C, b; A!') AS same_words,
    simhash_resemblance('a b c', 'd e') AS no_common_word, simhash_resemblance('a a a b', 'a b b') AS a_set,
    simhash_resemblance('the cat sat on the mat', 'the cat lay on the mat') AS four_of_six;

-- Each option: word pairs, 1 of 3; characters, word of word and ords; case, 1 of 3; word counts, (1 + 1) / (3 + 2);
-- their logarithms, (2 * 256) / (537 + 433); the two heaviest, a: 3, b: 2 and b: 2, c: 2, so 2 / (3 + 2 + 2).
SELECT simhash_resemblance('a b c', 'a b d', '{"ngram": 2}') AS ngram,
    simhash_resemblance('word', 'words', '{"tokens": "chars"}') AS tokens,
    simhash_resemblance('A b', 'a b', '{"case_fold": false}') AS case_fold,
    simhash_resemblance('a a a b', 'a b b', '{"weight": "tf"}') AS tf,
    simhash_resemblance('a a a b', 'a b b', '{"weight": "log"}') AS log, 512.0::float8 / 970 AS expected_log,
    simhash_resemblance('a a a b b c', 'b b c c a', '{"weight": "tf", "top": 2}') AS top,
    2.0::float8 / 7 AS expected_top;

-- Without spaces, trigrams: 天地人 and 地人和, 地人和 and 人和平; beside words, 1 + 1 of 1 + 3. Forms of one character are
-- equal.
SELECT simhash_resemblance('天地人和', '地人和平') AS trigrams,
    simhash_resemblance('天地人和 SQL', '地人和平 sql') AS mixed,
    simhash_resemblance('ＡＢＣ ﬁn é', E'abc fin e\u0301') AS forms;

-- A text without words has no fingerprint and no resemblance, not even to itself; neither has NULL.
SELECT simhash_resemblance('', '') AS both, simhash_resemblance('', 'a') AS first,
    simhash_resemblance('a', '?!') AS second,
    simhash_resemblance(NULL, 'a') AS null_first, simhash_resemblance('a', NULL) AS null_second,
    simhash_resemblance('a', 'a', NULL) AS null_options;

-- Named arguments, and parameters.
SELECT simhash_resemblance(a => 'a b', b => 'a', options => '{"ngram": 1}') AS named,
    simhash_resemblance('a b'::varchar, 'a b '::char(4)) AS other_types, pg_typeof(simhash_resemblance('a', 'a'));
PREPARE untyped AS SELECT simhash_resemblance($1, $2, $3);
EXECUTE untyped ('a b c', 'a b d', '{"ngram": 2}');

-- Invalid options.
\pset format unaligned
\pset tuples_only on
SELECT errors(
    $$SELECT simhash_resemblance('a', 'a', '{"ngrams": 2}')$$, $$SELECT simhash_resemblance('', '', '{"ngram": 17}')$$,
    $$SELECT simhash_resemblance('a', 'a', '[]')$$, $$SELECT simhash_resemblance('a', 'a', 'ngram=2')$$,
    $$SELECT simhash_resemblance('a' || repeat(U&'\0301', 600000), '')$$,
    $$SELECT simhash_resemblance('', 'a' || repeat(U&'\0301', 600000))$$);
\pset format aligned
\pset tuples_only off

-- It confirms what fingerprints propose. The planner evaluates it last, as it costs the most.
CREATE TABLE articles (id integer PRIMARY KEY, body text);
INSERT INTO articles SELECT n, string_agg(substr(md5(n || ' ' || i), 1, 4), ' ' ORDER BY i)
FROM generate_series(1, 200) n, generate_series(1, 100) i GROUP BY n;
INSERT INTO articles
SELECT 201, body || ' one' FROM articles WHERE id = 7
UNION ALL SELECT 202, regexp_replace(body, '^(\w+ ){12}', 'another first line ') FROM articles WHERE id = 7
UNION ALL SELECT 203, '';
SELECT simhash_attach('articles', 'body');
CREATE VIEW pairs AS
SELECT a.id AS a, b.id AS b, a.simhash <~> b.simhash AS distance, simhash_resemblance(a.body, b.body) AS resemblance
FROM articles a JOIN articles b ON simhash_near(a.simhash, b.simhash, 8) AND a.id < b.id;
SELECT a, b, distance, round(resemblance::numeric, 3) AS resemblance FROM pairs WHERE resemblance >= .5 ORDER BY a, b;
SELECT a, b FROM pairs WHERE resemblance >= .84;
PREPARE like_it (text) AS
SELECT id FROM articles
WHERE simhash_resemblance(body, $1) >= .84 AND simhash_near(simhash, simhash($1), 8)
ORDER BY id;
SELECT body FROM articles WHERE id = 7 \gset
EXECUTE like_it (:'body');
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
EXECUTE like_it (:'body');
EXPLAIN (COSTS OFF) EXECUTE like_it (:'body');
DROP TABLE articles CASCADE;

-- Long and compressed texts, and stored ones.
CREATE TEMP TABLE stored (a text, b text);
ALTER TABLE stored ALTER b SET STORAGE EXTERNAL;
INSERT INTO stored SELECT string_agg(n::text, ' '), string_agg((n + 10000)::text, ' ') FROM generate_series(1, 30000) n;
SELECT pg_column_size(a) < octet_length(a) AS compressed, simhash_resemblance(a, b) AS half,
    simhash_resemblance(a, a) AS whole
FROM stored;
