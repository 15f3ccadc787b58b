-- Long texts: 100 MB can be fingerprinted, and such a statement can be cancelled at any moment.
CREATE TEMP TABLE long AS SELECT n, repeat(piece, 100000000 / length(piece)) AS content
FROM (VALUES (1, 'to be or not to be '), (2, 'ab')) AS pieces (n, piece);
SELECT octet_length(content) > 99000000 AS long,
    simhash(content) = simhash(ARRAY['to', 'be', 'or', 'not']) AS right
FROM long WHERE n = 1;
SELECT feature, weight > 5000000 AS often FROM long, simhash_features(content, '{"weight": "tf"}') WHERE n = 1;
SELECT simhash_resemblance(content, 'be there') AS one_of_five FROM long WHERE n = 1;

-- A timeout ends it within the text: long before the text would be done.
SELECT clock_timestamp() AS start \gset
SELECT simhash(content, '{"tokens": "chars", "ngram": 16}')
    = simhash(ARRAY['abababababababab', 'babababababababa']) AS right
FROM long WHERE n = 2;
SELECT clock_timestamp() - :'start' AS whole, clock_timestamp() AS start \gset
\set VERBOSITY sqlstate
SET statement_timeout = '100ms';
SELECT simhash(content, '{"tokens": "chars", "ngram": 16}') FROM long WHERE n = 2;
SELECT clock_timestamp() - :'start' < :'whole'::interval / 2 AS cancelled_within;
RESET statement_timeout;
SELECT clock_timestamp() AS start \gset
SET statement_timeout = '100ms';
SELECT count(*) FROM long, simhash_features(content, '{"tokens": "chars", "ngram": 16}') WHERE n = 2;
SELECT clock_timestamp() - :'start' < :'whole'::interval / 2 AS cancelled_within;
RESET statement_timeout;
SELECT clock_timestamp() AS start \gset
SET statement_timeout = '100ms';
SELECT simhash_resemblance('ab', content, '{"tokens": "chars", "ngram": 16}') FROM long WHERE n = 2;
SELECT clock_timestamp() - :'start' < :'whole'::interval / 2 AS cancelled_within;
RESET statement_timeout;
-- The session goes on.
SELECT simhash('hello');
