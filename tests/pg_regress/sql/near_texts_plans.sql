-- How conditions on near texts are planned: as a scan of the indexes on bands of one of the texts, if these are all
-- that the criterion compares; otherwise as a filter.
CREATE TABLE docs (id integer PRIMARY KEY, tenant integer, body text, title varchar(400),
    both_parts text GENERATED ALWAYS AS (title || ' ' || body) STORED);
INSERT INTO docs (id, tenant, body, title)
SELECT n, n % 4, string_agg(CASE WHEN word = n % 40 THEN 'edit' || n ELSE substr(md5(n / 8 || ' ' || word), 1, 6) END,
    ' ' ORDER BY word), 'title ' || n FROM generate_series(1, 1000) AS n, generate_series(1, 40) AS word GROUP BY n;
INSERT INTO docs VALUES (0, 0, '...'), (-1, 0, NULL), (-2, NULL, 'some text');
SELECT body FROM docs WHERE id = 800 \gset
SELECT simhash_index('docs', 'body');

EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE simhash_near(body, 'some text');
SELECT (plan_lines('SELECT id FROM docs WHERE simhash_near(body, ''some text'')', '', 'COSTS OFF, FORMAT JSON')::jsonb
    -> 0 -> 'Plan') - 'Disabled' AS plan;
-- A row is fetched once, though it has several of the bands.
SELECT run_lines(format('SELECT id FROM docs WHERE simhash_near(body, %L)', :'body'), 'Removed|Bands|Index|Heap');
SELECT array_agg(id ORDER BY id) FROM docs WHERE simhash_near(body, :'body');
-- Fewer bands than are indexed. Near texts differ in two words: the two bands have also rows that are refuted.
SELECT run_lines(format('SELECT id FROM docs WHERE simhash_near(body, %L, ''{"bands": 2, "resemblance": 0.97}'')',
    :'body'), 'Removed|Bands|Index|Heap');
-- Nothing is near NULL, or a text without a word.
SELECT run_lines('SELECT id FROM docs WHERE simhash_near(body, (SELECT body FROM docs WHERE id = ' || id || '))',
    'Index D|Index E|Heap') FROM generate_series(-1, 0) AS id;

-- The rows are those of a sequential scan, wherever the condition stands: no query is printed. (More are in
-- tests/load/queries.)
SELECT query FROM unnest(ARRAY[
    format('SELECT id FROM docs WHERE simhash_near(%L, body)', :'body'),
    'SELECT id FROM docs a
        WHERE id < 100 AND NOT EXISTS (SELECT FROM docs b WHERE simhash_near(a.body, b.body) AND a.id > b.id)',
    'SELECT id FROM docs WHERE simhash_near(body, (SELECT body FROM docs WHERE id = 42))']) AS query
WHERE (is_searched(query) AND same_rows(query)) IS NOT TRUE;
SELECT is_searched(format('DELETE FROM docs WHERE simhash_near(body, %L)', :'body')) AS deleted,
    is_searched(format('UPDATE docs SET tenant = 0 WHERE simhash_near(body, %L)', :'body')) AS updated,
    is_searched(format('SELECT id FROM docs WHERE simhash_near(body, %L) FOR UPDATE', :'body')) AS locked,
    is_searched(format('SELECT id FROM docs WHERE NOT simhash_near(body, %L)', :'body')) AS negated,
    is_searched('SELECT id FROM docs WHERE simhash_near(body, body)') AS with_itself,
    is_searched('SELECT id FROM docs WHERE simhash_near(body, title)') AS with_another_column,
    is_searched('SELECT id FROM docs WHERE simhash_near(body, random()::text)') AS volatile;

-- The first search marks rows that are dead to all in each of the indexes.
BEGIN; INSERT INTO docs (id, body) SELECT n, 'a text that is not there any more' FROM generate_series(3001, 3100) AS n;
ROLLBACK;
SELECT run_lines('SELECT id FROM docs WHERE simhash_near(body, ''a text that is not there any more'')', 'Index E|Heap')
FROM generate_series(1, 2);

-- A generic plan. A criterion that is not known when the query is planned is a filter.
SET plan_cache_mode = force_generic_plan;
PREPARE copies(text) AS SELECT count(*) FROM docs WHERE simhash_near(body, $1);
EXPLAIN (COSTS OFF) EXECUTE copies('some text');
EXECUTE copies(:'body'); EXECUTE copies('');
PREPARE by_criterion(jsonb) AS SELECT count(*) FROM docs WHERE simhash_near(body, 'some text', $1);
SELECT is_searched($$EXECUTE by_criterion('{}')$$);
EXECUTE by_criterion('{}');
RESET plan_cache_mode; DEALLOCATE ALL;

-- Other options, or too few bands: a warning, once for a query. What its hint says is served.
SELECT count(*) FROM docs WHERE simhash_near(body, 'some text', '{"ngram": 2}');
SELECT count(*) FROM docs AS a JOIN docs AS b USING (id)
WHERE simhash_near(a.body, 'some text', '{"resemblance": 0.7}') AND simhash_near(b.body, 'some text', '{"bands": 12}');
SELECT is_searched($$SELECT FROM docs WHERE simhash_near(body, 'some text', '{"resemblance": 0.7, "bands": 6}')$$);
SELECT simhash_index('docs', 'body', bands => 3, options => '{"ngram": 2, "case_fold": true}');
SELECT is_searched($$SELECT FROM docs WHERE simhash_near(body, 'some text', '{"ngram": 2, "bands": 2}')$$);
DROP INDEX docs_simhash_band1_idx1; SELECT count(*) FROM docs WHERE simhash_near(body, 'some text', '{"ngram": 2}');
DROP INDEX docs_simhash_band0_idx1; SELECT count(*) FROM docs WHERE simhash_near(body, 'some text', '{"ngram": 2}');
-- No warning: another text, or a scope without a value.
SELECT count(*) FROM docs WHERE simhash_near(lower(body), 'some text');
SELECT simhash_index('docs', 'title', scope => '{tenant}');
SELECT is_searched($$SELECT id FROM docs WHERE simhash_near(title, 'title 7')$$);

-- Within a scope; a column of another type.
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE tenant = 3 AND simhash_near(title, 'title 7');
SELECT is_searched(query), same_rows(query) FROM unnest('{
    "SELECT id FROM docs WHERE tenant = 3 AND simhash_near(title, ''Title 7'')",
    "SELECT id FROM docs WHERE tenant = 2 AND simhash_near(title, ''title 7'')",
    "SELECT a.id, b.id FROM docs a JOIN docs b ON a.tenant = b.tenant AND simhash_near(b.title, a.title)
        WHERE a.id < 50",
    "SELECT id FROM docs a WHERE id < 99 AND NOT EXISTS (SELECT FROM docs b WHERE b.tenant = a.tenant AND b.id < a.id
        AND simhash_near(a.title, b.title))",
    "SELECT id FROM docs WHERE tenant IS NULL AND simhash_near(title, ''title 7'')"}'::text[]) AS query;
-- No scan if the bands are of several scopes.
SELECT indexrelid::regclass AS band_5 FROM pg_index WHERE indrelid = 'docs'::regclass
    AND pg_get_indexdef(indexrelid) ~ 'tenant, simhash_band.*title.*, 5' \gset
DROP INDEX :band_5;
CREATE INDEX ON docs (simhash_band(title, 5), simhash_size(title), simhash(title));
SELECT is_searched($$SELECT id FROM docs WHERE tenant = 3 AND simhash_near(title, 'title 7')$$);
SELECT is_searched($$SELECT id FROM docs WHERE tenant = 3 AND simhash_near(title, 'title 7', '{"bands": 5}')$$);

-- A generated column and its expression are the same text, in a query and in an index.
CREATE TABLE parts_of (id integer, title text, body text, whole text GENERATED ALWAYS AS (title || ' ' || body) STORED);
INSERT INTO parts_of SELECT n, 'title ' || n, 'a body of ' || n / 2 FROM generate_series(1, 1000) AS n;
CREATE FUNCTION searched_both_ways() RETURNS TABLE (by_name boolean, by_expression boolean) LANGUAGE sql AS $$
    SELECT is_searched($q$SELECT id FROM parts_of WHERE simhash_near(whole, 'title 7 a body of 3')$q$),
        is_searched($q$SELECT id FROM parts_of WHERE simhash_near(title || ' ' || body, 'title 7 a body of 3')$q$)
$$;
SELECT simhash_index('parts_of', 'whole');
SELECT * FROM searched_both_ways();
SELECT run(format('DROP INDEX %s', indexrelid::regclass)) FROM pg_index WHERE indrelid = 'parts_of'::regclass;
SELECT simhash_index('parts_of', 'title || '' '' || body');
SELECT * FROM searched_both_ways();
SELECT id FROM parts_of WHERE simhash_near(whole, 'title 7 a body of 3');

-- A partial index serves queries that imply its predicate. (Other indexes that do not serve: index.)
CREATE TABLE alike (id integer, body text);
INSERT INTO alike SELECT id, body FROM docs;
SELECT simhash_index('alike', 'body', bands => 5);
CREATE INDEX fifth ON alike (simhash_band(body, 5), simhash_size(body), simhash(body)) WHERE id > 100;
SET client_min_messages = error;
SELECT is_searched($$SELECT id FROM alike WHERE simhash_near(body, 'some text')$$) AS whole,
    is_searched($$SELECT id FROM alike WHERE simhash_near(body, 'some text') AND id > 200$$) AS of_its_predicate;
RESET client_min_messages; DROP INDEX fifth;
-- The keys of an index may be generated columns.
ALTER TABLE alike ADD band integer GENERATED ALWAYS AS (simhash_band(body, 0)) STORED;
DROP INDEX alike_simhash_band0_idx;
CREATE INDEX ON alike (band, simhash_size(body), simhash(body));
SELECT simhash_index('alike', 'body');
SELECT simhash_index_commands('alike', 'body');
SELECT same_rows($$SELECT id FROM alike WHERE simhash_near(body, 'some text')$$) AS same,
    is_searched($$SELECT id FROM alike WHERE simhash_near(body, 'some text')$$);

-- Partitions, with columns in another order; each is planned by its own indexes. Inheritors, and a materialized view.
CREATE TABLE parts (id integer, body text) PARTITION BY RANGE (id);
CREATE TABLE part_1 PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (500);
CREATE TABLE part_2 (gone text, body text, id integer);
ALTER TABLE part_2 DROP COLUMN gone;
ALTER TABLE parts ATTACH PARTITION part_2 FOR VALUES FROM (500) TO (MAXVALUE);
SELECT simhash_index('parts', 'body');
INSERT INTO parts SELECT id, body FROM docs;
ANALYZE parts;
EXPLAIN (COSTS OFF) SELECT id FROM parts WHERE simhash_near(body, 'some text');
SELECT same_rows(format('SELECT id FROM parts WHERE simhash_near(body, %L)', :'body')) AS constant,
    same_rows('SELECT a.id, b.id FROM parts a JOIN parts b ON simhash_near(a.body, b.body)
        WHERE a.id BETWEEN 490 AND 510') AS joined;
CREATE TABLE part_3 (body text, id integer);
ALTER TABLE parts DETACH PARTITION part_1;
ALTER TABLE part_3 INHERIT part_1;
INSERT INTO part_3 VALUES (:'body', 1);
EXPLAIN (COSTS OFF) SELECT id FROM part_1 WHERE simhash_near(body, 'some text');
CREATE MATERIALIZED VIEW selected AS SELECT id, body FROM docs;
SELECT simhash_index('selected', 'body');
SELECT is_searched($$SELECT id FROM selected WHERE simhash_near(body, 'some text')$$);

-- Estimated rows: by the statistics on the bands; without them, one.
CREATE TABLE copies AS SELECT n AS id, CASE WHEN n % 2 = 0 THEN 'a text that very many of them have in common'
    ELSE md5(n::text) || ' ' || md5('a' || n) || ' ' || md5('b' || n) END AS body FROM generate_series(1, 20000) AS n;
SELECT estimate($$SELECT FROM copies WHERE simhash_near(body, 'a text that very many of them have in common')$$)
    AS without;
SELECT simhash_index('copies', 'body');
SELECT estimate($$SELECT FROM copies WHERE simhash_near(body, 'a text that very many of them have in common')$$)
    AS common,
    estimate('SELECT FROM copies WHERE simhash_near(body, (SELECT body FROM copies WHERE id = 7))') AS of_a_parameter,
    estimate($$SELECT FROM copies WHERE simhash_near('words that are in none of these texts', body)$$) AS of_none,
    estimate('SELECT FROM copies a JOIN copies b ON simhash_near(a.body, b.body) WHERE a.id <= 100') AS of_a_join;
-- A text of more than a megabyte is not read for its plan: each partition would read it.
SELECT estimate(query), is_searched(query), same_rows(query) FROM (VALUES ($$SELECT id FROM copies
    WHERE simhash_near(body, rpad('a text that very many of them have in common', 2000000)) AND id < 100$$)) AS q (query);

-- Parallel workers run the scan.
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
ALTER TABLE docs SET (parallel_workers = 2);
EXPLAIN (COSTS OFF) SELECT count(*) FROM docs a JOIN alike b ON simhash_near(a.body, b.body);
SELECT count(*) FROM docs a JOIN alike b ON simhash_near(a.body, b.body);
