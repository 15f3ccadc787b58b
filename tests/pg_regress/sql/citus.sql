-- Commands and guards on tables that Citus distributes. Tables with the names of its catalogs imitate Citus here;
-- tests/server/citus has tests with Citus itself.
CREATE TABLE docs (tenant integer, id integer, f bigint, "key" integer GENERATED ALWAYS AS (tenant) STORED,
    PRIMARY KEY (tenant, id));
CREATE TABLE everywhere (id integer PRIMARY KEY, f bigint);
CREATE TABLE here (id integer PRIMARY KEY, f bigint);
CREATE TABLE in_one_shard (id integer PRIMARY KEY, f bigint);
CREATE TABLE parts (tenant integer, f bigint) PARTITION BY LIST (tenant);
CREATE TABLE part PARTITION OF parts DEFAULT;
SELECT simhash_attach(name::regclass, 'f') FROM unnest('{docs,everywhere,here,in_one_shard,parts}'::text[]) AS name;

SET allow_system_table_mods = on;
CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass NOT NULL, partmethod "char" NOT NULL, partkey text,
    colocationid integer NOT NULL DEFAULT 0, repmodel "char" NOT NULL DEFAULT 's');
CREATE TABLE pg_catalog.pg_dist_shard (logicalrelid regclass NOT NULL, shardid bigint NOT NULL);
CREATE TABLE pg_catalog.pg_dist_local_group (groupid integer NOT NULL);
RESET allow_system_table_mods;
INSERT INTO pg_dist_local_group VALUES (0);

-- Citus stores the distribution column as PostgreSQL stores an expression.
INSERT INTO pg_dist_partition
SELECT unnest('{docs,parts,part}'::regclass[]), 'h', adbin::text, 1, 's'
FROM pg_attrdef WHERE adrelid = 'docs'::regclass AND adnum = 4;
INSERT INTO pg_dist_partition VALUES ('everywhere', 'n', NULL, 2, 't'), ('here', 'n', NULL, 0, 's'),
    ('in_one_shard', 'n', NULL, 3, 's');
CREATE TABLE appended (LIKE docs INCLUDING ALL);
INSERT INTO pg_dist_partition
SELECT 'appended', 'a', partkey, 4, 's' FROM pg_dist_partition WHERE logicalrelid = 'docs'::regclass;

-- A guard must see all rows that it compares, and Citus must allow the trigger.
SELECT errors(
    $$SELECT simhash_guard('docs', 'skip', source => 'f')$$,
    $$SELECT simhash_guard('parts', source => 'f', scope => '{f}')$$,
    $$SELECT simhash_guard('docs', source => 'f', scope => '{tenant}')$$,
    $$SELECT simhash_guard('everywhere', source => 'f')$$,
    $$SELECT simhash_guard('in_one_shard', source => 'f')$$,
    $$SELECT simhash_guard('here', source => 'f')$$);
SET citus.enable_unsafe_triggers = on;
SELECT errors(
    $$SELECT simhash_guard('docs', source => 'f')$$,
    $$SELECT simhash_guard('appended', source => 'f', scope => '{id,tenant}')$$,
    $$SELECT simhash_guard('docs', source => 'f', scope => '{id,tenant}')$$,
    $$SELECT simhash_guard('everywhere', source => 'f')$$, $$SELECT simhash_guard('in_one_shard', source => 'f')$$);

SET citus.enable_unsafe_triggers = off;
SELECT errors($$SELECT simhash_unguard('docs')$$, $$SELECT simhash_unguard('here')$$);

-- The coordinator's own table has no rows: neither a preview nor a trigger can check anything there.
SELECT errors(
    $$SELECT simhash_preview('docs', source => 'f')$$,
    $$INSERT INTO docs VALUES (1, 1, 0)$$,
    $$SELECT simhash_preview('here', source => 'f')$$);

-- On a shard, messages name the table and the guard without the number of the shard.
CREATE TABLE docs_102008 (LIKE docs INCLUDING ALL);
INSERT INTO pg_dist_shard VALUES ('docs', 102008);
CREATE TRIGGER guard_102008 BEFORE INSERT OR UPDATE ON docs_102008
    FOR EACH ROW EXECUTE FUNCTION simhash_dedup('reject', '{"resemblance": null}', 'f', '', 'tenant');
INSERT INTO docs_102008 VALUES (1, 1, 0);
SELECT fields($$INSERT INTO docs_102008 VALUES (1, 2, 0)$$);
-- A trigger with another name, a table with a number that is not a shard's, and a shard with a shortened name.
ALTER TRIGGER guard_102008 ON docs_102008 RENAME TO guard;
CREATE TABLE docs_102009 (LIKE docs INCLUDING ALL);
CREATE TRIGGER guard_102009 BEFORE INSERT ON docs_102009
    FOR EACH ROW EXECUTE FUNCTION simhash_dedup('reject', '{"resemblance": null}', 'f');
INSERT INTO docs_102009 VALUES (1, 1, 0);
CREATE TABLE a_table_with_a_name_that_is_nearly_as_long_as_a_name_can_be_here (LIKE docs INCLUDING ALL);
CREATE TABLE a_table_with_a_name_that_is_nearly_as_long_as_a_n_1f2e3d_102010 (LIKE docs INCLUDING ALL);
INSERT INTO pg_dist_shard VALUES ('a_table_with_a_name_that_is_nearly_as_long_as_a_name_can_be_here', 102010);
CREATE TRIGGER guard_102010 BEFORE INSERT ON a_table_with_a_name_that_is_nearly_as_long_as_a_n_1f2e3d_102010
    FOR EACH ROW EXECUTE FUNCTION simhash_dedup('reject', '{"resemblance": null}', 'f');
INSERT INTO a_table_with_a_name_that_is_nearly_as_long_as_a_n_1f2e3d_102010 VALUES (1, 1, 0);
SELECT errors(
    $$INSERT INTO docs_102008 VALUES (1, 2, 0)$$,
    $$INSERT INTO docs_102009 VALUES (1, 2, 0)$$,
    $$INSERT INTO a_table_with_a_name_that_is_nearly_as_long_as_a_n_1f2e3d_102010 VALUES (1, 2, 0)$$);

-- A table that was guarded before it was distributed: its shards have the trigger.
CREATE TRIGGER guard BEFORE INSERT ON docs
    FOR EACH ROW EXECUTE FUNCTION simhash_dedup('reject', '{"resemblance": null}', 'f', '', 'id');
CREATE OR REPLACE TRIGGER guard BEFORE INSERT ON docs_102008
    FOR EACH ROW EXECUTE FUNCTION simhash_dedup('reject', '{"resemblance": null}', 'f', '', 'id');
SELECT errors(
    $$INSERT INTO docs VALUES (1, 1, 0)$$,
    $$INSERT INTO docs_102008 VALUES (1, 2, 0)$$);

-- On a server that is not the coordinator.
UPDATE pg_dist_local_group SET groupid = 2;
SELECT errors(
    $$SELECT simhash_attach('docs', 'f')$$,
    $$SELECT simhash_detach('docs')$$, $$SELECT simhash_unguard('here')$$,
    $$SELECT simhash_guard('docs', source => 'f', scope => '{tenant}')$$);
SELECT simhash_attach('docs_102009', 'f');
