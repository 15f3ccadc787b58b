-- simhash(tsvector): a lexeme weighs the sum of its positions' labels, D 0.1, C 0.2, B 0.4, A 1.0;
-- without positions 0.1. Random documents are in tests/load/hostile and fuzz.

-- An empty tsvector has no fingerprint, nor has NULL.
SELECT simhash(''::tsvector) IS NULL AS empty, simhash(to_tsvector('english', 'the and of')) IS NULL AS stop_words,
    simhash(NULL::tsvector) IS NULL AS "null";

-- A lexeme weighs as much as all others together: any other weight of a label would give other bits.
SELECT document, simhash(document::tsvector) = simhash_of_features(features, weights) AS same
FROM (VALUES
    ('a:1A b:2B c:3B d:4C', ARRAY['a', 'b', 'c', 'd'], ARRAY[1.0, 0.4, 0.4, 0.2]),
    ('a:1B b:2C c:3D d:4', ARRAY['a', 'b', 'c', 'd'], ARRAY[0.4, 0.2, 0.1, 0.1]),
    ('a:1C b:2D c:3', ARRAY['a', 'b', 'c'], ARRAY[0.2, 0.1, 0.1]),
    ('a:1,2,3 b:4A c:5B,6C,7', ARRAY['a', 'b', 'c'], ARRAY[0.3, 1.0, 0.7]),
    ('a b:1 c:2C', ARRAY['a', 'b', 'c'], ARRAY[0.1, 0.1, 0.2]),
    ('ä:1B 検索:2C ''two words'':3D o:4', ARRAY['ä', '検索', 'two words', 'o'], ARRAY[0.4, 0.2, 0.1, 0.1])
) AS documents (document, features, weights);

-- The limits of a tsvector: the longest lexeme, and 255 positions, which are all that PostgreSQL keeps of a lexeme.
SELECT simhash(array_to_tsvector(ARRAY[repeat('x', 2046)])) = simhash_of_features(ARRAY[repeat('x', 2046)]) AS longest,
    simhash(setweight(to_tsvector('simple', repeat('a ', 300)), 'C')
        || setweight(to_tsvector('simple', repeat('b ', 51)), 'A'))
        = simhash_of_features('{a}'::text[]) & simhash_of_features('{b}'::text[]) AS positions;
