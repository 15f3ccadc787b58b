-- simhash_resemblance: the share of their words and pairs of neighbouring words that two texts have in common. Each row
-- that is returned is wrong.
SELECT a, b, options, found, expected
FROM (VALUES
    ('a b c', 'b c d', '{}', 3.0 / 7),
    ('a b c', 'A, b; C!', '{}', 1),
    ('a b c', 'c b a', '{}', 3.0 / 7),
    ('a b c', 'd e', '{}', 0),
    ('a a a b', 'a b b', '{}', 3.0 / 5),
    -- Pairs of words and pairs of these; characters, word of word and ords; case.
    ('a b c', 'a b d', '{"ngram": 2}', 1.0 / 5),
    ('word', 'words', '{"tokens": "chars"}', 1.0 / 2),
    ('A b', 'a b', '{"case_fold": false}', 1.0 / 5),
    -- Counts, 1 + 1 + 1 of 3 + 2 + 2 + 1 + 1; their logarithms, 3 * 256 of 537 + 2 * 433 + 2 * 256; the two heaviest, a: 3,
    -- b: 2 and b: 2, c: 2, without pairs.
    ('a a a b', 'a b b', '{"weight": "tf"}', 3.0 / 9),
    ('a a a b', 'a b b', '{"weight": "log"}', 768.0 / 1915),
    ('a a a b b c', 'b b c c a', '{"weight": "tf", "top": 2}', 2.0 / 7),
    -- Without spaces, trigrams and their pairs: 天地人 and 地人和, 地人和 and 人和平; beside a word.
    ('天地人和', '地人和平', '{}', 1.0 / 5),
    ('天地人和 SQL', '地人和平 sql', '{}', 2.0 / 6),
    ('ＡＢＣ ﬁn é', E'abc fin e\u0301', '{}', 1)
) AS cases (a, b, options, expected), simhash_resemblance(a, b, options::jsonb) AS found
WHERE found IS DISTINCT FROM expected::float8;

-- A text without words has no fingerprint and no resemblance, not even to itself; neither has NULL.
SELECT simhash_resemblance('', '') AS both, simhash_resemblance('', 'a') AS first,
    simhash_resemblance('a', '?!') AS second,
    simhash_resemblance(NULL, 'a') AS null_first, simhash_resemblance('a', NULL) AS null_second,
    simhash_resemblance('a', 'a', NULL) AS null_options;

-- Named arguments, and parameters.
SELECT simhash_resemblance(a => 'a b', b => 'B a', options => '{"ngram": 1}') AS named,
    simhash_resemblance('a b'::varchar, 'a b '::char(4)) AS other_types, pg_typeof(simhash_resemblance('a', 'a'));
PREPARE untyped AS SELECT simhash_resemblance($1, $2, $3);
EXECUTE untyped ('a b c', 'a b d', '{"ngram": 2}');

-- Invalid options.
SELECT errors(
    $$SELECT simhash_resemblance('a', 'a', '{"ngrams": 2}')$$, $$SELECT simhash_resemblance('', '', '{"ngram": 17}')$$,
    $$SELECT simhash_resemblance('a', 'a', '[]')$$, $$SELECT simhash_resemblance('a', 'a', 'ngram=2')$$,
    $$SELECT simhash_resemblance('a' || repeat(U&'\0301', 600000), '')$$,
    $$SELECT simhash_resemblance('', 'a' || repeat(U&'\0301', 600000))$$);

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
SELECT pg_column_size(a) < octet_length(a) AS compressed, round(simhash_resemblance(a, b)::numeric, 3) AS half,
    simhash_resemblance(a, a) AS whole
FROM stored;
