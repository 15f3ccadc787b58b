-- The criterion {"weights": "table"}: what a tenth of a table's texts have weighs less where texts are compared.
CREATE FUNCTION line(n integer, words integer DEFAULT 6) RETURNS text LANGUAGE sql
    RETURN (SELECT string_agg(substr(md5(n || ' ' || word), 1, 6), ' ' ORDER BY word)
        FROM generate_series(1, words) AS word);
-- A line of the writer, and a company's disclaimer.
CREATE FUNCTION mail(line text) RETURNS text LANGUAGE sql RETURN line || ' ' || line(0, 100);
CREATE TABLE mails (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text);
SELECT simhash_index('mails', 'body');
INSERT INTO mails (body) SELECT mail(line(n)) FROM generate_series(1, 30) AS n;
INSERT INTO mails (body) SELECT line(n, 54) FROM generate_series(101, 120) AS n;
ANALYZE mails;

-- By default, one of four one-line mails is stored. A guard of such a table says so when it is made.
CREATE TABLE new (id integer PRIMARY KEY, body text);
INSERT INTO new VALUES
    (1, mail('The crane on quay four is working again')), (2, mail('Can you send me last week''s manifest?')),
    (3, mail('Lunch at noon with the people from Gdansk')), (4, mail('Pilot boards one hour later than planned')),
    (5, upper(mail('The crane on quay four is working again!')));
SET client_min_messages = notice;
CREATE TABLE strict (LIKE mails INCLUDING ALL);
SELECT simhash_guard('strict', 'skip');
INSERT INTO strict (body) SELECT body FROM new WHERE id < 5;
SELECT count(*) AS stored FROM strict;
SELECT simhash_guard('mails', 'skip');
SELECT resemblance >= .84 AS near, duplicate, rows FROM simhash_preview('mails') WHERE duplicate;

-- A guard compares texts with the weights of their bands: with weights that are learnt before, all are stored, and a
-- true copy is not.
SELECT errors($$SELECT simhash_guard('mails', 'skip', criterion => '{"weights": "table"}')$$,
    $$SELECT simhash_preview('mails', '{"weights": "table"}')$$);
SELECT simhash_unguard('mails');
DROP INDEX mails_simhash_band0_idx, mails_simhash_band1_idx, mails_simhash_band2_idx,
    mails_simhash_band3_idx, mails_simhash_band4_idx, mails_simhash_band5_idx;
CREATE FUNCTION weights() RETURNS jsonb LANGUAGE sql AS
    $$ SELECT jsonb_build_object('weights', simhash_weights(body, '{}')) FROM mails $$;
SELECT simhash_index('mails', 'body', weights());
SELECT simhash_guard('mails', 'skip');
INSERT INTO mails (body) SELECT body FROM new ORDER BY id RETURNING left(body, 20);
SELECT count(*) BETWEEN 80 AND 500 AS some, bool_and(weight::numeric < 1) AS light,
    bool_or(word = substr(md5('0 1'), 1, 6)) AS common, bool_or(word = 'crane') AS rare
FROM simhash_guards(), jsonb_each(criterion -> 'weights') AS weights (word, weight) WHERE target = 'mails'::regclass;
SELECT coalesce(sum(rows) FILTER (WHERE duplicate), 0) AS none FROM simhash_preview('mails');

-- Clusters and duplicates learn them themselves.
SELECT criterion, count(*) - count(DISTINCT cluster) AS clustered, count(duplicate) AS duplicates
FROM (VALUES (jsonb '{}'), ('{"weights": "table"}')) AS c (criterion), LATERAL (
    SELECT simhash_cluster(id, body, criterion) OVER w AS cluster,
        simhash_duplicate_of(id, body, criterion) OVER w AS duplicate
    FROM (SELECT -id, body FROM new UNION ALL SELECT id, body FROM mails) AS texts (id, body) WINDOW w AS (ORDER BY id))
        AS found
GROUP BY criterion ORDER BY criterion;

-- Where there is no table, or no text.
SELECT errors($$SELECT simhash_near('a'::text, 'a', '{"weights": "table"}')$$,
    $$SELECT simhash('a', '{"weights": "table"}')$$,
    $$SELECT simhash_guard('mails', criterion => '{"resemblance": null, "weights": "table"}')$$,
    $$CREATE TRIGGER by_hand BEFORE INSERT ON new FOR EACH ROW
        EXECUTE FUNCTION simhash_dedup('skip', '{"weights": "table"}', 'body'); INSERT INTO new VALUES (6, 'a')$$,
    $$SELECT simhash_guard('mails', criterion => '{"weights": "tables"}')$$);
