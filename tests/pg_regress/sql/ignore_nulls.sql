-- RESPECT NULLS and IGNORE NULLS, which exist since PostgreSQL 19, are errors.
SELECT current_setting('server_version_num')::integer < 190000 AS without_ignore_nulls \gset
\if :without_ignore_nulls
\quit
\endif
SELECT errors('SELECT simhash_cluster(f, f) IGNORE NULLS OVER () FROM (VALUES (1::bigint), (NULL)) AS docs (f)',
    'SELECT simhash_cluster(f, f) RESPECT NULLS OVER () FROM (VALUES (1::bigint), (NULL)) AS docs (f)',
    'SELECT simhash_duplicate_of(f, f::text) IGNORE NULLS OVER () FROM (VALUES (1::bigint), (NULL)) AS docs (f)');
