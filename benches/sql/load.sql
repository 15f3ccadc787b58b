-- Reads a set of documents, one JSON object with "id" and "text" a line, from standard input, and stores the texts in
-- three tables, as PostgreSQL can: :set_pglz, where long texts are compressed with its default method, :set_lz4, if
-- this server has it, and :set_uncompressed. Texts that are still long are out of line.
CREATE TEMPORARY TABLE line (document jsonb);
-- No byte of JSON is a control character: each line is one value, whatever is in it.
\copy line FROM pstdin WITH (FORMAT csv, QUOTE E'\x01', DELIMITER E'\x02')
SELECT format('CREATE UNLOGGED TABLE %1$I (body text); ALTER TABLE %1$I ALTER body SET %2$s;'
    ' INSERT INTO %1$I SELECT document ->> ''text'' FROM line', :'set' || '_' || storage, option)
FROM (VALUES ('pglz', 'COMPRESSION pglz'), ('lz4', 'COMPRESSION lz4'), ('uncompressed', 'STORAGE EXTERNAL'))
    AS storages (storage, option), pg_settings
WHERE name = 'default_toast_compression' AND (storage <> 'lz4' OR storage = ANY (enumvals)) \gexec
VACUUM ANALYZE;
