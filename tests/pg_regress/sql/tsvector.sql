-- simhash(tsvector): a lexeme weighs the sum of its positions' labels, D 0.1, C 0.2, B 0.4, A 1.0;
-- without positions 0.1. Random documents are in tests/load/hostile and fuzz.

-- An empty tsvector, or NULL.
SELECT simhash(''::tsvector) IS NULL AS empty, simhash(to_tsvector('english', 'the and of')) IS NULL AS stop_words,
    simhash(NULL::tsvector) IS NULL AS "null";

-- Labels against the array form.
SELECT document, simhash(document::tsvector) = simhash_of_features(features, weights) AS same
FROM (VALUES
    ('a:1A b:2A c:3A', ARRAY['a', 'b', 'c'], ARRAY[1.0, 1.0, 1.0]),
    ('a:1A b:2B c:3C d:4D', ARRAY['a', 'b', 'c', 'd'], ARRAY[1.0, 0.4, 0.2, 0.1]),
    ('a:1A b:2B c:3 d:4', ARRAY['a', 'b', 'c', 'd'], ARRAY[1.0, 0.4, 0.1, 0.1]),
    ('a:1,2,3 b:4B c:5C,6', ARRAY['a', 'b', 'c'], ARRAY[0.3, 0.4, 0.3]),
    ('a b c', ARRAY['a', 'b', 'c'], ARRAY[0.1, 0.1, 0.1]),
    ('a b:1 c:2C', ARRAY['a', 'b', 'c'], ARRAY[0.1, 0.1, 0.2]),
    ('ä:1A 検索:2B ''two words'':3C o:4', ARRAY['ä', '検索', 'two words', 'o'], ARRAY[1.0, 0.4, 0.2, 0.1])
) AS documents (document, features, weights);

-- The limits of a tsvector: the longest lexeme, and 256 positions of one lexeme.
SELECT simhash(array_to_tsvector(ARRAY[repeat('x', 2046)])) = simhash_of_features(ARRAY[repeat('x', 2046)]) AS longest,
    simhash(setweight(to_tsvector('simple', repeat('a ', 300)), 'C') || 'b:1A'::tsvector)
        = simhash_of_features(ARRAY['a', 'b'], ARRAY[51, 1]) AS positions;
