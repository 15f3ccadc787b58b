-- What each tool's database has from the start. Of each ten texts, two are near each other.
SET client_min_messages = warning;
CREATE EXTENSION pg_simhash;
CREATE FUNCTION text_of(n integer) RETURNS text LANGUAGE sql IMMUTABLE
    RETURN (SELECT string_agg(CASE word WHEN 100 THEN 'word' || n ELSE left(md5((n - near) || ' ' || word), 7) END,
                ' ' ORDER BY word)
            FROM generate_series(1, 100) AS word, (SELECT (n % 10 = 0)::integer AS near) AS tenth);
-- The columns of a table with their expressions, its indexes and its triggers.
CREATE FUNCTION described(relation regclass) RETURNS SETOF text LANGUAGE sql AS $$
    (SELECT concat_ws(' ', attname, pg_get_expr(adbin, adrelid))
    FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE attrelid = relation AND attnum > 0 AND NOT attisdropped ORDER BY attnum)
    UNION ALL
    (SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = relation ORDER BY 1)
    UNION ALL
    SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = relation
$$;
