-- A table with a generated fingerprint and four generated blocks, and a btree on each block.
CREATE TABLE docs (
    id integer PRIMARY KEY,
    body text,
    simhash bigint GENERATED ALWAYS AS (simhash(body)) STORED,
    simhash_block0 integer GENERATED ALWAYS AS (simhash_block(simhash(body), 0)) STORED,
    simhash_block1 integer GENERATED ALWAYS AS (simhash_block(simhash(body), 1)) STORED,
    simhash_block2 integer GENERATED ALWAYS AS (simhash_block(simhash(body), 2)) STORED,
    simhash_block3 integer GENERATED ALWAYS AS (simhash_block(simhash(body), 3)) STORED
);
CREATE INDEX ON docs (simhash_block0);
CREATE INDEX ON docs (simhash_block1);
CREATE INDEX ON docs (simhash_block2);
CREATE INDEX ON docs (simhash_block3);

-- 500 documents of 200 words, each in four versions that differ in one word or none; then some without a fingerprint.
INSERT INTO docs (id, body)
SELECT document * 10 + version,
    string_agg(CASE WHEN n = version * 50 THEN 'changed' || version ELSE 'w' || left(md5(document || ' ' || n), 6) END,
        ' ' ORDER BY n)
FROM generate_series(1, 500) document, generate_series(0, 3) version, generate_series(1, 200) n
GROUP BY document, version;
INSERT INTO docs (id, body) VALUES (1, ''), (2, NULL), (3, '---');
ANALYZE docs;
CREATE TEMP VIEW wrong AS
SELECT id FROM docs
WHERE simhash IS DISTINCT FROM (SELECT simhash(array_agg(feature)) FROM simhash_features(body))
    OR (simhash_block0, simhash_block1, simhash_block2, simhash_block3) IS DISTINCT FROM
       (simhash_block(simhash, 0), simhash_block(simhash, 1), simhash_block(simhash, 2), simhash_block(simhash, 3));
SELECT count(*), count(simhash), (SELECT count(*) FROM wrong) AS wrong FROM docs;

-- A search by hand: btree equality on the blocks, then the distance.
SET enable_seqscan = off;
SELECT simhash AS q FROM docs WHERE id = 2500 \gset
EXPLAIN (COSTS OFF)
SELECT id FROM docs
WHERE (simhash_block0 = simhash_block(:q, 0) OR simhash_block1 = simhash_block(:q, 1)
    OR simhash_block2 = simhash_block(:q, 2) OR simhash_block3 = simhash_block(:q, 3))
  AND simhash <~> :q <= 3;
-- It finds what a sequential scan finds, for every document, and more than the document itself.
CREATE TEMP TABLE found AS
SELECT a.id AS a, b.id AS b
FROM docs a JOIN docs b ON (b.simhash_block0 = a.simhash_block0 OR b.simhash_block1 = a.simhash_block1
                         OR b.simhash_block2 = a.simhash_block2 OR b.simhash_block3 = a.simhash_block3)
  AND a.simhash <~> b.simhash <= 3
WHERE a.id % 100 < 10;
RESET enable_seqscan;
SET enable_indexscan = off;
SET enable_bitmapscan = off;
CREATE TEMP TABLE scanned AS
SELECT a.id AS a, b.id AS b FROM docs a JOIN docs b ON a.simhash <~> b.simhash <= 3 WHERE a.id % 100 < 10;
RESET enable_indexscan;
RESET enable_bitmapscan;
SELECT count(*) > (SELECT count(*) FROM docs WHERE id % 100 < 10 AND simhash IS NOT NULL) AS near_duplicates,
    count(*) FILTER (WHERE a / 10 <> b / 10) AS of_other_documents
FROM scanned;
SELECT (SELECT count(*) FROM (TABLE found EXCEPT TABLE scanned) AS x) AS too_many,
    (SELECT count(*) FROM (TABLE scanned EXCEPT TABLE found) AS x) AS missed;

-- The columns follow the text: changed, set to NULL and back, copied, upserted, changed by a BEFORE trigger.
UPDATE docs SET body = body || ' and more' WHERE id % 10 = 1;
UPDATE docs SET body = NULL WHERE id BETWEEN 100 AND 109;
UPDATE docs SET body = 'back again' WHERE id = 100;
UPDATE docs SET body = other.body FROM docs other WHERE docs.id = 200 AND other.id = 210;
UPDATE docs SET id = -id WHERE id = 300;
INSERT INTO docs (id, body) SELECT id, 'upserted ' || id FROM docs WHERE id BETWEEN 400 AND 499
    ON CONFLICT (id) DO UPDATE SET body = excluded.body;
SELECT count(*), count(simhash), (SELECT count(*) FROM wrong) AS wrong FROM docs;
SELECT a.simhash = b.simhash AS copied FROM docs a, docs b WHERE a.id = 200 AND b.id = 210;
CREATE FUNCTION put_fingerprint_first() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.body := simhash(NEW.body) || ' ' || NEW.body;
    RETURN NEW;
END
$$;
CREATE TRIGGER put_fingerprint_first BEFORE INSERT OR UPDATE ON docs
    FOR EACH ROW EXECUTE FUNCTION put_fingerprint_first();
INSERT INTO docs (id, body) VALUES (4, 'inserted'), (5, 'inserted');
SELECT id, body, simhash = simhash(body) AS same FROM docs WHERE id IN (4, 5);
SELECT count(*) AS wrong FROM wrong;

-- A failing statement changes nothing; different options and source columns in one table.
CREATE TABLE notes (
    id integer PRIMARY KEY,
    title text,
    body text,
    title_simhash bigint GENERATED ALWAYS AS (simhash(title)) STORED,
    body_simhash bigint GENERATED ALWAYS AS (simhash(body)) STORED,
    chars bigint GENERATED ALWAYS AS (simhash(body, '{"tokens": "chars"}')) STORED,
    block integer GENERATED ALWAYS AS (simhash_block(simhash(body, '{"tokens": "chars"}'), 1, 2)) STORED
);
INSERT INTO notes (id, title, body) SELECT n, 'Note ' || n % 3, 'The body of ' || n / 2 FROM generate_series(1, 20) n;
SELECT count(*), count(DISTINCT title_simhash) AS titles, count(DISTINCT body_simhash) AS bodies,
    count(DISTINCT chars) AS chars,
    bool_and(title_simhash = simhash(ARRAY['note', (id % 3)::text])) AS title,
    bool_and(body_simhash = simhash(ARRAY['the', 'body', 'of', (id / 2)::text])) AS body,
    bool_and(block = simhash_block(chars, 1, 2)) AS block
FROM notes;
ALTER TABLE notes ADD third bigint GENERATED ALWAYS AS (simhash_block(simhash(title), 3, 3)) STORED;
ALTER TABLE notes ADD last integer GENERATED ALWAYS AS (simhash_block(simhash(title), 2, 3)) STORED;
SELECT bool_and(last = simhash_block(title_simhash, 2, 3)) AS added FROM notes;
DROP VIEW wrong;
DROP TABLE docs, notes;
DROP FUNCTION put_fingerprint_first;
