-- The objects of each tool's database, in addition to tests/pg_regress/sql/setup.sql. Of each ten texts, two are near
-- each other.
CREATE FUNCTION text_of(n integer) RETURNS text LANGUAGE sql IMMUTABLE
    RETURN (SELECT string_agg(CASE word WHEN 100 THEN 'word' || n ELSE left(md5((n - near) || ' ' || word), 7) END,
                ' ' ORDER BY word)
            FROM generate_series(1, 100) AS word, (SELECT (n % 10 = 0)::integer AS near) AS tenth);
