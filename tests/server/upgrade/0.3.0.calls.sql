-- Every function of 0.3.0, called.
SET client_min_messages = warning;

\echo clusters and duplicates
SELECT id, simhash_cluster(simhash(body), body) OVER docs AS cluster,
    simhash_duplicate_of(simhash(body), body) OVER docs AS duplicate_of
FROM (VALUES (1, 'one two three'), (2, 'something else'), (3, 'Three, two: one!')) AS docs (id, body)
WINDOW docs AS (ORDER BY id);
