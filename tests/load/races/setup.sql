-- Objects that all scenarios share. The attacker's code calls evidence.record_run, which logs whoever runs it, unless
-- that is the attacker.
CREATE ROLE regress_simhash_attacker LOGIN;
GRANT CREATE ON DATABASE races TO regress_simhash_attacker;
CREATE SCHEMA evidence;
GRANT USAGE ON SCHEMA evidence TO public;
CREATE TABLE evidence.log (code text, role text);
GRANT ALL ON evidence.log TO public;
CREATE SEQUENCE evidence.renames;
GRANT ALL ON evidence.renames TO public;
CREATE FUNCTION evidence.record_run(code text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF current_user <> 'regress_simhash_attacker' THEN
        INSERT INTO evidence.log VALUES (code, current_user);
    END IF;
END $$;
-- For the superuser: without the indexes of simhash_index, its next call makes them again.
CREATE FUNCTION evidence.drop_indexes(indexed regclass) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    index regclass;
BEGIN
    FOR index IN SELECT indexrelid FROM pg_index WHERE indrelid = indexed AND indexprs IS NOT NULL LOOP
        EXECUTE format('DROP INDEX %s', index);
    END LOOP;
END $$;
