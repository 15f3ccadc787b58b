-- What an existing table needs to be searched: its fingerprint, four blocks of it, and a btree on each block.
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;

SELECT clock_timestamp() AS start \gset
ALTER TABLE docs
    ADD simhash bigint GENERATED ALWAYS AS (simhash(body)) STORED,
    ADD simhash_block0 integer GENERATED ALWAYS AS (simhash_block(simhash(body), 0)) STORED,
    ADD simhash_block1 integer GENERATED ALWAYS AS (simhash_block(simhash(body), 1)) STORED,
    ADD simhash_block2 integer GENERATED ALWAYS AS (simhash_block(simhash(body), 2)) STORED,
    ADD simhash_block3 integer GENERATED ALWAYS AS (simhash_block(simhash(body), 3)) STORED;
SELECT format('%s fingerprints of %s MB of text in %s s (the table was rewritten with them)', count(simhash),
    round(sum(octet_length(body)) / 1e6, 1),
    round(extract(epoch FROM clock_timestamp() - :'start'), 2))
FROM docs;

SELECT clock_timestamp() AS start \gset
CREATE INDEX ON docs (simhash_block0);
CREATE INDEX ON docs (simhash_block1);
CREATE INDEX ON docs (simhash_block2);
CREATE INDEX ON docs (simhash_block3);
ANALYZE docs;
SELECT format('four btrees in %s s', round(extract(epoch FROM clock_timestamp() - :'start'), 2));
