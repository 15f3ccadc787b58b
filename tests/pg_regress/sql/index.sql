-- simhash_index: a btree on each band of a text. (Where indexes are built concurrently: index_commands.)
SET client_min_messages = notice;

CREATE TABLE docs (id integer PRIMARY KEY, tenant integer, lang text COLLATE "C", title text, body text);
INSERT INTO docs SELECT n, n % 5, 'en', 'title ' || n, md5(n::text) || ' ' || md5((-n)::text)
FROM generate_series(1, 1000) AS n;
INSERT INTO docs VALUES (1001, 1, 'en', NULL, NULL), (1002, 1, 'en', '', '...');
SELECT simhash_index('docs', 'body');
SELECT described('docs');
-- An index has the band, the size and the fingerprint of each row, and the planner knows how rare they are.
SELECT count(*) AS rows, count(DISTINCT simhash_band(body, 5)) AS bands,
    count(*) FILTER (WHERE simhash_size(body) = 3) AS sizes FROM docs;
SELECT tablename, attname, round(null_frac * 1002) AS nulls, n_distinct FROM pg_stats
WHERE tablename LIKE 'docs_simhash%' ORDER BY tablename, attname LIMIT 2;
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE simhash_band(body, 5) = 42 AND simhash_size(body) BETWEEN 3 AND 4;

-- Called again, it adds only what is missing. Names do not matter.
SELECT simhash_index('docs', 'body');
DROP INDEX docs_simhash_band2_idx; ALTER INDEX docs_simhash_band3_idx RENAME TO a_name;
SELECT simhash_index('docs', 'body', '{"tokens": "words", "case_fold": true}');
SELECT simhash_index('docs', 'body', bands => 8);
SELECT simhash_index('docs', 'body', bands => 4);
-- Other options and scopes are other indexes.
SELECT simhash_index('docs', 'body', '{"tokens": "chars"}', 2);
SELECT simhash_index('docs', 'body', '{"case_fold": true, "tokens": "chars"}', 2);
SELECT simhash_index('docs', 'body', '{"same": ["numbers"]}', 2);
SELECT simhash_index('docs', 'body', bands => 1, scope => '{tenant,lang}');
SELECT simhash_index('docs', 'body', bands => 1, scope => '{tenant,lang}');
SET client_min_messages = warning;
SELECT simhash_index('docs', 'body', '{"markup": "html"}', 64, '{lang}');
SET client_min_messages = notice;
SELECT indexdef FROM pg_indexes WHERE tablename = 'docs' AND indexdef ~ 'tenant|chars|band63' ORDER BY indexname;

-- Indexes that do not serve do not count: a part of the rows, without the size or the fingerprint, or of another text;
-- with another collation or access method. One with more keys serves, and so does one that is unique.
CREATE TABLE others (id integer, lang text, title text, body text);
CREATE INDEX others_part ON others (simhash_band(body, 0), simhash_size(body), simhash(body)) WHERE id > 0;
CREATE INDEX others_band ON others (simhash_band(body, 0));
CREATE INDEX others_size ON others (simhash_band(body, 0), simhash_size(title), simhash(body));
CREATE INDEX others_fingerprint ON others (simhash_band(body, 0), simhash_size(body), simhash(title));
CREATE INDEX others_two_keys ON others (simhash_band(body, 0), simhash_size(body));
CREATE INDEX others_options ON others (simhash_band(body, 0, '{"ngram": 2}'), simhash_size(body), simhash(body));
CREATE INDEX others_order ON others (simhash_size(body), simhash_band(body, 0));
CREATE INDEX others_collation ON others (lang COLLATE "POSIX", simhash_band(body, 0), simhash_size(body), simhash(body));
CREATE INDEX others_class ON others (lang text_pattern_ops, simhash_band(body, 0), simhash_size(body), simhash(body));
CREATE INDEX others_gist ON others USING hash (simhash_band(body, 0));
SELECT simhash_index('others', 'body', bands => 1), simhash_index('others', 'body', bands => 1, scope => '{lang}');
CREATE UNIQUE INDEX others_unique ON others (simhash_band(title, band => 0, options => '{}') DESC, simhash_size(title),
    simhash(title), id) INCLUDE (body);
SELECT simhash_index('others', 'title', bands => 1);

-- Sources of all types that become texts, and expressions. Queries write them in the same way.
CREATE DOMAIN short_text AS varchar(20);
CREATE TABLE types (id integer, v varchar(20), c char(10), n name, d short_text, "Quoted ""name" text, document jsonb,
    number bigint, bits bit(64), features text[], vector tsvector, "body || v" text,
    made text GENERATED ALWAYS AS (upper(v)) STORED);
INSERT INTO types (id, v, c, n, d, document) VALUES (1, 'a text', 'a text', 'text', 'a text', '{"text": "a text"}');
SET client_min_messages = warning;
SELECT count(simhash_index('types', source, bands => 1)) FROM unnest(ARRAY['v', 'c', 'n', 'd', 'Quoted "name', 'made',
    'body || v', 'document ->> ''text''', 'coalesce(v, '''') || '' '' || coalesce(c, '''')', 'types.v || number',
    'regexp_replace(v, ''\s+'', '' '') -- all spaces', 'CASE WHEN number > 0 THEN left(v, 3)::varchar(2) ELSE n END',
    'v COLLATE "C"', '''a '' || ''b '' || v', 'lower("Quoted ""name")', 'u&"Quoted \0022name"']) AS source;
SELECT indexdef FROM pg_indexes WHERE tablename = 'types' ORDER BY indexname COLLATE "C";
SET client_min_messages = notice;
SELECT simhash_index('types', '''a '' || ''b '' || v -- twice', '{"weights": {"a": 0.5}}', 1, '{id,number}');
SELECT simhash_index('types', 'V', bands => 1);

-- Names in an expression are looked up in the user's search path, and its code runs as the owner of the table.
CREATE SCHEMA tools;
GRANT USAGE ON SCHEMA tools TO regress_owner;
CREATE FUNCTION tools.report_run(value text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS
    $$ BEGIN RAISE NOTICE '% of % with %', value, current_user, current_setting('search_path'); RETURN value; END $$;
CREATE TABLE owned (body text);
INSERT INTO owned VALUES ('a text');
ALTER TABLE owned OWNER TO regress_owner;
GRANT USAGE, CREATE ON SCHEMA public TO regress_owner; SET search_path = tools, public;
SELECT simhash_index('owned', 'report_run(body)', bands => 1);
RESET search_path;
SELECT pg_get_indexdef('owned_simhash_band0_idx'::regclass);
SELECT simhash_index('owned', 'tools.report_run(body)', bands => 1);

-- Arguments that simhash_index refuses.
SET client_min_messages = warning;
SELECT errors($$SELECT simhash_index(NULL, 'body')$$, $$SELECT simhash_index('docs', NULL)$$,
    $$SELECT simhash_index('docs', 'body', bands => NULL)$$, $$SELECT simhash_index('docs', 'body', scope => NULL)$$,
    $$SELECT simhash_index('docs', 'body', bands => 0)$$, $$SELECT simhash_index('docs', 'body', bands => 65)$$,
    $$SELECT simhash_index('docs', 'body', '{"ngrams": 2}')$$,
    $$SELECT simhash_index('docs', 'body', '{"source": "hex"}')$$,
    $$SELECT simhash_index('docs', 'body', scope => '{nothing}')$$,
    $$SELECT simhash_index('docs', 'body', scope => '{body}')$$,
    $$SELECT simhash_index('types', 'v', scope => '{document,document}')$$,
    $$SELECT simhash_index('no_such_table', 'body')$$, $$SELECT simhash_index(1::regclass, 'body')$$);
-- Sources that are not texts, or cannot be indexed.
SELECT errors(VARIADIC array_agg(format('SELECT simhash_index(''types'', %L)', source)))
FROM unnest(ARRAY['number', 'bits', 'features', 'vector', 'document', 'number + 1', 'v = n', '(v, n)', 'NULL::json',
    'types', 'types::text', 'ctid::text',
    'concat_ws('' '', v, n)', 'now()::text', 'random()::text', 'to_char(number, ''9'')']) AS source;
SELECT fields($$SELECT simhash_index('docs', 'boddy')$$,
    $$SELECT simhash_index('docs', 'others.body')$$, $$SELECT simhash_index('docs', '(SELECT body)')$$,
    $$SELECT simhash_index('docs', 'EXISTS (SELECT FROM docs)::text')$$, $$SELECT simhash_index('docs', 'max(body)')$$,
    $$SELECT simhash_index('docs', 'max(body) OVER ()')$$,
    $$SELECT simhash_index('docs', 'string_to_table(body, '' '')')$$,
    $$SELECT simhash_index('docs', '$1')$$);
-- A source is one expression, whatever is in it.
SELECT errors(VARIADIC array_agg(format('SELECT simhash_index(''docs'', %L)', source)))
FROM unnest(ARRAY['', ' ', '*', 'body, title', 'body), (title', 'body) FROM docs WHERE (true',
    'body) UNION SELECT (''''', 'body); DROP TABLE docs; SELECT (''''',
    'body) AS a, (title', 'body /*', 'body)) --', 'body)) USING hash (id) --', 'body; SELECT 1', ''' || body',
    'body)::text, (id', '"', '$$', 'body ORDER BY 1', 'body DESC']) AS source;
SELECT count(*) AS rows FROM docs;
-- PostgreSQL prints the type of a list of varchar differently: the query would not match the index.
SELECT errors($$SELECT simhash_index('types', 'CASE WHEN v IN (''a'', ''b'') THEN v END')$$,
    $$SELECT simhash_index('docs', repeat(' ', 65537))$$);
SELECT simhash_index('types', 'CASE WHEN v::text IN (''a'', ''b'') THEN v END', bands => 1);

-- Relations of other kinds and of other owners, and a read-only transaction.
CREATE VIEW a_view AS TABLE docs;
CREATE SEQUENCE a_sequence;
CREATE FOREIGN DATA WRAPPER nowhere;
CREATE SERVER nowhere FOREIGN DATA WRAPPER nowhere;
CREATE FOREIGN TABLE a_foreign_table (body text) SERVER nowhere;
SELECT errors(VARIADIC array_agg(format('SELECT simhash_index(%L, ''body'')', relation)))
FROM unnest('{a_view,a_sequence,a_foreign_table,docs_pkey,pg_class}'::regclass[]) AS relation;
GRANT ALL ON docs TO regress_other;
SELECT errors_as('regress_other', $$SELECT simhash_index('docs', 'title')$$, $$SELECT simhash_index('owned', 'body')$$);
GRANT regress_owner TO regress_other;
SELECT errors_as('regress_other', $$SELECT simhash_index('owned', 'body', bands => 1)$$);
REVOKE regress_owner FROM regress_other;
BEGIN READ ONLY;
SELECT simhash_index('docs', 'title');
ROLLBACK;
-- While indexes are built, the table can be read.
BEGIN;
SELECT simhash_index('docs', 'title', bands => 1);
SELECT DISTINCT mode FROM pg_locks WHERE relation = 'docs'::regclass ORDER BY mode;
-- Conditions may be as deep as on other tables.
DO $$ BEGIN
    EXECUTE format('SELECT FROM docs WHERE length(title)%s < 0', repeat(' + 1', 3000));
END $$;
