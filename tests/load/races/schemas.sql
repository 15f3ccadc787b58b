-- `good` is the schema that the superuser means, `evil` the one that takes its name now and then. In `evil` are all ways
-- to the attacker's code: a trigger, a cast of the text, a cast of the fingerprint, functions of the same names.
CREATE SCHEMA good AUTHORIZATION regress_simhash_attacker;
SET ROLE regress_simhash_attacker;
CREATE SCHEMA evil;
CREATE FUNCTION evil.trigger() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM evidence.record_run(''trigger''); RETURN NULL; END';
CREATE TYPE evil.words AS (words text);
CREATE FUNCTION evil.to_text(evil.words) RETURNS text IMMUTABLE LANGUAGE plpgsql AS
    'BEGIN PERFORM evidence.record_run(''cast to text''); RETURN ''x''; END';
CREATE CAST (evil.words AS text) WITH FUNCTION evil.to_text(evil.words) AS IMPLICIT;
CREATE TYPE evil.number AS (number text);
CREATE FUNCTION evil.to_bigint(evil.number) RETURNS bigint LANGUAGE plpgsql AS
    'BEGIN PERFORM evidence.record_run(''cast to bigint''); RETURN 1; END';
CREATE CAST (evil.number AS bigint) WITH FUNCTION evil.to_bigint(evil.number);
CREATE FUNCTION evil.normal(text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS
    'BEGIN PERFORM evidence.record_run(''function of the source''); RETURN ''x''; END';
CREATE FUNCTION evil.simhash(text, jsonb DEFAULT '{}') RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS
    'BEGIN PERFORM evidence.record_run(''simhash''); RETURN 1; END';
CREATE FUNCTION evil.simhash_block(bigint, integer, integer DEFAULT 4) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS
    'BEGIN PERFORM evidence.record_run(''simhash_block''); RETURN 1; END';
CREATE FUNCTION evil.simhash_band(text, integer, jsonb DEFAULT '{}') RETURNS integer IMMUTABLE LANGUAGE plpgsql AS
    'BEGIN PERFORM evidence.record_run(''simhash_band''); RETURN 1; END';
CREATE FUNCTION evil.simhash_size(text, jsonb DEFAULT '{}') RETURNS integer IMMUTABLE LANGUAGE plpgsql AS
    'BEGIN PERFORM evidence.record_run(''simhash_size''); RETURN 1; END';
CREATE FUNCTION evil.simhash_dedup() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM evidence.record_run(''simhash_dedup''); RETURN NEW; END';
-- Renames both schemas, commits, renames them back, and commits. GRANT comes first: it writes a new version of the
-- schema's row, so a command that locks a name must also lock it in that version.
CREATE PROCEDURE evil.rename_schemas() LANGUAGE plpgsql AS $$
BEGIN
    LOOP
        GRANT USAGE ON SCHEMA good TO public;
        ALTER SCHEMA good RENAME TO away;
        ALTER SCHEMA evil RENAME TO good;
        COMMIT;
        ALTER SCHEMA good RENAME TO evil;
        ALTER SCHEMA away RENAME TO good;
        COMMIT;
        PERFORM nextval('evidence.renames');
    END LOOP;
END $$;
RESET ROLE;
