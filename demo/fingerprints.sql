-- A search needs a fingerprint of each row, its four blocks, and a btree on each block.
\pset format unaligned
\pset tuples_only on

SELECT clock_timestamp() AS start \gset
\set ECHO queries
SELECT simhash_attach('docs', 'body');
\set ECHO none
SELECT format('%s fingerprints of %s MB of text, their blocks and four btrees in %s s', count(simhash),
    round(sum(octet_length(body)) / 1e6, 1),
    round(extract(epoch FROM clock_timestamp() - :'start'), 2))
FROM docs;
