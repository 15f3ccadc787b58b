-- simhash_guard guards texts by the indexes on their bands, and fingerprints by the indexes on their blocks.

CREATE FUNCTION text_of(n integer, last text DEFAULT 'end') RETURNS text LANGUAGE sql IMMUTABLE RETURN (
    SELECT string_agg(left(md5(n || ' ' || w), 6), ' ' ORDER BY w) || ' ' || last FROM generate_series(1, 60) AS w);
CREATE TABLE docs (id integer PRIMARY KEY, tenant integer, title text, body text, code varchar(200),
    full_text text GENERATED ALWAYS AS (title || ' ' || body) STORED);

-- Without an index, the hint names the first text. If one source is indexed, it need not be named.
SELECT errors($$SELECT simhash_guard('docs')$$, $$SELECT simhash_guard('docs', source => 'body')$$,
    $$SELECT simhash_guard('docs', source => 'lower(body)', criterion => '{"resemblance": 0.7}')$$,
    $$SELECT simhash_guard('docs', source => 'tenant')$$, $$SELECT * FROM simhash_preview('docs')$$);
SELECT simhash_index('docs', 'body'), simhash_guard('docs'), definition('docs');
-- The name of a column or an expression, however it is written.
SET client_min_messages = notice;
SELECT simhash_guard('docs', source => 'body');
SELECT simhash_guard('docs', source => ' ( docs.body ) ');
SET client_min_messages = warning;
SELECT errors($$SELECT simhash_guard('docs', source => 'lower(body)')$$,
    $$SELECT simhash_guard('docs', source => 'nobody')$$,
    $$SELECT simhash_guard('docs', source => 'body) OR (true')$$,
    $$SELECT simhash_guard('docs', source => '(SELECT ''a'')')$$,
    $$SELECT simhash_guard('docs', source => 'docs::text')$$,
    $$SELECT simhash_guard('docs', source => 'tableoid::text')$$,
    $$SELECT simhash_guard('docs', source => 'count(*)')$$);

-- If several are indexed, the user must name one.
SELECT simhash_index('docs', 'code'), simhash_index('docs', 'full_text'),
    simhash_index('docs', '(lower(title) || coalesce(body, ''''))');
SELECT errors($$SELECT simhash_guard('docs', source => '')$$, $$SELECT * FROM simhash_preview('docs')$$);
SELECT simhash_unguard('docs');
-- The hint quotes names.
CREATE TABLE "Quo""ted" (id integer, "bo dy" text);
SELECT errors($$SELECT simhash_guard('"Quo""ted"')$$);
-- A varchar is compared as a text, whatever its length.
SELECT simhash_guard('docs', source => 'code'), definition('docs');
INSERT INTO docs (id, code) VALUES (1, 'one two three');
SELECT errors($$INSERT INTO docs (id, code) VALUES (2, 'One, two, three!')$$);
SELECT simhash_unguard('docs');
-- An expression is guarded, however it is written.
SELECT simhash_guard('docs', source => 'lower(title)||coalesce(body,'''')'), definition('docs');
INSERT INTO docs (id, title, body) VALUES (3, 'Three ', text_of(3)), (4, 'Four', NULL), (5, NULL, text_of(3)),
    (6, NULL, NULL);
SELECT errors($$INSERT INTO docs (id, title, body) VALUES (7, 'THREE ', text_of(3))$$,
    $$UPDATE docs SET title = 'Three ', body = text_of(3) WHERE id = 4$$,
    $$INSERT INTO docs (id, title) VALUES (7, 'four')$$);
UPDATE docs SET code = 'of no consequence', title = 'three ' WHERE id = 3;
SELECT simhash_unguard('docs');
-- A generated column, which PostgreSQL computes after the trigger: a source that is its expression means the column.
SELECT simhash_guard('docs', source => '(title || '' '' || body)'), definition('docs');
SELECT errors($$INSERT INTO docs (id, title, body) VALUES (7, 'Three ', text_of(3))$$,
    $$UPDATE docs SET title = 'three', body = text_of(3, 'other') WHERE id = 4$$);
UPDATE docs SET title = 'THREE', body = text_of(3, 'ends') WHERE id = 3;
SELECT simhash_unguard('docs');

-- The options are those of the indexes; others that make the same bands may be given.
CREATE TABLE letters (id integer PRIMARY KEY, body text);
SELECT simhash_index('letters', 'body', '{"ngram": 2, "case_fold": false}', bands => 5);
SELECT errors($$SELECT simhash_guard('letters')$$,
    $$SELECT simhash_guard('letters', criterion => '{"bands": 4, "ngram": 3}')$$,
    $$SELECT simhash_guard('letters', criterion => '{"bands": 4, "weights": "table"}')$$,
    $$SELECT simhash_guard('letters', criterion => '{"bands": 4, "weights": {"a": 0.5}}')$$,
    $$SELECT simhash_guard('letters', criterion => '{"max_distance": 3}')$$);
SELECT simhash_guard('letters', criterion => '{"bands": 4, "same": ["numbers"], "ngram": 2.0}'), definition('letters');
INSERT INTO letters VALUES (1, 'dear sir or madam 1'), (2, 'Dear Sir or Madam 1'), (3, 'dear sir or madam 2');
SELECT errors($$INSERT INTO letters VALUES (4, 'dear sir, or madam 1')$$);
-- Indexes with several options: those of the criterion count.
SELECT simhash_index('letters', 'body', '{"tokens": "chars"}');
SELECT errors($$SELECT simhash_guard('letters', criterion => '{}')$$);
SELECT simhash_guard('letters', criterion => '{"tokens": "chars"}'), definition('letters');

-- Indexes within a scope that the guard lacks.
CREATE TABLE scoped (id integer PRIMARY KEY, "Tenant" text, lang text, body text);
SELECT simhash_index('scoped', 'body', scope => '{Tenant,lang}');
SELECT errors($$SELECT simhash_guard('scoped')$$, $$SELECT simhash_guard('scoped', scope => '{lang}')$$);
SELECT simhash_guard('scoped', scope => '{"Tenant",lang}'), definition('scoped');

-- A guard needs the first bands, and more of them for a smaller resemblance.
CREATE TABLE banded (id integer PRIMARY KEY, tenant integer, body text);
SELECT simhash_index('banded', 'body', bands => 12);
SELECT simhash_guard('banded', criterion => '{"resemblance": 0.7}'), definition('banded');
INSERT INTO banded VALUES (1, 1, 'one two three four five six seven eight nine ten');
-- The rows have 15 of 21 and of 23 words and pairs in common.
SELECT errors($$INSERT INTO banded VALUES (2, 1, 'one two three four five six seven eight nil')$$,
    $$INSERT INTO banded VALUES (2, 1, 'one two three four five six seven eight nil none')$$);
SELECT errors($$SELECT simhash_guard('banded', criterion => '{"resemblance": 0.6}')$$,
    $$SELECT simhash_guard('banded', criterion => '{"resemblance": 0.5}')$$,
    $$SELECT simhash_guard('banded', criterion => '{"bands": 13}')$$);
SELECT simhash_guard('banded', criterion => '{"resemblance": 0.5, "bands": 12}'), definition('banded');
SELECT simhash_guard('banded', criterion => '{}');
-- A band that is missing, or has no valid, whole index: every INSERT and UPDATE fails; a DELETE does not.
DROP INDEX banded_simhash_band3_idx;
SELECT errors('INSERT INTO banded VALUES (2, 1, ''another text'')', 'INSERT INTO banded VALUES (2, 1, NULL)',
    'UPDATE banded SET body = NULL', 'UPDATE banded SET tenant = 2', 'DELETE FROM banded WHERE id = 2',
    $$SELECT simhash_guard('banded', 'skip')$$);
CREATE INDEX partial ON banded (simhash_band(body, 3), simhash_size(body), simhash(body)) WHERE id > 0;
CREATE INDEX sizeless ON banded (simhash_band(body, 3));
CREATE INDEX other_options ON banded (simhash_band(body, 3, '{"ngram": 2}'), simhash_size(body, '{"ngram": 2}'),
    simhash(body, '{"ngram": 2}'));
CREATE INDEX of_tenant ON banded (tenant, simhash_band(body, 3), simhash_size(body), simhash(body));
CREATE INDEX hashed ON banded USING hash (simhash_band(body, 3));
CREATE INDEX invalid ON banded (simhash_band(body, 3), simhash_size(body), simhash(body));
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'invalid'::regclass;
SELECT errors('INSERT INTO banded VALUES (2, 1, ''another text'')');
CREATE INDEX whole ON banded (simhash_band(body, 3, '{}') DESC, simhash_size(body, '{"case_fold": true}'),
    simhash(body, '{"case_fold": true}'), id);
INSERT INTO banded VALUES (2, 1, 'another text');
SELECT errors('INSERT INTO banded VALUES (3, 1, ''Another text'')');

-- Indexes that begin with columns of the guard's scope serve it, those with other columns do not.
CREATE TABLE tenants (id integer PRIMARY KEY, tenant integer, lang text, body text);
SELECT simhash_index('tenants', 'body', scope => '{tenant}');
SELECT errors($$SELECT simhash_guard('tenants')$$, $$SELECT simhash_guard('tenants', scope => '{lang}')$$);
SELECT simhash_guard('tenants', 'skip', scope => '{lang,tenant}');
INSERT INTO tenants VALUES (1, 1, 'en', 'a text'), (2, 1, 'de', 'a text'), (3, 2, 'en', 'a text'),
    (4, 1, 'en', 'A text'), (5, NULL, 'en', 'a text'), (6, NULL, 'en', 'A text') RETURNING id;

-- Columns of fingerprints, bit strings and digits. For one that is made from a text, a guard compares the text, unless
-- the criterion is for fingerprints.
CREATE TABLE prints (id integer PRIMARY KEY, print bigint, bits bit(64), digits text, words text[], vector tsvector,
    body text);
SELECT simhash_attach('prints', 'print', prefix => 'print'), simhash_attach('prints', 'bits', prefix => 'bits'),
    simhash_attach('prints', 'digits', '{"source": "hex"}', prefix => 'digits'),
    simhash_attach('prints', 'words', prefix => 'words_'),
    simhash_attach('prints', 'vector', prefix => 'vector_'), simhash_attach('prints', 'body');
SELECT errors($$SELECT simhash_guard('prints')$$,
    $$SELECT simhash_guard('prints', criterion => '{"resemblance": null}')$$,
    $$SELECT simhash_guard('prints', source => 'simhash')$$, $$SELECT simhash_guard('prints', source => 'body')$$,
    $$SELECT simhash_guard('prints', source => 'print', criterion => '{"resemblance": 0.84}')$$,
    $$SELECT simhash_guard('prints', source => 'print', criterion => '{"bands": 6}')$$,
    $$SELECT simhash_guard('prints', source => 'words_', criterion => '{"resemblance": null, "ngram": 2}')$$,
    $$SELECT simhash_guard('prints', source => 'simhash', criterion => '{"resemblance": null, "max_distance": 24}')$$);
CREATE TABLE both_ways (id integer PRIMARY KEY, body text);
SELECT simhash_index('both_ways', 'body'), simhash_attach('both_ways', 'body');
SELECT errors($$SELECT simhash_guard('both_ways', source => 'simhash')$$);
SELECT source, simhash_guard('prints', source => source), definition('prints'), simhash_unguard('prints')
FROM unnest('{print,bits,digits,words,words_,vector}'::text[]) AS source;
SELECT source, simhash_guard('prints', 'skip', '{"resemblance": null, "max_distance": 5}', source => source),
    definition('prints'), simhash_unguard('prints') FROM unnest('{simhash,body}'::text[]) AS source;
SELECT simhash_guard('prints', 'skip', source => 'digits');
INSERT INTO prints (id, digits) VALUES (1, 'ff00ff00ff00ff00'), (2, 'ff00ff00ff00ff01'), (3, 'ff00ff00ff00ffff'),
    (4, 'no digits'), (5, NULL) RETURNING id;
DROP INDEX prints_digits_block2_idx, prints_digits_block0_idx, prints_digits_block1_idx, prints_digits_block3_idx;
SELECT errors($$INSERT INTO prints (id, digits) VALUES (6, NULL)$$);
