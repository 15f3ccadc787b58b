-- A row that an UPDATE moves to another partition is deleted in the one and inserted into the other: it is never lost.

-- Two partitions with columns in another order, one with partitions of its own.
CREATE TABLE docs (id integer, part integer, f bigint, near jsonb, PRIMARY KEY (id, part)) PARTITION BY LIST (part);
CREATE TABLE docs_1 PARTITION OF docs FOR VALUES IN (1);
CREATE TABLE docs_2 (near jsonb, f bigint, part integer NOT NULL, id integer NOT NULL);
ALTER TABLE docs ATTACH PARTITION docs_2 FOR VALUES IN (2);
CREATE TABLE docs_3 PARTITION OF docs FOR VALUES IN (3, 4) PARTITION BY LIST (part);
CREATE TABLE docs_33 PARTITION OF docs_3 FOR VALUES IN (3);
CREATE TABLE docs_34 PARTITION OF docs_3 FOR VALUES IN (4);
SELECT simhash_attach('docs', 'f');

-- Runs a statement that is to change the table: its error, or the number of its rows; and the rows of the table.
CREATE FUNCTION outcome(statement text, target regclass DEFAULT 'docs') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    result text;
    found text;
BEGIN
    BEGIN
        EXECUTE statement;
        GET DIAGNOSTICS result = ROW_COUNT;
    EXCEPTION WHEN OTHERS THEN
        GET STACKED DIAGNOSTICS result = CONSTRAINT_NAME;
        result := concat_ws(' ', SQLSTATE, nullif(result, ''));
    END;
    EXECUTE format('SELECT string_agg(concat_ws('':'', id, part, (to_jsonb(t) -> ''near'' ->> ''id'')), '',''
        ORDER BY id) FROM %s AS t', target) INTO found;
    RETURN concat_ws(' ', result, found);
END
$$;

-- Every pair of partitions and every statement that moves rows. The guard sees the row first in its old partition, in
-- the new one only (its trigger is disabled in the old one, or a later trigger there decides on the partition), or near
-- in the new one only (a trigger there changes it).
CREATE FUNCTION to_part() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN NEW.part := NEW.near; NEW.near := NULL; RETURN NEW; END $$;
CREATE FUNCTION to_zero() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN NEW.f := CASE NEW.id WHEN 2 THEN 1 ELSE NEW.f END; RETURN NEW; END $$;
CREATE FUNCTION move(source integer, target integer, way text, statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    parts CONSTANT regclass[] := '{docs_1,docs_2,docs_33,docs_34}';
    moved text;
BEGIN
    DELETE FROM docs;
    INSERT INTO docs VALUES (1, target, 0);
    EXECUTE format('ALTER TABLE %s DISABLE TRIGGER zzz_simhash_guard', parts[source]);
    INSERT INTO docs VALUES (2, source, CASE way WHEN 'changed' THEN -1 ELSE 1 END);
    IF way <> 'disabled' THEN
        EXECUTE format('ALTER TABLE %s ENABLE TRIGGER zzz_simhash_guard', parts[source]);
    END IF;
    IF way = 'later' THEN
        EXECUTE format('CREATE TRIGGER zzzz BEFORE UPDATE ON %s FOR EACH ROW EXECUTE FUNCTION to_part()',
            parts[source]);
    ELSIF way = 'changed' THEN
        EXECUTE format('CREATE TRIGGER aaa BEFORE INSERT ON %s FOR EACH ROW EXECUTE FUNCTION to_zero()',
            parts[target]);
    END IF;
    moved := outcome(format(statement,
        format(CASE way WHEN 'later' THEN 'near = to_jsonb(%s)' ELSE 'part = %s' END, target)));
    EXECUTE format('ALTER TABLE %s ENABLE TRIGGER zzz_simhash_guard', parts[source]);
    EXECUTE format('DROP TRIGGER IF EXISTS zzzz ON %s', parts[source]);
    EXECUTE format('DROP TRIGGER IF EXISTS aaa ON %s', parts[target]);
    RETURN moved;
END
$$;
-- Outcomes name the target and then the source.
PREPARE moves (text) AS SELECT way, count(*), count(*) FILTER (WHERE move(source, target, way, statement)
    = format($1, target, source)) AS expected
FROM generate_series(1, 4) AS source, generate_series(1, 4) AS target,
    unnest('{guarded,disabled,later,changed}'::text[]) AS way,
    (VALUES ('UPDATE docs SET %s WHERE id = 2'),
        ('MERGE INTO docs USING (VALUES (2)) AS v (key) ON id = key WHEN MATCHED THEN UPDATE SET %s'),
        ('WITH done AS (UPDATE docs SET %s WHERE id = 2 RETURNING 1) SELECT FROM done')) AS statements (statement)
WHERE source <> target GROUP BY way ORDER BY way;
SELECT FROM simhash_guard('docs', 'reject', source => 'f');
EXECUTE moves ('23P01 zzz_simhash_guard 1:%s,2:%s');
SELECT FROM simhash_guard('docs', 'skip', source => 'f');
EXECUTE moves ('23P01 zzz_simhash_guard 1:%s,2:%s');
SELECT FROM simhash_guard('docs', 'mark', source => 'f', mark_column => 'near');
EXECUTE moves ('1 1:%1$s,2:%1$s:1');

-- A MERGE does not skip a row that it moves, or that it inserts after the first move. An INSERT with an UPDATE in WITH,
-- or alone, skips rows as always.
SELECT FROM simhash_guard('docs', 'skip', source => 'f');
TRUNCATE docs;
INSERT INTO docs VALUES (1, 1, 0), (2, 2, 255), (3, 3, -1), (4, 4, 65535);
SELECT outcome('MERGE INTO docs
    USING (VALUES (2, 3, 255), (5, 1, 0), (3, 4, -1), (6, 1, 0), (7, 1, 1), (8, 2, 16777215))
        AS v (key, place, fingerprint) ON id = key
    WHEN MATCHED THEN UPDATE SET part = place WHEN NOT MATCHED THEN INSERT VALUES (key, place, fingerprint)');
SELECT outcome('MERGE INTO docs USING (VALUES (5, 1, 0), (8, 2, 16777215)) AS v (key, place, fingerprint) ON id = key
    WHEN MATCHED THEN UPDATE SET part = place WHEN NOT MATCHED THEN INSERT VALUES (key, place, fingerprint)');
SELECT outcome('WITH moved AS (UPDATE docs SET part = 1 WHERE id = 2 RETURNING 1),
        gone AS (DELETE FROM docs WHERE id = 3)
    INSERT INTO docs SELECT id, 2, f FROM docs, (SELECT count(*) FROM moved) AS first WHERE id IN (1, 4)');
SELECT outcome('INSERT INTO docs SELECT id, 2, f FROM docs WHERE id IN (1, 4)');
-- WITH .. DELETE moves no row, also after rows of another partition were deleted.
BEGIN;
DELETE FROM docs WHERE id = 4;
SELECT outcome('WITH gone AS (DELETE FROM docs WHERE id = 8) INSERT INTO docs VALUES (9, 2, 1)');
ROLLBACK;
-- ON CONFLICT DO UPDATE moves no row.
SELECT outcome('INSERT INTO docs VALUES (1, 1, 0) ON CONFLICT (id, part) DO UPDATE SET part = 2');
-- A foreign key may move a row.
CREATE TABLE parts (part integer PRIMARY KEY); INSERT INTO parts VALUES (1), (2);
TRUNCATE docs; INSERT INTO docs VALUES (1, 1, 0);
ALTER TABLE docs_2 DISABLE TRIGGER zzz_simhash_guard; INSERT INTO docs VALUES (2, 2, 1);
ALTER TABLE docs ADD FOREIGN KEY (part) REFERENCES parts ON UPDATE CASCADE;
SELECT outcome('UPDATE parts SET part = 4 WHERE part = 2');
ALTER TABLE docs DROP CONSTRAINT docs_part_fkey;
-- A row may move from a table that has nothing of pg_simhash, in a session that has not used pg_simhash before.
CREATE TABLE outer_docs (id integer, part integer, f bigint) PARTITION BY LIST (part);
CREATE TABLE plain_docs PARTITION OF outer_docs FOR VALUES IN (1); CREATE TABLE inner_docs (LIKE outer_docs);
SELECT index_by_hand('inner_docs', 'f'); SELECT FROM simhash_guard('inner_docs', 'skip', source => 'f');
ALTER TABLE outer_docs ATTACH PARTITION inner_docs FOR VALUES IN (2);
INSERT INTO outer_docs VALUES (1, 2, 0), (2, 1, 1);
\c -
SELECT outcome('UPDATE outer_docs SET part = 2 WHERE id = 2', 'outer_docs');
\c -
UPDATE outer_docs SET part = 2 WHERE id = 2;
-- An INSERT is skipped there as everywhere, also after a row of another partition was deleted.
\c -
BEGIN; DELETE FROM plain_docs; INSERT INTO outer_docs VALUES (3, 2, 1); ROLLBACK;
\c -
BEGIN; DELETE FROM plain_docs;
DO 'BEGIN INSERT INTO outer_docs VALUES (3, 2, -1); INSERT INTO outer_docs VALUES (4, 2, 1); END'; ROLLBACK;
SELECT outcome('INSERT INTO outer_docs VALUES (3, 2, 1)', 'outer_docs');
SELECT outcome('MERGE INTO outer_docs USING (VALUES (2), (3)) AS v (key) ON id = key
    WHEN MATCHED THEN UPDATE SET part = 2 WHEN NOT MATCHED THEN INSERT VALUES (key, 2, 1)', 'outer_docs');
-- A cursor whose UPDATE moves a row fails. After the rollback, an INSERT is skipped as before.
BEGIN; DECLARE rows CURSOR FOR SELECT id FROM outer_docs WHERE id = 2; FETCH rows;
SAVEPOINT before; UPDATE outer_docs SET part = 2 WHERE CURRENT OF rows;
ROLLBACK TO before; INSERT INTO outer_docs VALUES (3, 2, 1); COMMIT;
SELECT outcome('INSERT INTO outer_docs VALUES (3, 2, 1)', 'outer_docs');
