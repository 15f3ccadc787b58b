-- simhash(text): the default fingerprint. The numbers come from simhash/tests/golden/reference.py.
SELECT simhash('hello'), simhash('HELLO, World!') AS hello_world, simhash('Größe ﬁn Straße') AS folded,
    simhash('全文を検索する。') AS japanese, simhash('การค้นหา text 検索') AS mixed;

-- A text without features has no fingerprint: NULL, never 0.
SELECT simhash(content) IS NULL AS none
FROM (VALUES (NULL), (''), (' '), (E'\t\r\n'), ('?!'), ('...---...'), (U&'\0301'), ('—「」')) AS texts (content);

-- Every type with an implicit cast to text, and a literal.
SELECT simhash('Hello world'::text) = simhash('Hello world') AS text,
    simhash('Hello world'::varchar) = simhash('Hello world') AS "varchar",
    simhash('Hello world'::char(20)) = simhash('Hello world') AS "char",
    simhash('Hello world'::name) = simhash('Hello world') AS name,
    simhash(content => 'Hello world') = simhash('Hello world') AS named;

-- Case, Unicode form, order, repetition and separators of words do not matter.
SELECT a, b, simhash(a) = simhash(b) AS same
FROM (VALUES
    ('The quick fox', 'the QUICK fox'),
    ('the quick fox', 'fox, the quick'),
    ('the quick fox', 'the the quick, quick fox'),
    ('the quick fox', E'the\n\nquick\u2014fox.'),
    (U&'caf\00e9', U&'cafe\0301'),
    (U&'\ff28ello', 'hello'),
    (U&'\fb01ne', 'fine'),
    ('Straße', 'STRASSE'),
    ('the quick fox', 'the quick fix')) AS pairs (a, b);

-- A parallel scan computes the same as a serial one.
CREATE TABLE texts AS SELECT n, 'document ' || md5(n::text) || ' of ' || n % 10 AS body FROM generate_series(1, 2000) n;
CREATE TEMP TABLE serial AS SELECT n, simhash(body) FROM texts;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SET parallel_leader_participation = off;
EXPLAIN (COSTS OFF, VERBOSE) SELECT n, simhash(body) FROM texts;
CREATE TEMP TABLE parallel AS SELECT n, simhash(body) FROM texts;
SELECT count(*), bool_and(serial.simhash = parallel.simhash) AS same FROM serial JOIN parallel USING (n);
DROP TABLE texts;
