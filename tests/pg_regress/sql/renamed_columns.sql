-- A renamed block column is recognised by what it computes: simhash_attach uses it, and simhash_detach drops it.
SET client_min_messages = warning;
CREATE TABLE renamed (id integer PRIMARY KEY, body text, fp bigint);
INSERT INTO renamed SELECT n, 'a text of words ' || n, n FROM generate_series(1, 50) AS n;
CREATE VIEW of_renamed AS SELECT attname AS name, col_description(attrelid, attnum) AS comment
FROM pg_attribute WHERE attrelid = 'renamed'::regclass AND attnum > 3 AND NOT attisdropped ORDER BY attnum;
SELECT simhash_attach('renamed', 'body', 2);
ALTER TABLE renamed RENAME simhash_block0 TO "Zero";
RESET client_min_messages;
SELECT simhash_attach('renamed', 'body', 2);
-- A missing index is built under its usual name, and replaced if it is to be covering.
DROP INDEX renamed_simhash_block0_idx;
SELECT simhash_attach('renamed', 'body', 2);
SELECT simhash_attach('renamed', 'body', 2, covering => true);
\d renamed
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM renamed WHERE simhash_near(simhash, 1, 1);
RESET enable_seqscan;
SELECT simhash_detach('renamed');
TABLE of_renamed;

-- Two prefixes with the same source, each with its own columns, renamed or not.
SET client_min_messages = warning;
SELECT simhash_attach('renamed', 'body', 2);
SELECT simhash_attach('renamed', 'body', 2, prefix => 'b');
SELECT simhash_attach('renamed', 'body', 3, prefix => 'c');
ALTER TABLE renamed RENAME b_block1 TO one;
ALTER TABLE renamed RENAME c_block2 TO two;
RESET client_min_messages;
SELECT simhash_attach('renamed', 'body', 2);
SELECT simhash_attach('renamed', 'body', 2, prefix => 'b');
SELECT simhash_attach('renamed', 'body', 3, prefix => 'c');
SELECT simhash_detach('renamed');
SELECT simhash_detach('renamed', 'c');
TABLE of_renamed;
SELECT simhash_attach('renamed', 'body', 2);
SELECT simhash_detach('renamed', 'b');
TABLE of_renamed;
-- A column with the name of another prefix's block belongs to that prefix, as long as the prefix has its fingerprint.
ALTER TABLE renamed RENAME simhash_block0 TO id_block0;
SELECT simhash_attach('renamed', 'body', 2);
SET client_min_messages = warning;
SELECT simhash_attach('renamed', 'body', 2, prefix => 'b');
ALTER TABLE renamed DROP b_block0;
ALTER TABLE renamed RENAME id_block0 TO b_block0;
RESET client_min_messages;
SELECT simhash_attach('renamed', 'body', 2);
-- Without a telling index, it belongs to the only prefix that lacks it; to none, if several do.
DROP INDEX renamed_simhash_block1_idx;
ALTER TABLE renamed RENAME simhash_block1 TO one;
SELECT simhash_attach('renamed', 'body', 2);
DROP INDEX renamed_simhash_block1_idx;
ALTER TABLE renamed DROP b_block1;
SELECT simhash_attach('renamed', 'body', 2);
SELECT simhash_detach('renamed');
SELECT simhash_detach('renamed', 'b');
TABLE of_renamed;
SET client_min_messages = warning;
ALTER TABLE renamed DROP IF EXISTS one, DROP IF EXISTS b_block0;
RESET client_min_messages;

-- A column that attach did not make, or that no longer computes the same, is not ours.
SET client_min_messages = warning;
SELECT simhash_attach('renamed', 'body', 2);
ALTER TABLE renamed RENAME simhash_block0 TO zero;
ALTER TABLE renamed RENAME simhash_block1 TO one;
COMMENT ON COLUMN renamed.zero IS 'mine now';
ALTER TABLE renamed ALTER one DROP EXPRESSION;
ALTER TABLE renamed ADD other integer GENERATED ALWAYS AS (simhash_block(simhash(id::text), 0, 2)) STORED;
COMMENT ON COLUMN renamed.other IS 'made by simhash_attach: a block of something else';
RESET client_min_messages;
SELECT simhash_attach('renamed', 'body', 2);
TABLE of_renamed;
SELECT simhash_detach('renamed');
ALTER TABLE renamed DROP zero, DROP one, DROP other;
SELECT simhash_detach('renamed');
TABLE of_renamed;

-- Fingerprints filled by the application: a prefix has no fingerprint column of its own.
SET client_min_messages = warning;
SELECT simhash_attach('renamed', 'fp', 2, prefix => 'fp');
SELECT simhash_attach('renamed', 'fp', 2, prefix => 'x');
ALTER TABLE renamed RENAME fp_block0 TO zero;
ALTER TABLE renamed RENAME x_block1 TO one;
RESET client_min_messages;
SELECT simhash_attach('renamed', 'fp', 2, prefix => 'fp');
SELECT simhash_attach('renamed', 'fp', 2, prefix => 'x');
SELECT simhash_detach('renamed', 'x');
TABLE of_renamed;
SELECT simhash_detach('renamed', 'fp');
TABLE of_renamed;
DROP VIEW of_renamed;

-- Partitions and children follow, under the new name.
SET client_min_messages = warning;
CREATE TABLE renamed_parts (id integer, body text) PARTITION BY LIST (id);
CREATE TABLE renamed_parts_1 PARTITION OF renamed_parts FOR VALUES IN (1);
CREATE TABLE renamed_parent (id integer, body text);
CREATE TABLE renamed_child () INHERITS (renamed_parent);
SELECT simhash_attach('renamed_parts', 'body', 2), simhash_attach('renamed_parent', 'body', 2);
ALTER TABLE renamed_parts RENAME simhash_block1 TO one;
ALTER TABLE renamed_parent RENAME simhash_block1 TO one;
DROP INDEX renamed_parts_simhash_block1_idx, renamed_child_simhash_block1_idx;
RESET client_min_messages;
SELECT simhash_attach('renamed_parts', 'body', 2), simhash_attach('renamed_parent', 'body', 2);
\d renamed_parts_1
SELECT described('renamed_child');
SELECT simhash_detach('renamed_parts'), simhash_detach('renamed_parent');
\d renamed_parts_1
SELECT described('renamed_child');
DROP TABLE renamed, renamed_parts, renamed_parent, renamed_child;
