-- Searches and guards in SQL and PL/pgSQL alone, for bands and fingerprints that an application has computed: for
-- servers that cannot load a library. docs/managed.md says how to use it.
--
-- Run it with psql as any role that may create functions in the current schema, or install it by pg_tle. Functions with
-- names of the extension return what its functions return. PostgreSQL replaces calls of functions that only RETURN an
-- expression, and answers it from indexes, as long as they are not STRICT or SECURITY DEFINER and have no SET clause.
--
-- Others may create objects in a schema of the search path. So what a function calls has its schema, and arguments of
-- exactly the types that are declared; or the function sets its search path.

-- Bands ---------------------------------------------------------------------

-- Two near texts have a band in common. So of two sessions that store such texts, the second one waits for the first
-- one's lock. In this order, two sessions that lock bands of one text each do not wait for each other.
CREATE FUNCTION simhash_lock(target pg_catalog.regclass, bands integer[]) RETURNS pg_catalog.void
    LANGUAGE sql
    BEGIN ATOMIC
        SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashoid(target::pg_catalog.oid), band)
        FROM (SELECT DISTINCT band FROM pg_catalog.unnest(bands) AS band ORDER BY band) AS ordered;
    END;
COMMENT ON FUNCTION simhash_lock(pg_catalog.regclass, integer[]) IS
    'locks the bands of a text in a table until the transaction ends: another session that locks one of them waits';

-- Fingerprints --------------------------------------------------------------

CREATE FUNCTION hamming(a bigint, b bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN pg_catalog.bit_count((a OPERATOR(pg_catalog.#) b)::bit(64));
COMMENT ON FUNCTION hamming(bigint, bigint) IS
    'Hamming distance: the number of bits, 0 to 64, in which two fingerprints differ';

CREATE FUNCTION simhash_block(fingerprint bigint, block integer) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (fingerprint OPERATOR(pg_catalog.>>) (48 OPERATOR(pg_catalog.-) (16 OPERATOR(pg_catalog.*) block)))
        OPERATOR(pg_catalog.&) 65535::bigint;
COMMENT ON FUNCTION simhash_block(bigint, integer) IS
    'a block of a fingerprint cut into four; block 0 is the most significant';

-- Two fingerprints within the distance differ in at most (max_distance - block) >> 2 bits in some block: with one added
-- to each, these numbers sum to more than the distance.
CREATE FUNCTION simhash_probes(fingerprint bigint, block integer, max_distance integer) RETURNS integer[]
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN ARRAY(
        WITH RECURSIVE masks(mask, lowest, bits) AS (
            SELECT 0, 16, 0
            UNION ALL
            SELECT mask OPERATOR(pg_catalog.|) (1 OPERATOR(pg_catalog.<<) bit), bit, bits OPERATOR(pg_catalog.+) 1
            FROM masks, pg_catalog.generate_series(0, lowest OPERATOR(pg_catalog.-) 1) AS bit
            WHERE bits OPERATOR(pg_catalog.<) ((max_distance OPERATOR(pg_catalog.-) block) OPERATOR(pg_catalog.>>) 2)
        )
        SELECT simhash_block(fingerprint, block) OPERATOR(pg_catalog.#) mask FROM masks
        WHERE block OPERATOR(pg_catalog.<=) max_distance
    );
COMMENT ON FUNCTION simhash_probes(bigint, integer, integer) IS
    'part of simhash_near: the values of a block that a search within a distance must look up';

CREATE FUNCTION simhash_near(fingerprint bigint, query bigint) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (simhash_block(fingerprint, 0) OPERATOR(pg_catalog.=) simhash_block(query, 0)
        OR simhash_block(fingerprint, 1) OPERATOR(pg_catalog.=) simhash_block(query, 1)
        OR simhash_block(fingerprint, 2) OPERATOR(pg_catalog.=) simhash_block(query, 2)
        OR simhash_block(fingerprint, 3) OPERATOR(pg_catalog.=) simhash_block(query, 3))
        AND hamming(fingerprint, query) OPERATOR(pg_catalog.<=) 3;
COMMENT ON FUNCTION simhash_near(bigint, bigint) IS
    'whether two fingerprints differ in at most 3 bits; a table with indexed blocks is searched by them';

CREATE FUNCTION simhash_near(fingerprint bigint, query bigint, max_distance integer) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (simhash_block(fingerprint, 0) OPERATOR(pg_catalog.=) ANY (simhash_probes(query, 0, max_distance))
        OR simhash_block(fingerprint, 1) OPERATOR(pg_catalog.=) ANY (simhash_probes(query, 1, max_distance))
        OR simhash_block(fingerprint, 2) OPERATOR(pg_catalog.=) ANY (simhash_probes(query, 2, max_distance))
        OR simhash_block(fingerprint, 3) OPERATOR(pg_catalog.=) ANY (simhash_probes(query, 3, max_distance)))
        AND hamming(fingerprint, query) OPERATOR(pg_catalog.<=) max_distance;
COMMENT ON FUNCTION simhash_near(bigint, bigint, integer) IS
    'whether two fingerprints differ in at most max_distance bits; a table with indexed blocks is searched by them';

-- The trigger function is written for one table, so that its search is planned once in a session.
--
-- Two near fingerprints have a block in common. So of two sessions, the second one waits for the first one's lock.
--
-- The default of near, which callers leave out, is read when this file runs. So it says where these functions are,
-- whatever the search path of a caller is.
CREATE FUNCTION simhash_keep_out(target pg_catalog.regclass, fingerprint pg_catalog.name, key pg_catalog.name,
        action pg_catalog.text DEFAULT 'reject',
        near pg_catalog.regprocedure DEFAULT 'simhash_near(bigint, bigint)')
    RETURNS pg_catalog.void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $create$
DECLARE
    functions regnamespace;
    schema_name name;
    table_name name;
    is_partitioned boolean;
    trigger_name text;
BEGIN
    SELECT pronamespace INTO STRICT functions FROM pg_proc WHERE oid = near::oid;
    SELECT nspname, relname, relkind = 'p' OR relispartition INTO STRICT schema_name, table_name, is_partitioned
    FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE pg_class.oid = target::oid;
    trigger_name := format('%I.%I', schema_name, table_name::text || '_keep_out'::text);
    IF action IS NULL OR action NOT IN ('reject', 'skip') THEN
        RAISE 'action must be reject or skip, not "%"', action USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF action = 'skip' AND is_partitioned THEN
        RAISE 'table "%" is partitioned: a row that an UPDATE moves would be lost', table_name
            USING ERRCODE = 'feature_not_supported', HINT = 'Use reject.';
    END IF;
    -- Rows with the same key are not compared: they are taken for two versions of one row.
    IF NOT EXISTS (SELECT FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
                   WHERE indrelid = target::oid AND attname = key AND attnotnull
                       AND indisunique AND indisvalid AND indimmediate AND indnkeyatts = 1 AND indpred IS NULL) THEN
        RAISE 'column "%" of table "%" is not NOT NULL with a unique index of its own', key, table_name
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Pass a primary key of one column.';
    END IF;
    IF EXISTS (SELECT FROM pg_attribute
               WHERE attrelid = target::oid AND attname IN (fingerprint, key) AND attgenerated <> '') THEN
        RAISE 'columns "%" and "%" of table "%" must not be generated', fingerprint, key, table_name
            USING ERRCODE = 'feature_not_supported', HINT = 'A generated column has no value yet in a trigger.';
    END IF;
    EXECUTE format('CREATE FUNCTION %s() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS %L',
                   trigger_name, format($body$
#variable_conflict use_column
<<keep_out>>
DECLARE
    own %1$s.%3$I%%TYPE = CASE TG_OP WHEN 'UPDATE' THEN OLD.%3$I ELSE NEW.%3$I END;
    existing text;
BEGIN
    -- Elsewhere, a row that was committed while this session waited for it is invisible.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE 'table "%%" must be written at READ COMMITTED', TG_TABLE_NAME USING ERRCODE = 'feature_not_supported';
    END IF;

    PERFORM pg_advisory_xact_lock(
        (%6$L::bigint << 18) | ((block << 16) | %4$s.simhash_block(NEW.%2$I::bigint, block))::bigint)
    FROM generate_series(0, 3) AS block
    WHERE NEW.%2$I IS NOT NULL;

    -- This statement has a new snapshot, which sees what was committed while the locks were waited for.
    SELECT %3$I INTO keep_out.existing FROM %1$s AS stored
    WHERE %4$s.simhash_near(%2$I::bigint, NEW.%2$I::bigint)
        -- The row itself has its old key until it is updated; an INSERT with ON CONFLICT DO UPDATE has that of the row.
        AND %3$I IS DISTINCT FROM keep_out.own
    ORDER BY %4$s.hamming(%2$I::bigint, NEW.%2$I::bigint), %3$I LIMIT 1;
    IF NOT FOUND THEN
        RETURN NEW;
    ELSIF %5$L = 'skip' THEN
        RETURN NULL;
    END IF;
    RAISE 'near-duplicate of row %% of table "%%"', keep_out.existing, TG_TABLE_NAME
        USING ERRCODE = 'exclusion_violation', TABLE = TG_TABLE_NAME, CONSTRAINT = TG_NAME;
END
$body$, format('%I.%I', schema_name, table_name), fingerprint, key, functions, action, target::oid::bigint));
    EXECUTE format('CREATE TRIGGER keep_out BEFORE INSERT OR UPDATE OF %I ON %s FOR EACH ROW EXECUTE FUNCTION %s()',
                   fingerprint, target, trigger_name);
END $create$;
COMMENT ON FUNCTION simhash_keep_out IS
    'creates a trigger that keeps rows out whose fingerprint is near another: it rejects them, or skips them';
