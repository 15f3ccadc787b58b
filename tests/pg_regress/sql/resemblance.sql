-- simhash_resemblance: the share of their words and pairs of neighbouring words that two texts have in common. Its
-- values are tested with the crate, and in the golden vectors. A text without words has no fingerprint and no
-- resemblance, not even to itself; neither has NULL.
SELECT simhash_resemblance('', '') AS both, simhash_resemblance('', 'a') AS first,
    simhash_resemblance('a', '?!') AS second,
    simhash_resemblance(NULL, 'a') AS null_first, simhash_resemblance('a', NULL) AS null_second,
    simhash_resemblance('a', 'a', NULL) AS null_options;

-- Arguments may be named, of any string type, or parameters.
SELECT simhash_resemblance(a => 'a b', b => 'B a', options => '{"ngram": 1}') AS named,
    simhash_resemblance('a b'::varchar, 'a b '::char(4)) AS other_types, pg_typeof(simhash_resemblance('a', 'a'));
PREPARE untyped AS SELECT simhash_resemblance($1, $2, $3);
EXECUTE untyped ('a b c', 'a b d', '{"ngram": 2}');

-- Refusals of simhash_resemblance, also if a text is empty.
SELECT errors(
    $$SELECT simhash_resemblance('a', 'a', '{"ngrams": 2}')$$, $$SELECT simhash_resemblance('', '', '{"ngram": 17}')$$,
    $$SELECT simhash_resemblance('a' || repeat(U&'\0301', 600000), '')$$,
    $$SELECT simhash_resemblance('', 'a' || repeat(U&'\0301', 600000))$$);

-- The planner evaluates simhash_resemblance last, as it costs the most.
CREATE TABLE articles (id integer PRIMARY KEY, body text);
SELECT simhash_attach('articles', 'body');
PREPARE like_it (text) AS
SELECT id FROM articles
WHERE simhash_resemblance(body, $1) >= .84 AND simhash_near(simhash, simhash($1), 8) ORDER BY id;
SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off;
EXPLAIN (COSTS OFF) EXECUTE like_it ('some text');
