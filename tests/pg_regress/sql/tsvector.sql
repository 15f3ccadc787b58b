-- simhash(tsvector): a lexeme weighs the sum of its positions' labels, D 0.1, C 0.2, B 0.4, A 1.0;
-- without positions 0.1.
-- The numbers come from simhash/tests/golden/reference.py.
SELECT simhash('cat:1 dog:2 fish:3'::tsvector), simhash('cat:1A dog:2B,3B fish:4C,5 bird:6C'::tsvector) AS labels,
    simhash(to_tsvector('english', 'The cats were chasing the dogs')) AS stemmed;

-- An empty tsvector, or NULL.
SELECT simhash(''::tsvector) IS NULL AS empty, simhash(to_tsvector('english', 'the and of')) IS NULL AS stop_words,
    simhash(NULL::tsvector) IS NULL AS "null";

-- Labels against the array form.
SELECT document, simhash(document::tsvector) = simhash(features, weights) AS same
FROM (VALUES
    ('a:1A b:2A c:3A', ARRAY['a', 'b', 'c'], ARRAY[1.0, 1.0, 1.0]),
    ('a:1A b:2B c:3C d:4D', ARRAY['a', 'b', 'c', 'd'], ARRAY[1.0, 0.4, 0.2, 0.1]),
    ('a:1A b:2B c:3 d:4', ARRAY['a', 'b', 'c', 'd'], ARRAY[1.0, 0.4, 0.1, 0.1]),
    ('a:1,2,3 b:4B c:5C,6', ARRAY['a', 'b', 'c'], ARRAY[0.3, 0.4, 0.3]),
    ('a b c', ARRAY['a', 'b', 'c'], ARRAY[0.1, 0.1, 0.1]),
    ('a b:1 c:2C', ARRAY['a', 'b', 'c'], ARRAY[0.1, 0.1, 0.2]),
    ('ä:1A 検索:2B ''two words'':3C o:4', ARRAY['ä', '検索', 'two words', 'o'], ARRAY[1.0, 0.4, 0.2, 0.1])
) AS documents (document, features, weights);

-- Exactly these weights: if two lexemes weigh the same it is a tie, and only their common bits remain.
SELECT document, simhash(document::tsvector) = simhash(ARRAY['a']) & simhash(ARRAY['b']) AS tie
FROM unnest(ARRAY['a:1 b:2', 'a:1C b:2,3', 'a:1,2C b:3,4,5', 'a:1B b:2C,3C', 'a:1A b:2B,3B,4C', 'a b:1']) AS document;

-- Stripped, all lexemes weigh the same, as in a set.
SELECT simhash(strip(document)) = simhash(tsvector_to_array(document)) AS set
FROM to_tsvector('english', 'a tsvector loses its positions and its labels when it is stripped of them') AS document;

-- Documents with all labels and lexemes of many lengths, against the output of unnest.
CREATE TEMP TABLE documents AS
SELECT n, setweight(to_tsvector('simple', repeat(md5(n::text) || ' ', n)), 'A')
    || setweight(to_tsvector('simple', left(repeat('long', n), n) || ' title ' || n), 'B')
    || setweight(to_tsvector('simple', 'a title of x' || n % 7), 'C')
    || to_tsvector('simple', string_agg('body' || i * i % 31, ' ' ORDER BY i))
    || array_to_tsvector(ARRAY['bare' || n]) AS document
FROM generate_series(1, 200) n, generate_series(1, 300) i GROUP BY n;
SELECT count(*), bool_and(simhash(document) = (
    SELECT simhash(array_agg(lexeme), array_agg(weight))
    FROM (SELECT lexeme,
              coalesce((SELECT sum(CASE label WHEN 'A' THEN 1.0 WHEN 'B' THEN 0.4 WHEN 'C' THEN 0.2 ELSE 0.1 END)
                        FROM unnest(weights) label), 0.1)
          FROM unnest(document)) AS lexemes (lexeme, weight))) AS same
FROM documents;

-- The limits of a tsvector: the longest lexeme, 256 positions of one lexeme, 60 thousand lexemes.
SELECT simhash(array_to_tsvector(ARRAY[repeat('x', 2046)])) = simhash(ARRAY[repeat('x', 2046)]) AS longest,
    simhash(setweight(to_tsvector('simple', repeat('a ', 300)), 'C') || 'b:1A'::tsvector)
        = simhash(ARRAY['a', 'b'], ARRAY[51, 1]) AS positions;
SELECT simhash(document) = simhash(tsvector_to_array(document)) AS many
FROM (SELECT strip(to_tsvector('simple', string_agg('lexeme' || n, ' ')))
    FROM generate_series(1, 60000) n) AS d (document);
