-- A database with a table of each kind that pg_simhash makes or guards: for the tests of what happens to a database as
-- a whole, which is updated, dumped and restored, or replicated. facts.sql reports what is in it, guards.sql tries what
-- it promises.
--
-- To be run by the database's owner, who need not be a superuser; there is another role, reader. The extension is in a
-- schema of its own, which is on nobody's search_path.
\set ON_ERROR_STOP 1
\set QUIET 1
SET client_min_messages = warning;
\o /dev/null

CREATE SCHEMA extensions;
-- Another version than the newest, if one is named: psql -v version=1.0.0
\if :{?version}
CREATE EXTENSION pg_simhash SCHEMA extensions VERSION :'version';
\else
CREATE EXTENSION pg_simhash SCHEMA extensions;
\endif
CREATE SCHEMA app;

SET search_path = app;
\ir ../text_of.sql
RESET search_path;
CREATE TABLE app.texts AS SELECT id, app.text_of(id::integer) AS body FROM generate_series(1, 500::bigint) AS id;

-- Attached ---------------------------------------------------------------------

-- with two layouts, and rows that refer to it
CREATE TABLE app.plain (id bigint PRIMARY KEY, body text NOT NULL);
INSERT INTO app.plain SELECT * FROM app.texts;
SELECT extensions.simhash_attach('app.plain', 'body');
SELECT extensions.simhash_attach('app.plain', 'simhash', blocks => 2, prefix => 'halves');
CREATE TABLE app.referring (plain_id bigint PRIMARY KEY REFERENCES app.plain, note text);
INSERT INTO app.referring SELECT id, 'note' FROM app.texts WHERE id % 50 = 0;

CREATE TABLE app.covering (id bigint PRIMARY KEY, body text COLLATE "C");
INSERT INTO app.covering SELECT * FROM app.texts;
SELECT extensions.simhash_attach('app.covering', 'body', blocks => 3, options => '{"ngram": 2, "weight": "tf"}');

CREATE TABLE app."Words of Texts" ("Id" bigint PRIMARY KEY, "All Words" text[], lexemes tsvector);
INSERT INTO app."Words of Texts" SELECT id, string_to_array(body, ' '), to_tsvector('simple', body) FROM app.texts;
SELECT extensions.simhash_attach('app."Words of Texts"', 'All Words', prefix => 'Of Words');
SELECT extensions.simhash_attach('app."Words of Texts"', 'lexemes', blocks => 2, prefix => 'of_lexemes');

-- with a scope
CREATE TABLE app.scoped (id bigint PRIMARY KEY, tenant integer, body text);
INSERT INTO app.scoped SELECT id, id / 10, body FROM app.texts;
SELECT extensions.simhash_attach('app.scoped', 'body', scope => '{tenant}');

-- partitioned; one partition of partitions, and one that nothing is in
CREATE TABLE app.parts (id bigint PRIMARY KEY, body text) PARTITION BY RANGE (id);
CREATE TABLE app.parts_low PARTITION OF app.parts FOR VALUES FROM (0) TO (300);
CREATE TABLE app.parts_high PARTITION OF app.parts FOR VALUES FROM (300) TO (10000) PARTITION BY HASH (id);
CREATE TABLE app.parts_high_0 PARTITION OF app.parts_high FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE app.parts_high_1 PARTITION OF app.parts_high FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE app.parts_rest PARTITION OF app.parts DEFAULT;
INSERT INTO app.parts SELECT * FROM app.texts;
SELECT extensions.simhash_attach('app.parts', 'body');

-- inherited, and its texts are indexed too
CREATE TABLE app.parent (id bigint, body text);
CREATE TABLE app.child (more text) INHERITS (app.parent);
INSERT INTO app.parent SELECT * FROM app.texts WHERE id <= 250;
INSERT INTO app.child SELECT *, 'more' FROM app.texts WHERE id > 250;
SELECT extensions.simhash_attach('app.parent', 'body');
SELECT extensions.simhash_index('app.parent', 'body');

-- by hand
CREATE TABLE app.by_hand (
    id bigint PRIMARY KEY,
    body text,
    "Finger print" bigint GENERATED ALWAYS AS (extensions.simhash(body, '{"ngram": 3}'::jsonb)) STORED,
    b0 integer GENERATED ALWAYS AS
        (extensions.simhash_block(extensions.simhash(body, '{"ngram": 3}'::jsonb), 0, 2)) STORED,
    b1 integer GENERATED ALWAYS AS
        (extensions.simhash_block(extensions.simhash(body, '{"ngram": 3}'::jsonb), 1, 2)) STORED,
    CHECK (extensions.hamming("Finger print", 0) BETWEEN 0 AND 64)
);
CREATE INDEX ON app.by_hand (b0);
CREATE INDEX ON app.by_hand (b1);
INSERT INTO app.by_hand SELECT * FROM app.texts;

CREATE TABLE app.expressions (id bigint PRIMARY KEY, fingerprint bigint);
CREATE INDEX ON app.expressions (extensions.simhash_block(fingerprint, 0, 3)) INCLUDE (fingerprint);
CREATE INDEX ON app.expressions (extensions.simhash_block(fingerprint, 1, 3)) INCLUDE (fingerprint);
CREATE INDEX ON app.expressions (extensions.simhash_block(fingerprint, 2, 3)) INCLUDE (fingerprint);
INSERT INTO app.expressions SELECT id, extensions.simhash(body) FROM app.texts;

-- Texts, indexed by their bands ------------------------------------------------

-- concurrently
CREATE TABLE app.online (id bigint PRIMARY KEY, body text);
INSERT INTO app.online SELECT * FROM app.texts;
SELECT extensions.simhash_index_commands('app.online', 'body') \gexec

CREATE TABLE app.online_parts (id bigint, body text) PARTITION BY HASH (id);
CREATE TABLE app.online_parts_0 PARTITION OF app.online_parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE app.online_parts_1 PARTITION OF app.online_parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO app.online_parts SELECT * FROM app.texts;
SELECT extensions.simhash_index_commands('app.online_parts', 'body', bands => 12) \gexec

-- an expression that calls a function, with options and a scope; and a single band by hand
CREATE FUNCTION app.lower_of(text) RETURNS text LANGUAGE sql IMMUTABLE RETURN lower($1);
CREATE TABLE app.letters (id bigint PRIMARY KEY, tenant integer, "Subject" text, body text);
INSERT INTO app.letters SELECT id, id / 10, 'A letter', body FROM app.texts;
SELECT extensions.simhash_index('app.letters', $$app.lower_of("Subject") || ' ' || body$$, '{"ngram": 2}', 2, '{tenant}');
CREATE INDEX ON app.letters (extensions.simhash_band(body, 0), extensions.simhash_size(body), extensions.simhash(body));

CREATE MATERIALIZED VIEW app.excerpts AS SELECT id, body FROM app.plain WHERE id <= 100;
SELECT extensions.simhash_index('app.excerpts', 'body');

CREATE TABLE app.weighted (id bigint PRIMARY KEY, body text);
INSERT INTO app.weighted SELECT * FROM app.texts;
SELECT extensions.simhash_index('app.weighted', 'body', '{"weights": {"and": 0, "more": 0.5}, "seed": 7}');

-- Texts, indexed by their passages
CREATE INDEX ON app.online USING gin (extensions.simhash_passages(body));

-- Guarded, each with near-duplicates from before ---------------------------------

-- by fingerprints, also where session_replication_role is replica
CREATE TABLE app.rejected (id bigint PRIMARY KEY, body text);
INSERT INTO app.rejected SELECT * FROM app.texts;
SELECT extensions.simhash_attach('app.rejected', 'body');
SELECT extensions.simhash_guard('app.rejected', criterion => '{"resemblance": null}', source => 'simhash');
ALTER TABLE app.rejected ENABLE ALWAYS TRIGGER zzz_simhash_guard;

CREATE TABLE app.skipped (id bigint PRIMARY KEY, plain_id bigint REFERENCES app.plain ON UPDATE CASCADE, body text);
INSERT INTO app.skipped SELECT id, id, body FROM app.texts;
SELECT extensions.simhash_index_commands('app.skipped', 'body') \gexec
SELECT extensions.simhash_guard('app.skipped', 'skip');

CREATE TABLE app.marked (id bigint PRIMARY KEY, "Tenant" text, lang text, body text, "like" bigint);
INSERT INTO app.marked SELECT id, 'tenant', CASE WHEN id > 400 THEN 'en' END, body FROM app.texts;
SELECT extensions.simhash_index('app.marked', 'body', bands => 12, scope => '{Tenant,lang}');
SELECT extensions.simhash_guard('app.marked', 'mark', '{"resemblance": 0.7}', '{Tenant,lang}', mark_column => 'like');
-- A guard marks what comes, also by UPDATE: of each pair, the first.
UPDATE app.marked SET body = body || ' ' WHERE id % 10 = 9;

CREATE TABLE app.guarded_parts (id bigint PRIMARY KEY, body text) PARTITION BY HASH (id);
CREATE TABLE app.guarded_parts_0 PARTITION OF app.guarded_parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE app.guarded_parts_1 PARTITION OF app.guarded_parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO app.guarded_parts SELECT * FROM app.texts;
SELECT extensions.simhash_index('app.guarded_parts', 'body');
SELECT extensions.simhash_guard('app.guarded_parts');

-- by a criterion with conditions of its own, among some rows, with marks of a whole key
CREATE TABLE app.offers (id bigint PRIMARY KEY, body text, live boolean DEFAULT true, checked boolean, near jsonb);
INSERT INTO app.offers SELECT * FROM app.texts;
SELECT extensions.simhash_index('app.offers', 'body', '{"same": ["numbers"]}');
SELECT extensions.simhash_guard('app.offers', 'mark', '{"resemblance": 0.9, "same": ["numbers"], "bands": 5}',
    among => 'live', mark_column => 'near', unless => 'checked');

-- by a distance and a fingerprint of three blocks
SELECT extensions.simhash_guard('app.covering', 'skip', '{"resemblance": null, "max_distance": 5}', source => 'simhash');

-- a guard that does not fire now
CREATE TABLE app.disabled (id bigint PRIMARY KEY, body text);
INSERT INTO app.disabled SELECT * FROM app.texts;
SELECT extensions.simhash_index('app.disabled', $$coalesce(body, '')$$);
SELECT extensions.simhash_guard('app.disabled');
ALTER TABLE app.disabled DISABLE TRIGGER zzz_simhash_guard;

-- Under row-level security, with the indexes of fingerprints and of texts -------

CREATE TABLE app.secured (id bigint PRIMARY KEY, body text);
INSERT INTO app.secured SELECT * FROM app.texts;
SELECT extensions.simhash_attach('app.secured', 'body');
SELECT extensions.simhash_index('app.secured', 'body');
SELECT extensions.simhash_guard('app.secured', source => 'body');
ALTER TABLE app.secured ENABLE ROW LEVEL SECURITY;
CREATE POLICY low ON app.secured TO reader
    USING (id <= 250 AND extensions.simhash_near(simhash, simhash)) WITH CHECK (true);
GRANT USAGE ON SCHEMA app, extensions TO reader;
GRANT SELECT, INSERT ON app.secured TO reader;

-- Views and functions of these tables -------------------------------------------

CREATE VIEW app.near_texts AS
SELECT texts.id, near.id AS near_id, near.simhash OPERATOR(extensions.<~>) extensions.simhash(texts.body) AS distance
FROM app.texts JOIN app.plain AS near ON extensions.simhash_near(near.simhash, extensions.simhash(texts.body), 4);
CREATE VIEW app.copies AS
SELECT texts.id, copy.id AS copy_id
FROM app.texts JOIN app.online AS copy ON extensions.simhash_near(copy.body, texts.body, '{"resemblance": 0.9}');
CREATE MATERIALIZED VIEW app.pairs AS
SELECT one.id AS one, other.id AS other
FROM app.plain AS one JOIN app.plain AS other
    ON extensions.simhash_near(one.simhash, other.simhash) AND one.id < other.id;
CREATE UNIQUE INDEX ON app.pairs (one, other);
CREATE MATERIALIZED VIEW app.clusters AS
SELECT cluster, array_agg(id ORDER BY id) AS ids
FROM (SELECT id, extensions.simhash_cluster(id, simhash) OVER (ORDER BY id) AS cluster FROM app.parts) AS clusters
GROUP BY cluster HAVING count(*) > 1;
CREATE VIEW app.quotations AS
SELECT texts.id, quoted.id AS quoted_id
FROM app.texts JOIN app.online AS quoted ON extensions.simhash_contains(quoted.body, texts.body, 0.7);
CREATE VIEW app.originals AS
SELECT id, extensions.simhash_duplicate_of(id, body, '{"resemblance": 0.9}') OVER (ORDER BY id) AS original
FROM app.online;
CREATE FUNCTION app.near(query text) RETURNS SETOF bigint LANGUAGE sql STABLE
    BEGIN ATOMIC
        SELECT id FROM app.plain WHERE extensions.simhash_near(simhash, extensions.simhash(query));
    END;

SELECT format('VACUUM ANALYZE %s', oid::regclass) FROM pg_class
WHERE relnamespace = 'app'::regnamespace AND relkind IN ('r', 'p', 'm') \gexec
\o
