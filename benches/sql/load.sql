-- Reads a set of documents, one JSON object with "id" and "text" a line, from standard input into the table :set.
CREATE TEMPORARY TABLE line (document jsonb);
-- No byte of JSON is a control character: each line is one value, whatever is in it.
\copy line FROM pstdin WITH (FORMAT csv, QUOTE E'\x01', DELIMITER E'\x02')
CREATE UNLOGGED TABLE :set AS
    SELECT row_number() OVER () AS id, document->>'text' AS body FROM line;
DROP TABLE line;
VACUUM ANALYZE :set;
