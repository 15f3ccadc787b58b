-- Texts of 100 words. Of each ten, two are near each other: the tenth differs from the one before in the last word.
CREATE FUNCTION text_of(n integer) RETURNS text LANGUAGE sql IMMUTABLE
    RETURN (SELECT string_agg(CASE word WHEN 100 THEN 'word' || n ELSE left(md5((n - near) || ' ' || word), 7) END,
                ' ' ORDER BY word)
            FROM generate_series(1, 100) AS word, (SELECT (n % 10 = 0)::integer AS near) AS tenth);
