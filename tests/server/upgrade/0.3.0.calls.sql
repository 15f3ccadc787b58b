-- Every function that 0.3.0 added, called.
SET client_min_messages = warning;

\echo wide fingerprints
SELECT simhash_wide('The quick brown fox'), simhash_wide('The quick brown fox', 1, '{"seed": 1}') AS second;
SELECT hamming(ARRAY[1, 2]::bigint[], ARRAY[3, 1]::bigint[]), ARRAY[1, 2]::bigint[] <~> ARRAY[3, 1]::bigint[] AS operator;

\echo weights
SELECT simhash_weights(body), simhash_weights(body, '{"ngram": 2}') AS pairs,
    simhash_weights(body, '{}', 1, 300) AS one
FROM (SELECT 'the text ' || n FROM generate_series(1, 20) AS n) AS texts (body);
