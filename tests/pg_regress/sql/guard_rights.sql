-- The rights that writers need, what is reported to them, and who may guard. (All privileges on a table do not suffice
-- to guard it: security_owners.)

CREATE SCHEMA guarded;
GRANT USAGE, CREATE ON SCHEMA guarded TO regress_owner; GRANT USAGE ON SCHEMA guarded TO regress_writer;
SET ROLE regress_owner;
CREATE TABLE guarded.docs (id integer PRIMARY KEY, body text, same_as integer, reader name DEFAULT current_user);
SELECT simhash_index('guarded.docs', 'body');

-- A superuser guards another user's table as its owner, who may drop what was created.
RESET ROLE;
SELECT simhash_guard('guarded.docs');
SET ROLE regress_owner;
SELECT simhash_unguard('guarded.docs'), simhash_guard('guarded.docs', 'reject');
RESET ROLE;

-- INSERT suffices. (What the error reports: guard_fields.)
GRANT INSERT (id, body), UPDATE (body) ON guarded.docs TO regress_writer;
SELECT errors_as('regress_writer', $$INSERT INTO guarded.docs (id, body) VALUES (1, 'The text of the first document')$$,
    $$INSERT INTO guarded.docs (id, body) VALUES (2, 'the text of the first document')$$,
    $$UPDATE guarded.docs SET body = 'A text that all have'$$, 'SELECT * FROM guarded.docs');
SELECT simhash_guard('guarded.docs', 'skip');
SELECT errors_as('regress_writer', $$INSERT INTO guarded.docs (id, body) VALUES (2, 'a text that all have')$$);
SELECT simhash_guard('guarded.docs', 'mark', mark_column => 'same_as');
SELECT errors_as('regress_writer', $$INSERT INTO guarded.docs (id, body) VALUES (3, 'a text that all have')$$);
SELECT id, body, same_as FROM guarded.docs;
-- Writers need no rights on the extension's functions, beyond those that a generated column needs.
REVOKE EXECUTE ON FUNCTION simhash_dedup() FROM PUBLIC;
SELECT errors_as('regress_writer', $$INSERT INTO guarded.docs (id, body) VALUES (4, 'A third text')$$);
GRANT EXECUTE ON FUNCTION simhash_dedup() TO PUBLIC;

-- Row-level security: hidden rows count, but are not named.
DELETE FROM guarded.docs WHERE id = 3;
SELECT simhash_guard('guarded.docs', 'reject');
ALTER TABLE guarded.docs ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON guarded.docs USING (reader = current_user);
GRANT SELECT ON guarded.docs TO regress_writer;
UPDATE guarded.docs SET reader = 'somebody else';
PREPARE insert_as(name) AS
    SELECT errors_as($1, $$INSERT INTO guarded.docs (id, body) VALUES (2, 'a TEXT that all have')$$);
EXECUTE insert_as('regress_writer');
EXECUTE insert_as(:'USER');
-- The owner is exempt unless row-level security is forced.
EXECUTE insert_as('regress_owner');
ALTER TABLE guarded.docs FORCE ROW LEVEL SECURITY;
EXECUTE insert_as('regress_owner');
-- A mark would name the hidden row, too.
SELECT simhash_guard('guarded.docs', 'mark', mark_column => 'same_as');
EXECUTE insert_as('regress_writer');
SELECT id, same_as FROM guarded.docs WHERE id = 2;
-- When a partition is written to directly, the policies of the searched table decide.
CREATE TABLE guarded.parted (id integer PRIMARY KEY, f bigint, reader name DEFAULT current_user) PARTITION BY LIST (id);
CREATE TABLE guarded.parted_1 PARTITION OF guarded.parted FOR VALUES IN (1);
CREATE TABLE guarded.parted_2 PARTITION OF guarded.parted FOR VALUES IN (2);
SELECT simhash_attach('guarded.parted', 'f'), simhash_guard('guarded.parted', source => 'f');
INSERT INTO guarded.parted VALUES (1, 0);
ALTER TABLE guarded.parted ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON guarded.parted USING (reader = current_user);
GRANT SELECT, INSERT ON guarded.parted, guarded.parted_2 TO regress_writer;
SELECT errors_as('regress_writer', 'INSERT INTO guarded.parted VALUES (2, 1)',
    'INSERT INTO guarded.parted_2 VALUES (2, 1)');
-- The row is named to users who may select it from its partition or from an ancestor of that.
ALTER TABLE guarded.parted DISABLE ROW LEVEL SECURITY;
REVOKE SELECT ON guarded.parted FROM regress_writer;
SELECT errors_as('regress_writer', 'INSERT INTO guarded.parted_2 VALUES (2, 1)');
GRANT SELECT (f, id) ON guarded.parted_1 TO regress_writer;
SELECT errors_as('regress_writer', 'INSERT INTO guarded.parted_2 VALUES (2, 1)');
REVOKE SELECT (f, id) ON guarded.parted_1 FROM regress_writer; GRANT SELECT (f, id) ON guarded.parted TO regress_writer;
SELECT errors_as('regress_writer', 'INSERT INTO guarded.parted_2 VALUES (2, 1)');
