-- simhash_guards: the guards of the database, as their triggers' arguments define them.
CREATE TABLE docs (id integer PRIMARY KEY, tenant integer, body text, mark integer);
-- The weighted token is the text \u0000. If it were unescaped once too often, it would be a NUL, which jsonb refuses.
SELECT simhash_index('docs', 'body', '{"weights": {"\\u0000": 0.5}}', bands => 12);
CREATE FUNCTION guard_of_docs() RETURNS jsonb LANGUAGE sql AS $$
    SELECT to_jsonb(g) - 'target' - 'guard' FROM simhash_guards() AS g WHERE target = 'docs'::regclass
$$;

-- The definition has the arguments of simhash_guard.
SELECT simhash_guard('docs', 'mark', '{"resemblance": 0.7, "same": ["numbers"]}', scope => '{tenant}',
    mark_column => 'mark', among => 'id > 0');
SELECT target::text, guard, pg_typeof(target), pg_typeof(guard), pg_typeof(scope), pg_typeof(enabled)
FROM simhash_guards() WHERE target = 'docs'::regclass \gx
SELECT guard_of_docs() = '{"action": "mark", "criterion": {"resemblance": 0.7, "bands": 12,
    "same": ["numbers"], "weights": {"\\u0000": 0.5}}, "source": "body", "scope": ["tenant"],
    "mark_column": "mark", "among": "(id > 0)", "unless": null, "enabled": "O", "error": null}' AS is_all;
-- A guard of fingerprints has a distance in its criterion.
SELECT simhash_unguard('docs'), simhash_attach('docs', 'body'), simhash_guard('docs', 'skip', '{"resemblance": null}');
ALTER TABLE docs DISABLE TRIGGER zzz_simhash_guard;
SELECT guard_of_docs() = '{"action": "skip", "criterion": {"max_distance": 3, "resemblance": null},
    "source": "simhash", "scope": [], "mark_column": null, "among": null, "unless": null, "enabled": "D",
    "error": "the trigger does not fire in ordinary sessions"}' AS is_all;
SELECT simhash_unguard('docs');
SELECT count(*) FROM simhash_guards() WHERE target = 'docs'::regclass;

-- A guard of a partitioned table is listed once, and a partition that was detached has none.
CREATE TABLE parts (id integer, body text, PRIMARY KEY (id)) PARTITION BY HASH (id);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
SELECT simhash_index('parts', 'body'), simhash_guard('parts');
SELECT array_agg(target::text) FROM simhash_guards() WHERE target::text ~ '^parts';
ALTER TABLE parts_0 DISABLE TRIGGER zzz_simhash_guard;
SELECT target, enabled FROM simhash_guards() WHERE target::text ~ '^parts' ORDER BY target;
ALTER TABLE parts_0 ENABLE TRIGGER zzz_simhash_guard;
ALTER TABLE parts DETACH PARTITION parts_1;
SELECT array_agg(target::text ORDER BY target::text) FROM simhash_guards() WHERE target::text ~ '^parts';

-- If arguments cannot be read, their row has an error, and the listing does not fail.
CREATE FUNCTION error_of(arguments text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE listed record;
BEGIN
    EXECUTE format('CREATE TRIGGER by_hand BEFORE INSERT OR UPDATE ON docs FOR EACH ROW
        EXECUTE FUNCTION simhash_dedup(%s)',
        (SELECT string_agg(quote_literal(argument), ', ') FROM unnest(arguments) AS argument));
    SELECT * INTO STRICT listed FROM simhash_guards() WHERE guard = 'by_hand';
    DROP TRIGGER by_hand ON docs;
    ASSERT num_nonnulls(listed.criterion, listed.error) > 0;
    RETURN coalesce(listed.error, listed.criterion::text);
END $$;
SELECT arguments, error_of(arguments) FROM (VALUES
    ('{}'::text[]), (ARRAY['drop', '{}', 'simhash']),
    (ARRAY['skip', '{"max_distance": 99}', 'simhash']), (ARRAY['skip', '{"bands": 65}', 'simhash']),
    (ARRAY['skip', '{"weights": {"\u0000": 1}}', 'simhash']),
    (ARRAY['skip', '{"\u0000": 1}', 'simhash']),
    (ARRAY['skip', '{"weights": {"a": 1e-99999999999999999999, "b": 1e-17000}}', 'simhash']),
    (ARRAY['skip', '{"weights": {"a": 1e999}}', 'simhash']),
    (ARRAY['skip', '{"resemblance": null}', 'no_such_column'])
) AS triggers (arguments);

-- Arguments that are too long to be shown.
SELECT error_of(ARRAY['skip', '{}', 'simhash', '', '', repeat('x', 1 << 24)]);

-- Triggers made by hand: the first is what simhash_guard creates, the others are not.
SELECT simhash_guard('docs', 'skip', '{"resemblance": 0.7}');
DO $$
DECLARE definition text;
BEGIN
    FOREACH definition IN ARRAY ARRAY[
        'BEFORE INSERT OR UPDATE ON docs FOR EACH ROW',
        'BEFORE INSERT OR UPDATE ON docs FOR EACH ROW WHEN (NEW.id > 9)',
        'BEFORE INSERT OR UPDATE OF body ON docs FOR EACH ROW', 'BEFORE INSERT ON docs FOR EACH ROW',
        'BEFORE INSERT OR UPDATE OR DELETE ON docs FOR EACH ROW', 'AFTER INSERT OR UPDATE ON docs FOR EACH ROW',
        'BEFORE INSERT OR UPDATE ON docs'] LOOP
        EXECUTE 'DROP TRIGGER zzz_simhash_guard ON docs';
        EXECUTE format('CREATE TRIGGER zzz_simhash_guard %s
            EXECUTE FUNCTION simhash_dedup(''skip'',
                ''{"bands": 12, "weights": {"\\u0000": 0.5}, "resemblance": 0.7}'', ''body'')', definition);
        RAISE WARNING '%: %', definition, guard_of_docs() ->> 'error';
    END LOOP;
END $$;
-- simhash_guard replaces such a trigger.
SELECT simhash_guard('docs');
-- Other states of the trigger.
ALTER TABLE docs ENABLE REPLICA TRIGGER zzz_simhash_guard;
SELECT guard_of_docs() ->> 'error';
ALTER TABLE docs ENABLE ALWAYS TRIGGER zzz_simhash_guard;
SELECT guard_of_docs() ->> 'error';
-- A guarded table from which another table inherits later.
CREATE TABLE heirs () INHERITS (docs);
SELECT guard_of_docs() ->> 'error';
DROP TABLE heirs;
-- A guard that was renamed is listed with an error, and neither replaced nor dropped.
ALTER TRIGGER zzz_simhash_guard ON docs RENAME TO "Renamed";
SELECT guard_of_docs() ->> 'error';
SELECT simhash_guard('docs');
SELECT simhash_unguard('docs');
ALTER TRIGGER "Renamed" ON docs RENAME TO zzz_simhash_guard;
SELECT simhash_unguard('docs');

-- A trigger argument with a byte that is no character, and a trigger without arguments.
SELECT simhash_guard_definition('skip\000\377\000') ? 'error', simhash_guard_definition('') ? 'error';

-- simhash_guards tries each guard on a row. An interrupt meanwhile rolls back the block that catches it, and no more.
INSERT INTO docs VALUES (1, 1, 'a text');
CREATE TRIGGER zzz_simhash_guard BEFORE INSERT OR UPDATE ON docs FOR EACH ROW EXECUTE FUNCTION
    simhash_dedup('reject', '{"weights": {"\\u0000": 0.5}}', 'body', '', '',
        'factorial(id + 32000) + factorial(id + 32001) + factorial(id + 32002) > 0');
CREATE TABLE done (step text);
SET statement_timeout = '300ms';
DO $$
BEGIN
    INSERT INTO done VALUES ('before');
    BEGIN
        INSERT INTO done VALUES ('within');
        PERFORM count(error) FROM simhash_guards();
    EXCEPTION WHEN query_canceled THEN INSERT INTO done VALUES (sqlerrm);
    END;
END $$;
RESET statement_timeout;
SELECT step FROM done;

-- The catalog is public.
SET ROLE regress_reader;
SELECT count(*) > 0 AS is_visible FROM public.simhash_guards() WHERE criterion IS NOT NULL;
