-- A search needs a btree on each band of the texts.
\pset format unaligned
\pset tuples_only on

SELECT clock_timestamp() AS start \gset
\set ECHO queries
SELECT simhash_index('docs', 'body');
\set ECHO none
SELECT format('%s documents, %s MB of text, indexed in %s s', count(*), round(sum(octet_length(body)) / 1e6, 1),
    round(extract(epoch FROM clock_timestamp() - :'start'), 2))
FROM docs;
