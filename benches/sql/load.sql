-- Loads a set of documents from standard input, one JSON object with "text" a line, into tables named for the variable
-- set: SET_pglz and, if the server has this method, SET_lz4, where long texts are compressed; and SET_uncompressed.
-- Texts that are still long are stored out of line.
CREATE TEMPORARY TABLE lines (document jsonb);
-- JSON has no control characters. So with these as quote and delimiter, COPY reads each line as one value.
\copy lines FROM pstdin WITH (FORMAT csv, QUOTE E'\x01', DELIMITER E'\x02')
-- The values of default_toast_compression are the methods that the server has.
SELECT format('CREATE UNLOGGED TABLE %1$I (body text); ALTER TABLE %1$I ALTER body SET %2$s;'
    ' INSERT INTO %1$I SELECT document ->> ''text'' FROM lines', :'set' || '_' || variant, clause)
FROM (VALUES ('pglz', 'COMPRESSION pglz'), ('lz4', 'COMPRESSION lz4'), ('uncompressed', 'STORAGE EXTERNAL'))
    AS variants (variant, clause), pg_settings
WHERE name = 'default_toast_compression' AND (variant <> 'lz4' OR variant = ANY (enumvals)) \gexec
VACUUM ANALYZE;
