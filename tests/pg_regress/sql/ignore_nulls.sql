-- Since PostgreSQL 19: RESPECT NULLS and IGNORE NULLS are errors.
SELECT errors('SELECT simhash_cluster(f, f) IGNORE NULLS OVER () FROM (VALUES (1::bigint), (NULL)) AS docs (f)',
    'SELECT simhash_cluster(f, f) RESPECT NULLS OVER () FROM (VALUES (1::bigint), (NULL)) AS docs (f)',
    'SELECT simhash_duplicate_of(f, f::text) IGNORE NULLS OVER () FROM (VALUES (1::bigint), (NULL)) AS docs (f)');
