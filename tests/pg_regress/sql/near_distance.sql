-- Near texts have near fingerprints. The words of a text in all orders make many pairs. With 60 to 120 new words, a text
-- has most of these pairs, but most of its words are new, and its fingerprint differs.
CREATE FUNCTION in_all_orders() RETURNS text IMMUTABLE LANGUAGE sql
BEGIN ATOMIC
    SELECT string_agg(format('w%s w%s', a, b), ' ' ORDER BY a, b)
    FROM generate_series(1, 40) AS a, generate_series(1, 40) AS b;
END;
CREATE TABLE docs AS
SELECT id, in_all_orders() || coalesce(string_agg(format(' new%sx%s', id, new), '' ORDER BY new), '') AS body
FROM generate_series(0, 60) AS id LEFT JOIN generate_series(1, 120) AS new ON id > 0 AND new < 60 + id GROUP BY id;
SELECT body AS base FROM docs WHERE id = 0 \gset
CREATE TABLE distances AS
SELECT id, simhash_resemblance(body, :'base') AS resemblance, simhash(body) <~> simhash(:'base') AS distance FROM docs;
SELECT min(resemblance)::numeric(3, 2), count(*) FILTER (WHERE distance <= 20) AS near,
    count(*) FILTER (WHERE distance > 24) AS not_at_7, count(*) FILTER (WHERE distance > 28) AS not_at_6
FROM distances;
SELECT count(*) AS wrong FROM docs JOIN distances USING (id),
    (VALUES ('{}', 20), ('{"resemblance": 0.8}', 20), ('{"resemblance": 0.7}', 24), ('{"resemblance": 0.6}', 28),
        ('{"resemblance": 0.5, "bands": 64}', 64)) AS criterion (document, most)
WHERE simhash_near(body, :'base', document::jsonb) <> (distance <= most);
SELECT what, required, holds FROM docs, simhash_explain(body, :'base')
WHERE id = (SELECT min(id) FROM distances WHERE distance > 20) AND what IN ('resemblance', 'bands', 'distance', 'near');

-- The indexes and the clusters find the same rows.
SET client_min_messages = warning;
SELECT simhash_index('docs', 'body', bands => 24);
RESET client_min_messages; SET enable_seqscan = off;
SELECT count(*) FILTER (WHERE (distance <= 20) <> (found.id IS NOT NULL)) AS wrong
FROM distances LEFT JOIN (SELECT id FROM docs WHERE simhash_near(body, :'base')) AS found USING (id);
SELECT count(*) FILTER (WHERE (distance <= 28) <> (found.id IS NOT NULL)) AS wrong
FROM distances LEFT JOIN (SELECT id FROM docs WHERE simhash_near(body, :'base', '{"resemblance": 0.6}')) AS found
    USING (id);
CREATE TABLE kept AS
SELECT id, simhash_duplicate_of(id, body) OVER (ORDER BY id) AS duplicate_of FROM docs;
SELECT count(*) FILTER (WHERE distance <= 20 AND duplicate_of IS DISTINCT FROM nullif(0, id)) AS not_of_base,
    count(*) FILTER (WHERE distance > 20 AND duplicate_of = 0) AS wrong, count(*) FILTER (WHERE duplicate_of > 0) AS others
FROM kept JOIN distances USING (id);

-- A guard stores what simhash_duplicate_of keeps.
CREATE TABLE guarded (LIKE docs);
SET client_min_messages = warning;
SELECT simhash_index('guarded', 'body'), simhash_guard('guarded', 'skip');
RESET client_min_messages;
INSERT INTO guarded SELECT id, body FROM docs ORDER BY id;
SELECT count(*) FILTER (WHERE (duplicate_of IS NULL) <> (guarded.id IS NOT NULL)) AS wrong
FROM kept LEFT JOIN guarded USING (id);

-- simhash_preview counts the rows that are near an earlier one: without a primary key, one that is stored before.
SELECT sum(rows) FILTER (WHERE duplicate) AS duplicates,
    (SELECT count(DISTINCT b.id) FROM docs AS a JOIN docs AS b ON a.ctid < b.ctid AND simhash_near(a.body, b.body)) AS near
FROM simhash_preview('docs');
