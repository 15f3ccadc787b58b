-- Inserts a near-duplicate of a stored document under each action of a guard.
\pset footer off
SET client_min_messages = warning;

-- The longest document with one more word. A guard checks only new rows, so the table may contain near-duplicates.
CREATE TEMP TABLE edited AS
SELECT path || ' (edited)' AS path, body || ' Edited.' AS body FROM docs ORDER BY length(body) DESC, id LIMIT 1;

\set ECHO queries
ALTER TABLE docs ADD duplicate_of bigint;
SELECT simhash_guard('docs', 'mark', mark_column => 'duplicate_of') \g /dev/null
INSERT INTO docs (path, body) SELECT path, body FROM edited;
SELECT id, path, duplicate_of FROM docs WHERE path IN (SELECT path FROM edited);
DELETE FROM docs WHERE path IN (SELECT path FROM edited);

SELECT simhash_guard('docs', 'skip') \g /dev/null
INSERT INTO docs (path, body) SELECT path, body FROM edited;
SELECT count(*) AS stored FROM docs WHERE path IN (SELECT path FROM edited);

SELECT simhash_guard('docs', 'reject') \g /dev/null
\set ON_ERROR_STOP off
INSERT INTO docs (path, body) SELECT path, body FROM edited;
\set ON_ERROR_STOP on
