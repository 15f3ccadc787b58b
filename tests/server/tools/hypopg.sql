-- The planner of searches does not count on a hypothetical index, which nothing can read.
CREATE EXTENSION hypopg;
CREATE TABLE docs (id integer PRIMARY KEY, body text);
INSERT INTO docs SELECT n, text_of(n) FROM generate_series(1, 2000) AS n;
SET client_min_messages = warning;
SELECT simhash_attach('docs', 'body', blocks => 2);
DROP INDEX docs_simhash_block0_idx, docs_simhash_block1_idx;
SELECT count(*) FROM generate_series(0, 1) AS block,
    hypopg_create_index(format('CREATE INDEX ON docs (simhash_block%s) INCLUDE (simhash)', block));
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE simhash_near(simhash, 42);
SELECT count(*)
FROM hypopg_create_index('CREATE INDEX ON docs (simhash_band(body, 0), simhash_size(body), simhash(body))');
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE simhash_near(body, 'a text', '{"bands": 1}');
SELECT id FROM docs WHERE simhash_near(simhash, simhash(text_of(42)));
