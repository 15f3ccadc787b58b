-- Triggers that look like a guard: only a trigger that does what a guard does counts as a guard.
CREATE TABLE docs (id integer PRIMARY KEY, f bigint);
SELECT simhash_attach('docs', 'f', blocks => 8);
INSERT INTO docs VALUES (1, 0);

-- A trigger with the guard's name, which is neither replaced nor dropped.
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TRIGGER zzz_simhash_guard BEFORE INSERT OR UPDATE ON docs FOR EACH ROW
    EXECUTE FUNCTION nothing('reject', '3', 'f');
SELECT errors($$SELECT simhash_guard('docs', source => 'f')$$, $$SELECT simhash_unguard('docs')$$);
DROP TRIGGER zzz_simhash_guard ON docs;
-- Triggers that call simhash_dedup, and fire less often than a guard: simhash_guard replaces them.
CREATE TRIGGER zzz_simhash_guard BEFORE INSERT OR UPDATE ON docs FOR EACH ROW WHEN (false)
    EXECUTE FUNCTION simhash_dedup('reject', '{"resemblance": null}', 'f');
INSERT INTO docs VALUES (2, 1) RETURNING id;
DELETE FROM docs WHERE id = 2;
SELECT simhash_guard('docs', source => 'f');
INSERT INTO docs VALUES (2, 1);
CREATE OR REPLACE TRIGGER zzz_simhash_guard BEFORE INSERT OR UPDATE OF id ON docs FOR EACH ROW
    EXECUTE FUNCTION simhash_dedup('reject', '{"resemblance": null}', 'f');
INSERT INTO docs VALUES (2, 65535);
UPDATE docs SET f = 1 WHERE id = 2;
SELECT simhash_guard('docs', source => 'f');
UPDATE docs SET f = 2 WHERE id = 2;
CREATE OR REPLACE TRIGGER zzz_simhash_guard BEFORE INSERT ON docs FOR EACH ROW
    EXECUTE FUNCTION simhash_dedup('reject', '{"resemblance": null}', 'f');
SELECT simhash_guard('docs', source => 'f');
SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'docs'::regclass;
