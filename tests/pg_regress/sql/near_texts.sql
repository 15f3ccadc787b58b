-- simhash_near of two texts: a criterion says what a near-duplicate is, and the indexes of the text's fingerprints serve.

SELECT simhash_near('one two three', 'One, two: THREE!'), simhash_near('one two three', 'four five six'),
    simhash_near(' ', ' ') AS without_a_word, simhash_near('', NULL) AS of_null;

-- The definition: the fingerprints are near by the distance and the radii, and the texts resemble each other.
CREATE TABLE docs (id integer PRIMARY KEY, tenant integer, body text, title varchar(200));
INSERT INTO docs
SELECT n, n % 5, body, left(body, 80) FROM generate_series(1, 480) AS n, LATERAL (
    SELECT string_agg(CASE WHEN word * 7 % 50 < n % 12 AND word % 3 = n % 3 THEN 'edit' || n
        ELSE substr(md5(n / 6 || ' ' || word), 1, 6) END, ' ' ORDER BY word) AS body
    FROM generate_series(1, 50 - n % 6 * 2) AS word) AS text;
INSERT INTO docs VALUES (0, 0, '...', NULL);
CREATE TABLE criteria (criterion jsonb, options jsonb, distance integer, radii integer[], flips integer[],
    resemblance float8);
INSERT INTO criteria VALUES
    ('{}', '{}', 10, '{1,1,1,1}', '{5,3}', .84),
    ('{"resemblance": 0.5}', '{}', 10, '{1,1,1,1}', '{5,3}', .5),
    ('{"resemblance": 0.5, "flips": []}', '{}', 10, '{1,1,1,1}', NULL, .5),
    ('{"resemblance": 0.2, "max_distance": 24, "radii": [1, 0, -1, 2], "flips": [2, 3, 2]}', '{}', 24, '{1,0,-1,2}',
        '{2,3,2}', .2),
    ('{"resemblance": 0.5, "radii": []}', '{}', 6, '{}', NULL, .5),
    ('{"max_distance": 24, "resemblance": 0.2, "radii": [0, 3, -1]}', '{}', 24, '{0,3,-1}', NULL, .2),
    ('{"radii": [1, 1, 1]}', '{}', 10, '{1,1,1}', '{8,5}', .84),
    ('{"resemblance": null}', '{}', 3, '{}', NULL, 0),
    ('{"resemblance": null, "radii": [0, 0], "max_distance": 12}', '{}', 12, '{0,0}', NULL, 0),
    ('{"tokens": "chars", "resemblance": 0.7}', '{"tokens": "chars"}', 10, '{1,1,1,1}', '{5,3}', .7),
    ('{"tokens": "words", "same": []}', '{}', 10, '{1,1,1,1}', '{5,3}', .84);
CREATE FUNCTION as_defined(a text, b text, criteria) RETURNS boolean LANGUAGE sql AS $$
    SELECT CASE WHEN simhash_near(simhash(a, $3.options), simhash(b, $3.options), $3.distance)
            AND simhash_resemblance(a, b, $3.options) >= $3.resemblance
        THEN CASE WHEN $3.flips IS NULL
            THEN simhash_near(simhash(a, $3.options), simhash(b, $3.options), $3.distance, $3.radii)
            ELSE is_found(simhash(a, $3.options), b, $3.options, $3.distance, $3.radii, $3.flips) END
        ELSE false END
$$;
-- With the texts in either order: a row is searched for, or found.
CREATE FUNCTION found(criterion jsonb, is_searched_for boolean DEFAULT false) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    pairs bigint[];
BEGIN
    EXECUTE format('SELECT array_agg(query.id * 10000::bigint + docs.id ORDER BY query.id, docs.id) FROM docs AS query, docs
        WHERE query.id %% 30 < 3 AND simhash_near(%s, %L)',
        CASE WHEN is_searched_for THEN 'query.body, docs.body' ELSE 'docs.body, query.body' END, criterion) INTO pairs;
    RETURN pairs;
END
$$;
CREATE TABLE expected AS
SELECT criterion, array_agg(query.id * 10000::bigint + docs.id ORDER BY query.id, docs.id)
        FILTER (WHERE as_defined(docs.body, query.body, criteria)) AS pairs,
    array_agg(query.id * 10000::bigint + docs.id ORDER BY query.id, docs.id)
        FILTER (WHERE as_defined(query.body, docs.body, criteria)) AS exchanged
FROM criteria, docs AS query, docs WHERE query.id % 30 < 3 GROUP BY criterion;
SELECT criterion, cardinality(pairs) AS pairs, pairs = found(criterion) AS without_indexes, pairs <> exchanged AS is_one_sided
FROM expected ORDER BY criterion;

-- With indexes: generated columns, and expressions alone. What options decide nothing about fingerprints may differ.
CREATE VIEW searched AS
SELECT criterion, is_searched(format('SELECT FROM docs WHERE simhash_near(body, ''some text'', %L)', criterion)),
    pairs = found(criterion) AS same, exchanged = found(criterion, true) AS same_exchanged
FROM expected ORDER BY criterion;
ANALYZE docs;
SELECT simhash_attach('docs', 'body');
SELECT * FROM searched;
-- The nearest of them in order, and two layouts of which one is flipped.
SELECT count(*) AS queries, bool_and(ids = wanted) AS same
FROM docs AS query, expected, LATERAL (SELECT ARRAY(SELECT id FROM docs WHERE simhash_near(body, query.body)
        ORDER BY simhash <~> query.simhash, id LIMIT 4)) AS nearest (ids),
    LATERAL (SELECT ARRAY(SELECT id FROM unnest(pairs) AS pair JOIN docs ON id = pair % 10000 WHERE pair / 10000 = query.id
        ORDER BY simhash <~> query.simhash, id LIMIT 4)) AS defined (wanted)
WHERE criterion = '{}' AND query.id % 30 < 3;
SELECT format('CREATE INDEX three_%s ON docs (simhash_block(simhash, %1$s, 3), simhash_size) INCLUDE (simhash)', block)
FROM generate_series(0, 2) AS block \gexec
SELECT count(*), bool_and(same AND same_exchanged) AS same FROM searched;
DROP INDEX three_0, three_1, three_2;
-- The least resemblance, and the size of a text of 5 words and 4 pairs; with the option weights, sizes are rounded.
CREATE FUNCTION sizes_of(query text) RETURNS SETOF text LANGUAGE sql AS $$
    -- As PostgreSQL prints it before 17.
    SELECT regexp_replace(line, '\(InitPlan \w+\)\.col1', '$0') FROM plan_lines(query, 'Sizes: ') AS line
$$;
SET enable_seqscan = off;
SELECT criterion, sizes_of(format('SELECT FROM docs WHERE simhash_near(body, ''one two three four five'', %L)', criterion))
FROM criteria;
SELECT simhash_attach('docs', 'body', options => '{"weights": {"one": 0.25}}', prefix => 'weighted');
SELECT sizes_of($$SELECT FROM docs WHERE simhash_near(body, 'one two three four five',
    '{"weights": {"one": 0.25}, "resemblance": 0.9}')$$) AS rounded;
SELECT simhash_detach('docs', 'weighted');
RESET enable_seqscan;
SELECT simhash_detach('docs');
SELECT index_by_hand('docs', 'simhash(body, ''{"tokens": "chars", "seed": 0}'')');
SELECT * FROM searched WHERE is_searched OR NOT same;

-- A column of another type, in either order, in joins and semi-joins, within a scope, and with a generic plan.
SELECT simhash_attach('docs', 'title', prefix => 'of_title');
SELECT simhash_attach('docs', 'of_title', prefix => 'tenants', scope => '{tenant}');
SELECT is_searched($$SELECT FROM docs WHERE simhash_near('some text', title)$$) AS other_order,
    is_searched('SELECT FROM docs a JOIN docs b ON simhash_near(a.title, b.title) AND a.id = 42') AS joined,
    is_searched('SELECT FROM docs a WHERE id < 9 AND EXISTS (SELECT FROM docs b
        WHERE simhash_near(a.title, b.title) AND a.id > b.id)') AS semi_joined,
    is_searched($$DELETE FROM docs WHERE simhash_near(title, (SELECT title FROM docs WHERE id = 1))$$) AS deleted;
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE tenant = 2 AND simhash_near(title, 'some text');
PREPARE copies(text) AS SELECT count(*) FROM docs WHERE simhash_near(title, $1);
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE copies('some text');
-- A criterion that is not known when the query is planned is a filter.
PREPARE by_criterion(jsonb) AS SELECT count(*) FROM docs WHERE simhash_near(title, 'some text', $1);
SELECT is_searched($$EXECUTE by_criterion('{}')$$);
RESET plan_cache_mode;

-- Errors, when the query is planned.
SELECT errors('SELECT FROM docs WHERE simhash_near(title, body, ''{"resemblence": 0.9}'')',
    'SELECT FROM docs WHERE simhash_near(title, body, ''{"resemblance": 2}'')',
    'SELECT FROM docs WHERE simhash_near(title, body, ''{"radii": [1]}'')',
    'SELECT FROM docs WHERE simhash_near(title, body, ''[]'')',
    'SELECT simhash(''text'', ''{"resemblance": 0.9}'')');

-- A stored call may name its arguments, in any order.
CREATE TABLE named (id integer PRIMARY KEY, body text,
    simhash bigint GENERATED ALWAYS AS (simhash(options => '{"ngram": 2}', content => body)) STORED);
INSERT INTO named SELECT id, body FROM docs;
SELECT simhash_attach('named', 'simhash');
SELECT body FROM docs WHERE id = 7 \gset
SELECT count(*) FROM docs WHERE simhash_near(body, :'body', '{"ngram": 2, "resemblance": 0.3}');
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM named WHERE simhash_near(body, 'a b c', '{"ngram": 2}');
SELECT count(*) FROM named WHERE simhash_near(body, :'body', '{"ngram": 2, "resemblance": 0.3}');
