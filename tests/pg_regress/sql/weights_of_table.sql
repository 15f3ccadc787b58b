-- The criterion {"weights": "table"}: features that a tenth of a table's texts have weigh less in comparisons.
CREATE FUNCTION words_of(n integer, count integer DEFAULT 6) RETURNS text LANGUAGE sql
    RETURN (SELECT string_agg(substr(md5(n || ' ' || word), 1, 6), ' ' ORDER BY word)
        FROM generate_series(1, count) AS word);
-- A mail of one line: most of it is its company's disclaimer.
CREATE FUNCTION mail_of(line text) RETURNS text LANGUAGE sql RETURN line || ' ' || words_of(0, 100);
CREATE TABLE mails (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text);
SELECT simhash_index('mails', 'body');
INSERT INTO mails (body) SELECT mail_of(words_of(n)) FROM generate_series(1, 30) AS n;
INSERT INTO mails (body) SELECT words_of(n, 54) FROM generate_series(101, 120) AS n;
ANALYZE mails;

-- By default, a guard stores one of four such mails. The guard of a table that has many of them warns when it is made.
CREATE TABLE incoming (id integer PRIMARY KEY, body text);
INSERT INTO incoming VALUES
    (1, mail_of('The crane on quay four is working again')), (2, mail_of('Can you send me last week''s manifest?')),
    (3, mail_of('Lunch at noon with the people from Gdansk')), (4, mail_of('Pilot boards one hour later than planned')),
    (5, upper(mail_of('The crane on quay four is working again!')));
SET client_min_messages = notice;
CREATE TABLE by_default (LIKE mails INCLUDING ALL);
SELECT simhash_guard('by_default', 'skip');
INSERT INTO by_default (body) SELECT body FROM incoming WHERE id < 5;
SELECT count(*) AS stored FROM by_default;
SELECT simhash_guard('mails', 'skip');
SELECT resemblance >= .84 AS near, duplicate, rows FROM simhash_preview('mails') WHERE duplicate;

-- A guard compares texts with the weights that its indexes have. If these are learnt before, all four are stored, and
-- a true copy is not.
SELECT errors($$SELECT simhash_guard('mails', 'skip', criterion => '{"weights": "table"}')$$,
    $$SELECT simhash_preview('mails', '{"weights": "table"}')$$);
SELECT simhash_unguard('mails');
DROP INDEX mails_simhash_band0_idx, mails_simhash_band1_idx, mails_simhash_band2_idx,
    mails_simhash_band3_idx, mails_simhash_band4_idx, mails_simhash_band5_idx;
CREATE FUNCTION learnt_options() RETURNS jsonb LANGUAGE sql AS
    $$ SELECT jsonb_build_object('weights', simhash_weights(body, '{}')) FROM mails $$;
SELECT simhash_index('mails', 'body', learnt_options());
SELECT simhash_guard('mails', 'skip');
INSERT INTO mails (body) SELECT body FROM incoming ORDER BY id RETURNING left(body, 20);
SELECT count(*) BETWEEN 80 AND 500, bool_and(weight::numeric < 1) AS are_light,
    bool_or(word = substr(md5('0 1'), 1, 6)) AS has_a_common_word, bool_or(word = 'crane') AS has_a_rare_word
FROM simhash_guards(), jsonb_each(criterion -> 'weights') AS weights (word, weight) WHERE target = 'mails'::regclass;
SELECT coalesce(sum(rows) FILTER (WHERE duplicate), 0) AS duplicates FROM simhash_preview('mails');

-- simhash_cluster and simhash_duplicate_of learn the weights from the rows of their window.
SELECT criterion, count(*) - count(DISTINCT cluster) AS clustered, count(duplicate) AS duplicates
FROM (VALUES (jsonb '{}'), ('{"weights": "table"}')) AS c (criterion), LATERAL (
    SELECT simhash_cluster(id, body, criterion) OVER w AS cluster,
        simhash_duplicate_of(id, body, criterion) OVER w AS duplicate
    FROM (SELECT -id, body FROM incoming UNION ALL SELECT id, body FROM mails) AS texts (id, body)
    WINDOW w AS (ORDER BY id)) AS found GROUP BY criterion ORDER BY criterion;

-- Without a table, or without a text.
SELECT errors($$SELECT simhash_near('a'::text, 'a', '{"weights": "table"}')$$,
    $$SELECT simhash('a', '{"weights": "table"}')$$,
    $$SELECT simhash_guard('mails', criterion => '{"resemblance": null, "weights": "table"}')$$,
    $$CREATE TRIGGER by_hand BEFORE INSERT ON incoming FOR EACH ROW
        EXECUTE FUNCTION simhash_dedup('skip', '{"weights": "table"}', 'body'); INSERT INTO incoming VALUES (6, 'a')$$,
    $$SELECT simhash_guard('mails', criterion => '{"weights": "tables"}')$$);
