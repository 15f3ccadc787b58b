-- Guards of tables with indexes alone. Each query without another remark must be true.

CREATE FUNCTION text_of(n integer, last text DEFAULT 'end') RETURNS text LANGUAGE sql IMMUTABLE RETURN (
    SELECT string_agg(left(md5(n || ' ' || w), 6), ' ' ORDER BY w) || ' ' || last FROM generate_series(1, 60) AS w);
CREATE TABLE docs (id integer PRIMARY KEY, tenant integer, body text, title text);
INSERT INTO docs SELECT n, n % 2, text_of(n) FROM generate_series(1, 500) AS n;

SELECT errors($$SELECT simhash_guard('docs')$$);
SELECT simhash_attach('docs', 'body', columns => false);
SET client_min_messages = notice;
SELECT simhash_guard('docs');
SELECT simhash_guard('docs');
SET client_min_messages = warning;
SELECT errors($$INSERT INTO docs VALUES (1001, 1, text_of(7, 'other'))$$,
    $$UPDATE docs SET body = text_of(8, 'x') WHERE id = 7$$);
UPDATE docs SET body = text_of(7, 'other') WHERE id = 7;
INSERT INTO docs VALUES (1003, 1, NULL), (1004, 1, NULL);
UPDATE docs SET title = 'a title';
INSERT INTO docs VALUES (7, 1, text_of(7)) ON CONFLICT (id) DO UPDATE SET title = 'again';
SELECT title = 'again' FROM docs WHERE id = 7;
SELECT errors($$INSERT INTO docs VALUES (1005, 1, text_of(1005)), (1006, 1, text_of(1005, 'twice'))$$);

-- Preview and layouts compute the fingerprint of each sampled row.
INSERT INTO docs SELECT 2000 + n, 1, text_of(2000 + n) FROM generate_series(1, 10) AS n;
ALTER TABLE docs DISABLE TRIGGER zzz_simhash_guard;
INSERT INTO docs SELECT 3000 + n, 1, text_of(2000 + n, 'copied') FROM generate_series(1, 10) AS n;
ALTER TABLE docs ENABLE TRIGGER zzz_simhash_guard;
SELECT sum(rows) FILTER (WHERE duplicate) = 10, sum(rows) = (SELECT count(*) FROM docs WHERE body IS NOT NULL)
FROM simhash_preview('docs');

-- A role that reads the key and not the text does not learn the distance.
GRANT INSERT, SELECT (id) ON docs TO regress_writer;
SELECT errors_as('regress_writer', $$INSERT INTO docs VALUES (1001, 1, text_of(8, 'other'))$$);

-- Within a scope, with the action mark.
SELECT simhash_unguard('docs');
SELECT simhash_attach('docs', 'body', scope => '{tenant}', columns => false, prefix => 'scoped');
ALTER TABLE docs ADD duplicate_of integer;
SELECT simhash_guard('docs', 'mark', scope => '{tenant}', mark_column => 'duplicate_of');
INSERT INTO docs VALUES (4001, 0, text_of(11, 'marked')), (4002, 1, text_of(11, 'marked')) RETURNING id, duplicate_of;
SELECT simhash_unguard('docs');
SELECT simhash_guard('docs', criterion => '{"max_distance": 3, "resemblance": null}');
SELECT errors($$INSERT INTO docs VALUES (1001, 1, text_of(12))$$);
SELECT simhash_unguard('docs');

-- Several fingerprints: one is to be named. One that a column has too is that column.
SELECT simhash_attach('docs', 'title', columns => false, prefix => 'title');
SELECT errors($$SELECT simhash_guard('docs')$$, $$SELECT * FROM simhash_preview('docs')$$,
    $$SELECT * FROM simhash_layouts('docs')$$);
SELECT simhash_guard('docs', fingerprint => 'body');
SELECT errors($$INSERT INTO docs VALUES (1001, 1, text_of(13))$$,
    $$SELECT simhash_guard('docs', fingerprint => 'title')$$);
SELECT simhash_unguard('docs');
SELECT simhash_attach('docs', 'title', '{"ngram": 2}', columns => false, prefix => 'pairs');
SELECT errors($$SELECT simhash_guard('docs', fingerprint => 'title')$$,
    $$SELECT simhash_guard('docs', fingerprint => 'tenant')$$);
SELECT simhash_attach('docs', 'body', prefix => 'fp'), simhash_guard('docs', fingerprint => 'body');
SELECT errors($$INSERT INTO docs VALUES (1001, 1, text_of(13))$$);
SELECT simhash_unguard('docs');

-- Bit strings and digits have no column of their own, and partitions are searched by one guard.
CREATE TABLE prints (id integer, bits bit(64), digits text) PARTITION BY HASH (id);
CREATE TABLE prints_0 PARTITION OF prints FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE prints_1 PARTITION OF prints FOR VALUES WITH (MODULUS 2, REMAINDER 1);
SELECT simhash_attach('prints', 'bits'), simhash_guard('prints', 'skip');
INSERT INTO prints SELECT n, 5::bigint::bit(64) FROM generate_series(1, 10) AS n;
SELECT count(*) = 1 FROM prints;
SELECT simhash_unguard('prints'), simhash_detach('prints'), simhash_attach('prints', 'digits', '{"source": "hex"}');
SELECT simhash_guard('prints', 'skip', fingerprint => 'digits');
INSERT INTO prints SELECT n, NULL, 'ff00ff00ff00ff0' || n FROM generate_series(0, 9) AS n;
SELECT count(*) < 5 FROM prints WHERE digits <> '';

-- Indexes that do not hold the fingerprint do not serve.
CREATE TABLE plain (id integer, body text);
SELECT format('CREATE INDEX ON plain (simhash_block(simhash(body), %s))', block) FROM generate_series(0, 3) AS block \gexec
SELECT errors($$SELECT simhash_guard('plain')$$);
