-- Runs before all other tests, which use this installation.
CREATE EXTENSION pg_simhash;
SELECT simhash_format();
-- The error of each statement: SQLSTATE, message, detail and hint.
CREATE FUNCTION errors(VARIADIC statements text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    statement text;
    detail text;
    hint text;
BEGIN
    FOREACH statement IN ARRAY statements LOOP
        RETURN NEXT statement;
        BEGIN
            EXECUTE statement;
            RETURN NEXT '  no error';
        EXCEPTION WHEN OTHERS THEN
            GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
            RETURN NEXT format('  %s: %s', SQLSTATE, SQLERRM);
            RETURN QUERY SELECT '  DETAIL: ' || detail WHERE detail <> '';
            RETURN QUERY SELECT '  HINT: ' || hint WHERE hint <> '';
        END;
    END LOOP;
END
$$;
