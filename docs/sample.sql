-- The table of the documentation: 5,000 documents of 200 random words, and four variants of document 42.
CREATE EXTENSION pg_simhash;
CREATE TABLE docs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text NOT NULL);

INSERT INTO docs (body)
SELECT string_agg(substr(md5(doc || ' ' || word), 1, 8), ' ' ORDER BY word)
FROM generate_series(1, 5000) AS doc, generate_series(1, 200) AS word
GROUP BY doc ORDER BY doc;

-- 5001: other case and punctuation; 5002: five words replaced; 5003: a line added; 5004: the first half only
INSERT INTO docs (body)
SELECT upper(replace(body, ' ', ', ')) FROM docs WHERE id = 42
UNION ALL
SELECT regexp_replace(body, '^(\w+ ){5}', 'some other words ') FROM docs WHERE id = 42
UNION ALL
SELECT body || ' Posted by admin on Monday.' FROM docs WHERE id = 42
UNION ALL
SELECT left(body, 900) FROM docs WHERE id = 42;
