-- Stores the documents of the table :set in three tables, as PostgreSQL can: :set_pglz, where long texts are compressed
-- with its default method, :set_lz4 (if this server has it) and :set_uncompressed; in each case out of line where they
-- are still long.
SELECT set_config('bench.set', :'set', false) \g /dev/null

DO $$
DECLARE
    documents text := current_setting('bench.set');
    methods text[] := (SELECT enumvals FROM pg_settings WHERE name = 'default_toast_compression');
    s record;
BEGIN
    FOR s IN VALUES
        ('pglz', 'SET COMPRESSION pglz'), ('lz4', 'SET COMPRESSION lz4'), ('uncompressed', 'SET STORAGE EXTERNAL')
    LOOP
        CONTINUE WHEN s.column1 <> 'uncompressed' AND s.column1 <> ALL (methods);
        EXECUTE format('CREATE UNLOGGED TABLE %I (body text)', documents || '_' || s.column1);
        EXECUTE format('ALTER TABLE %I ALTER body %s', documents || '_' || s.column1, s.column2);
        -- Appending nothing makes a new text: the old one would be copied as it is stored.
        EXECUTE format('INSERT INTO %I SELECT body || %L FROM %I', documents || '_' || s.column1, '', documents);
    END LOOP;
END
$$;
VACUUM;
