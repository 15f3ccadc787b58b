-- The criterion {"weights": "table"}: what a tenth of a table's texts have weighs less where texts are compared.
-- A line of the writer, and a company's disclaimer.
CREATE FUNCTION mail(line text) RETURNS text LANGUAGE sql AS $$
    SELECT line || '
This message and any files sent with it are confidential and meant only for the person to whom they are addressed. If
you have received it in error, please tell the sender at once and delete every copy from your system. Opinions in this
message are those of its author and need not be those of the company. Although we check for viruses before sending, the
recipient should check again: Northern Harbour Logistics accepts no liability for damage caused by what was transmitted. Registered office at Harbour Street 12, Rotterdam; directors are
listed on our website, where you will also find how we treat personal data, whom to write with complaints or questions,
which terms apply when goods are stored, carried or insured through us, and how soon claims must be made in writing.'
$$;
CREATE FUNCTION line(n integer) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(substr(md5(n || ' ' || word), 1, 6), ' ') FROM generate_series(1, 6) AS word
$$;
CREATE TABLE mails (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text);
SELECT simhash_attach('mails', 'body');
INSERT INTO mails (body) SELECT mail(line(n)) FROM generate_series(1, 30) AS n;
INSERT INTO mails (body) SELECT string_agg(line(n * 100 + part), ' ') FROM generate_series(1, 20) AS n, generate_series(1, 9) AS part
GROUP BY n;
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

-- With the weights of the table, all are stored, and a true copy is not.
SELECT simhash_guard('mails', 'skip', criterion => '{"weights": "table"}');
INSERT INTO mails (body) SELECT body FROM new ORDER BY id RETURNING left(body, 20);
-- The guard keeps weights of words that many rows have, and of no others.
SELECT count(*) BETWEEN 80 AND 130 AS some, bool_and(weight::numeric < 1) AS light,
    bool_or(word = 'confidential') AS common, bool_or(word IN ('crane', substr(md5('1 1'), 1, 6))) AS rare
FROM simhash_guards(), jsonb_each(criterion -> 'weights') AS weights (word, weight) WHERE target = 'mails'::regclass;
-- Made again, it is the same guard while the texts are the same; otherwise, the weights are learnt anew.
SELECT simhash_guard('mails', 'skip', criterion => '{"weights": "table"}');
INSERT INTO mails (body) SELECT 'Weekly tomato report: ' || line(n) FROM generate_series(1000, 1100) AS n;
SELECT simhash_guard('mails', 'skip', criterion => '{"weights": "table"}');
SELECT criterion -> 'weights' -> 'tomato' AS tomato FROM simhash_guards() WHERE target = 'mails'::regclass;

-- Preview, clusters and duplicates.
SELECT sum(rows) FILTER (WHERE duplicate) > 20 AS many FROM simhash_preview('mails');
SELECT coalesce(sum(rows) FILTER (WHERE duplicate), 0) AS none FROM simhash_preview('mails', '{"weights": "table"}');
SELECT criterion, count(*) - count(DISTINCT cluster) AS clustered, count(duplicate) AS duplicates
FROM (VALUES (jsonb '{}'), ('{"weights": "table"}')) AS c (criterion), LATERAL (
    SELECT simhash_cluster(id, body, criterion) OVER w AS cluster, simhash_duplicate_of(id, body, criterion) OVER w AS duplicate
    FROM (SELECT -id, body FROM new UNION ALL SELECT id, body FROM mails) AS texts (id, body) WINDOW w AS (ORDER BY id)) AS found
GROUP BY criterion ORDER BY criterion;

-- A table without texts has no weights; partitions have those of the whole table.
CREATE TABLE empty (LIKE mails INCLUDING ALL);
SELECT simhash_guard('empty', 'skip', criterion => '{"weights": "table"}');
CREATE TABLE parts (id integer PRIMARY KEY, body text) PARTITION BY RANGE (id);
CREATE TABLE part1 PARTITION OF parts FOR VALUES FROM (0) TO (20);
CREATE TABLE part2 PARTITION OF parts FOR VALUES FROM (20) TO (90);
INSERT INTO parts SELECT n, mail(line(n)) FROM generate_series(1, 30) AS n;
SELECT simhash_attach('parts', 'body');
SELECT simhash_guard('parts', 'reject', criterion => '{"weights": "table"}');
INSERT INTO parts SELECT 30 + id, body FROM new WHERE id < 5;
INSERT INTO parts SELECT 30 + id, body FROM new WHERE id = 5;
SELECT target, criterion -> 'weights' -> 'confidential' AS weight FROM simhash_guards()
WHERE target IN ('empty'::regclass, 'parts'::regclass) ORDER BY 1;

-- Where there is no table, or no text.
SELECT errors($$SELECT simhash_near('a'::text, 'a', '{"weights": "table"}')$$, $$SELECT simhash('a', '{"weights": "table"}')$$,
    $$SELECT simhash_guard('mails', criterion => '{"resemblance": null, "weights": "table"}')$$,
    $$CREATE TRIGGER by_hand BEFORE INSERT ON empty FOR EACH ROW
        EXECUTE FUNCTION simhash_dedup('skip', '{"weights": "table"}', 'simhash'); INSERT INTO empty (body) VALUES ('a')$$,
    $$SELECT simhash_guard('mails', criterion => '{"weights": "tables"}')$$);
