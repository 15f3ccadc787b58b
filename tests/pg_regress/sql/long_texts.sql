-- Long texts: 100 MB can be fingerprinted.
CREATE TEMP TABLE long AS SELECT n, repeat(piece, 100000000 / length(piece)) AS content
FROM (VALUES (1, 'to be or not to be '), (2, 'ab')) AS pieces (n, piece);
SELECT octet_length(content) > 99000000 AS long,
    simhash(content) = simhash_of_features(ARRAY['to', 'be', 'or', 'not']) AS right FROM long WHERE n = 1;
SELECT feature, weight > 5000000 AS often FROM long, simhash_features(content, '{"weight": "tf"}') WHERE n = 1;
SELECT simhash_resemblance(content, 'be there') AS one_of_eleven FROM long WHERE n = 1;
SELECT simhash(content, '{"tokens": "chars", "ngram": 16}')
    = simhash_of_features(ARRAY['abababababababab', 'babababababababa']) AS right FROM long WHERE n = 2;
