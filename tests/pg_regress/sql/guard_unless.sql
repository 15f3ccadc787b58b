-- Guards that store some rows unchecked, by a condition on the new row.
CREATE TABLE docs (id integer PRIMARY KEY, f bigint, confirmed boolean, near integer, shadow boolean,
    twice integer GENERATED ALWAYS AS (id * 2) STORED);
SELECT simhash_attach('docs', 'f');
SELECT simhash_guard('docs', source => 'f', unless => 'confirmed'), definition('docs');
SELECT unless, among FROM simhash_guards() WHERE target = 'docs'::regclass;
-- A row that is not confirmed is checked, NULL and false alike. A confirmed row counts for later rows.
INSERT INTO docs VALUES (1, 0, NULL), (2, -1, false);
INSERT INTO docs VALUES (3, 1);
INSERT INTO docs VALUES (3, 1, true), (4, x'ffff'::bigint, true);
INSERT INTO docs VALUES (5, x'fffe'::bigint);
SELECT id, confirmed FROM docs ORDER BY id;
-- An UPDATE is checked unless the new row is confirmed: also one that only takes the confirmation away.
UPDATE docs SET f = 3 WHERE id = 4;
UPDATE docs SET f = 3, confirmed = false WHERE id = 4;
UPDATE docs SET id = 6 WHERE id = 4;
UPDATE docs SET confirmed = NULL WHERE id = 3;
-- Two rows of one statement, and a row with the same key.
INSERT INTO docs VALUES (7, x'ff00'::bigint, true), (8, x'ff01'::bigint, true);
INSERT INTO docs VALUES (9, x'ff00ff'::bigint, true), (10, x'ff00fe'::bigint, false);
INSERT INTO docs VALUES (1, -1, true) ON CONFLICT (id) DO NOTHING;
SELECT count(*) FROM docs;

-- With an action that marks, and with among.
SELECT simhash_guard('docs', 'mark', mark_column => 'near', source => 'f', among => 'NOT shadow',
    unless => 'confirmed OR id < 0');
SELECT definition('docs');
SELECT unless, among FROM simhash_guards() WHERE target = 'docs'::regclass;
TRUNCATE docs;
INSERT INTO docs (id, f, confirmed, shadow)
VALUES (1, 0, NULL, true), (2, 0, true, false), (3, 1, true, false), (4, 1, false, false);
SELECT id, near FROM docs ORDER BY id;
-- A preview leaves out what is confirmed.
SELECT distance, duplicate, rows FROM simhash_preview('docs', source => 'f');
SELECT distance, duplicate, rows FROM simhash_preview('docs', source => 'f', unless => 'confirmed');

-- Conditions that are refused, as for among.
SELECT errors(
    $$SELECT simhash_guard('docs', source => 'f', unless => 'id')$$,
    $$SELECT simhash_preview('docs', source => 'f', unless => ')')$$);
-- The writer gets the error that the condition raises.
SELECT simhash_guard('docs', 'reject', among => '', unless => '1 / id > 0');
INSERT INTO docs VALUES (0, 77);
-- The condition may use a generated column, and ask who writes, since it is about the new row alone.
SELECT simhash_guard('docs', unless => 'twice > 100 AND current_setting(''is_superuser'') = ''on''');
INSERT INTO docs VALUES (50, 0);
INSERT INTO docs VALUES (51, 0);
-- It is evaluated with the settings of the writer, as PostgreSQL computes generated columns, except that times are in
-- UTC.
CREATE FUNCTION is_old(integer) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT $1 > 100';
CREATE FUNCTION is_old_too(integer) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT is_old($1)';
ALTER TABLE docs ADD old boolean GENERATED ALWAYS AS (is_old_too(id)) STORED;
SELECT simhash_guard('docs', unless => 'old AND current_setting(''DateStyle'') = ''German, DMY''
    AND current_setting(''TimeZone'') = ''UTC''');
SET DateStyle = German;
INSERT INTO docs VALUES (101, 0);
RESET DateStyle;
-- A trigger that is created by hand may have a condition, too.
SELECT simhash_unguard('docs');
CREATE TRIGGER by_hand BEFORE INSERT ON docs FOR EACH ROW
    EXECUTE FUNCTION simhash_dedup('reject', '{"resemblance": null}', 'f', '', '', '', 'confirmed');
INSERT INTO docs VALUES (11, 2, true);
INSERT INTO docs VALUES (12, 2);
