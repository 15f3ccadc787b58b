-- Made by tools/freeze dump from tests/server/database/tables.sql. Never edit it.
SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE SCHEMA app;
CREATE SCHEMA extensions;
CREATE EXTENSION IF NOT EXISTS pg_simhash WITH SCHEMA extensions;
COMMENT ON EXTENSION pg_simhash IS 'finds near-duplicate texts, and keeps copies out of tables';
CREATE FUNCTION app.lower_of(text) RETURNS text
    LANGUAGE sql IMMUTABLE
    RETURN lower($1);
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE app.plain (
    id bigint NOT NULL,
    body text NOT NULL,
    simhash bigint GENERATED ALWAYS AS (extensions.simhash(body)) STORED,
    simhash_block0 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 0)) STORED,
    simhash_block1 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 1)) STORED,
    simhash_block2 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 2)) STORED,
    simhash_block3 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 3)) STORED
);
COMMENT ON COLUMN app.plain.simhash IS 'made by simhash_attach, prefix simhash: fingerprint of body';
COMMENT ON COLUMN app.plain.simhash_block0 IS 'made by simhash_attach, prefix simhash: block 0 of 4 of the fingerprint of body';
COMMENT ON COLUMN app.plain.simhash_block1 IS 'made by simhash_attach, prefix simhash: block 1 of 4 of the fingerprint of body';
COMMENT ON COLUMN app.plain.simhash_block2 IS 'made by simhash_attach, prefix simhash: block 2 of 4 of the fingerprint of body';
COMMENT ON COLUMN app.plain.simhash_block3 IS 'made by simhash_attach, prefix simhash: block 3 of 4 of the fingerprint of body';
CREATE FUNCTION app.near(query text) RETURNS SETOF bigint
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT plain.id
    FROM app.plain
   WHERE extensions.simhash_near(plain.simhash, extensions.simhash(near.query));
END;
CREATE FUNCTION app.text_of(n integer) RETURNS text
    LANGUAGE sql IMMUTABLE
    RETURN (SELECT string_agg(CASE word.word WHEN 100 THEN ('word'::text || text_of.n) ELSE "left"(md5((((text_of.n - tenth.near) || ' '::text) || word.word)), 7) END, ' '::text ORDER BY word.word) AS string_agg FROM generate_series(1, 100) word(word), (SELECT (((text_of.n % 10) = 0))::integer AS near) tenth);
CREATE TABLE app."Words of Texts" (
    "Id" bigint NOT NULL,
    "All Words" text[],
    lexemes tsvector,
    "Of Words" bigint GENERATED ALWAYS AS (extensions.simhash_of_features("All Words")) STORED,
    "Of Words_block0" integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash_of_features("All Words"), 0)) STORED,
    "Of Words_block1" integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash_of_features("All Words"), 1)) STORED,
    "Of Words_block2" integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash_of_features("All Words"), 2)) STORED,
    "Of Words_block3" integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash_of_features("All Words"), 3)) STORED,
    of_lexemes bigint GENERATED ALWAYS AS (extensions.simhash(lexemes)) STORED,
    of_lexemes_block0 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(lexemes), 0, 2)) STORED,
    of_lexemes_block1 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(lexemes), 1, 2)) STORED
);
COMMENT ON COLUMN app."Words of Texts"."Of Words" IS 'made by simhash_attach, prefix "Of Words": fingerprint of "All Words"';
COMMENT ON COLUMN app."Words of Texts"."Of Words_block0" IS 'made by simhash_attach, prefix "Of Words": block 0 of 4 of the fingerprint of "All Words"';
COMMENT ON COLUMN app."Words of Texts"."Of Words_block1" IS 'made by simhash_attach, prefix "Of Words": block 1 of 4 of the fingerprint of "All Words"';
COMMENT ON COLUMN app."Words of Texts"."Of Words_block2" IS 'made by simhash_attach, prefix "Of Words": block 2 of 4 of the fingerprint of "All Words"';
COMMENT ON COLUMN app."Words of Texts"."Of Words_block3" IS 'made by simhash_attach, prefix "Of Words": block 3 of 4 of the fingerprint of "All Words"';
COMMENT ON COLUMN app."Words of Texts".of_lexemes IS 'made by simhash_attach, prefix of_lexemes: fingerprint of lexemes';
COMMENT ON COLUMN app."Words of Texts".of_lexemes_block0 IS 'made by simhash_attach, prefix of_lexemes: block 0 of 2 of the fingerprint of lexemes';
COMMENT ON COLUMN app."Words of Texts".of_lexemes_block1 IS 'made by simhash_attach, prefix of_lexemes: block 1 of 2 of the fingerprint of lexemes';
CREATE TABLE app.by_hand (
    id bigint NOT NULL,
    body text,
    "Finger print" bigint GENERATED ALWAYS AS (extensions.simhash(body, '{"ngram": 3}'::jsonb)) STORED,
    b0 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body, '{"ngram": 3}'::jsonb), 0, 2)) STORED,
    b1 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body, '{"ngram": 3}'::jsonb), 1, 2)) STORED,
    CONSTRAINT "by_hand_Finger print_check" CHECK (((extensions.hamming("Finger print", (0)::bigint) >= 0) AND (extensions.hamming("Finger print", (0)::bigint) <= 64)))
);
CREATE TABLE app.parent (
    id bigint,
    body text,
    simhash bigint GENERATED ALWAYS AS (extensions.simhash(body)) STORED,
    simhash_block0 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 0)) STORED,
    simhash_block1 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 1)) STORED,
    simhash_block2 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 2)) STORED,
    simhash_block3 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 3)) STORED
);
COMMENT ON COLUMN app.parent.simhash IS 'made by simhash_attach, prefix simhash: fingerprint of body';
COMMENT ON COLUMN app.parent.simhash_block0 IS 'made by simhash_attach, prefix simhash: block 0 of 4 of the fingerprint of body';
COMMENT ON COLUMN app.parent.simhash_block1 IS 'made by simhash_attach, prefix simhash: block 1 of 4 of the fingerprint of body';
COMMENT ON COLUMN app.parent.simhash_block2 IS 'made by simhash_attach, prefix simhash: block 2 of 4 of the fingerprint of body';
COMMENT ON COLUMN app.parent.simhash_block3 IS 'made by simhash_attach, prefix simhash: block 3 of 4 of the fingerprint of body';
CREATE TABLE app.child (
    more text
)
INHERITS (app.parent);
COMMENT ON COLUMN app.child.simhash IS 'made by simhash_attach, prefix simhash: fingerprint of body';
COMMENT ON COLUMN app.child.simhash_block0 IS 'made by simhash_attach, prefix simhash: block 0 of 4 of the fingerprint of body';
COMMENT ON COLUMN app.child.simhash_block1 IS 'made by simhash_attach, prefix simhash: block 1 of 4 of the fingerprint of body';
COMMENT ON COLUMN app.child.simhash_block2 IS 'made by simhash_attach, prefix simhash: block 2 of 4 of the fingerprint of body';
COMMENT ON COLUMN app.child.simhash_block3 IS 'made by simhash_attach, prefix simhash: block 3 of 4 of the fingerprint of body';
CREATE TABLE app.parts (
    id bigint NOT NULL,
    body text,
    simhash bigint GENERATED ALWAYS AS (extensions.simhash(body)) STORED,
    simhash_block0 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 0)) STORED,
    simhash_block1 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 1)) STORED,
    simhash_block2 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 2)) STORED,
    simhash_block3 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 3)) STORED
)
PARTITION BY RANGE (id);
COMMENT ON COLUMN app.parts.simhash IS 'made by simhash_attach, prefix simhash: fingerprint of body';
COMMENT ON COLUMN app.parts.simhash_block0 IS 'made by simhash_attach, prefix simhash: block 0 of 4 of the fingerprint of body';
COMMENT ON COLUMN app.parts.simhash_block1 IS 'made by simhash_attach, prefix simhash: block 1 of 4 of the fingerprint of body';
COMMENT ON COLUMN app.parts.simhash_block2 IS 'made by simhash_attach, prefix simhash: block 2 of 4 of the fingerprint of body';
COMMENT ON COLUMN app.parts.simhash_block3 IS 'made by simhash_attach, prefix simhash: block 3 of 4 of the fingerprint of body';
CREATE MATERIALIZED VIEW app.clusters AS
 SELECT clusters.cluster,
    array_agg(clusters.id ORDER BY clusters.id) AS ids
   FROM ( SELECT parts.id,
            extensions.simhash_cluster(parts.id, parts.simhash) OVER (ORDER BY parts.id) AS cluster
           FROM app.parts) clusters
  GROUP BY clusters.cluster
 HAVING (count(*) > 1)
  WITH NO DATA;
CREATE TABLE app.online (
    id bigint NOT NULL,
    body text
);
CREATE TABLE app.texts (
    id bigint,
    body text
);
CREATE VIEW app.copies AS
 SELECT texts.id,
    copy.id AS copy_id
   FROM (app.texts
     JOIN app.online copy ON (extensions.simhash_near(copy.body, texts.body, '{"resemblance": 0.9}'::text)));
CREATE TABLE app.covering (
    id bigint NOT NULL,
    body text COLLATE pg_catalog."C",
    simhash bigint GENERATED ALWAYS AS (extensions.simhash(body, '{"ngram": 2, "weight": "tf"}'::jsonb)) STORED,
    simhash_block0 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body, '{"ngram": 2, "weight": "tf"}'::jsonb), 0, 3)) STORED,
    simhash_block1 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body, '{"ngram": 2, "weight": "tf"}'::jsonb), 1, 3)) STORED,
    simhash_block2 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body, '{"ngram": 2, "weight": "tf"}'::jsonb), 2, 3)) STORED
);
COMMENT ON COLUMN app.covering.simhash IS 'made by simhash_attach, prefix simhash: fingerprint of body';
COMMENT ON COLUMN app.covering.simhash_block0 IS 'made by simhash_attach, prefix simhash: block 0 of 3 of the fingerprint of body';
COMMENT ON COLUMN app.covering.simhash_block1 IS 'made by simhash_attach, prefix simhash: block 1 of 3 of the fingerprint of body';
COMMENT ON COLUMN app.covering.simhash_block2 IS 'made by simhash_attach, prefix simhash: block 2 of 3 of the fingerprint of body';
CREATE TABLE app.disabled (
    id bigint NOT NULL,
    body text
);
CREATE MATERIALIZED VIEW app.excerpts AS
 SELECT plain.id,
    plain.body
   FROM app.plain
  WHERE (plain.id <= 100)
  WITH NO DATA;
CREATE TABLE app.expressions (
    id bigint NOT NULL,
    fingerprint bigint
);
CREATE TABLE app.guarded_parts (
    id bigint NOT NULL,
    body text
)
PARTITION BY HASH (id);
CREATE TABLE app.guarded_parts_0 (
    id bigint NOT NULL,
    body text
);
CREATE TABLE app.guarded_parts_1 (
    id bigint NOT NULL,
    body text
);
CREATE TABLE app.letters (
    id bigint NOT NULL,
    tenant integer,
    "Subject" text,
    body text
);
CREATE TABLE app.marked (
    id bigint NOT NULL,
    "Tenant" text,
    lang text,
    body text,
    "like" bigint
);
CREATE VIEW app.near_texts AS
 SELECT texts.id,
    near.id AS near_id,
    (near.simhash OPERATOR(extensions.<~>) extensions.simhash(texts.body)) AS distance
   FROM (app.texts
     JOIN app.plain near ON (extensions.simhash_near(near.simhash, extensions.simhash(texts.body), 4)));
CREATE TABLE app.offers (
    id bigint NOT NULL,
    body text,
    live boolean DEFAULT true,
    checked boolean,
    near jsonb
);
CREATE TABLE app.online_parts (
    id bigint,
    body text
)
PARTITION BY HASH (id);
CREATE TABLE app.online_parts_0 (
    id bigint,
    body text
);
CREATE TABLE app.online_parts_1 (
    id bigint,
    body text
);
CREATE VIEW app.originals AS
 SELECT online.id,
    extensions.simhash_duplicate_of(online.id, online.body, '{"resemblance": 0.9}'::jsonb) OVER (ORDER BY online.id) AS original
   FROM app.online;
CREATE MATERIALIZED VIEW app.pairs AS
 SELECT one.id AS one,
    other.id AS other
   FROM (app.plain one
     JOIN app.plain other ON ((extensions.simhash_near(one.simhash, other.simhash) AND (one.id < other.id))))
  WITH NO DATA;
CREATE TABLE app.parts_high (
    id bigint NOT NULL,
    body text,
    simhash bigint GENERATED ALWAYS AS (extensions.simhash(body)) STORED,
    simhash_block0 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 0)) STORED,
    simhash_block1 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 1)) STORED,
    simhash_block2 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 2)) STORED,
    simhash_block3 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 3)) STORED
)
PARTITION BY HASH (id);
COMMENT ON COLUMN app.parts_high.simhash IS 'made by simhash_attach, prefix simhash: fingerprint of body';
COMMENT ON COLUMN app.parts_high.simhash_block0 IS 'made by simhash_attach, prefix simhash: block 0 of 4 of the fingerprint of body';
COMMENT ON COLUMN app.parts_high.simhash_block1 IS 'made by simhash_attach, prefix simhash: block 1 of 4 of the fingerprint of body';
COMMENT ON COLUMN app.parts_high.simhash_block2 IS 'made by simhash_attach, prefix simhash: block 2 of 4 of the fingerprint of body';
COMMENT ON COLUMN app.parts_high.simhash_block3 IS 'made by simhash_attach, prefix simhash: block 3 of 4 of the fingerprint of body';
CREATE TABLE app.parts_high_0 (
    id bigint NOT NULL,
    body text,
    simhash bigint GENERATED ALWAYS AS (extensions.simhash(body)) STORED,
    simhash_block0 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 0)) STORED,
    simhash_block1 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 1)) STORED,
    simhash_block2 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 2)) STORED,
    simhash_block3 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 3)) STORED
);
COMMENT ON COLUMN app.parts_high_0.simhash IS 'made by simhash_attach, prefix simhash: fingerprint of body';
COMMENT ON COLUMN app.parts_high_0.simhash_block0 IS 'made by simhash_attach, prefix simhash: block 0 of 4 of the fingerprint of body';
COMMENT ON COLUMN app.parts_high_0.simhash_block1 IS 'made by simhash_attach, prefix simhash: block 1 of 4 of the fingerprint of body';
COMMENT ON COLUMN app.parts_high_0.simhash_block2 IS 'made by simhash_attach, prefix simhash: block 2 of 4 of the fingerprint of body';
COMMENT ON COLUMN app.parts_high_0.simhash_block3 IS 'made by simhash_attach, prefix simhash: block 3 of 4 of the fingerprint of body';
CREATE TABLE app.parts_high_1 (
    id bigint NOT NULL,
    body text,
    simhash bigint GENERATED ALWAYS AS (extensions.simhash(body)) STORED,
    simhash_block0 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 0)) STORED,
    simhash_block1 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 1)) STORED,
    simhash_block2 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 2)) STORED,
    simhash_block3 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 3)) STORED
);
COMMENT ON COLUMN app.parts_high_1.simhash IS 'made by simhash_attach, prefix simhash: fingerprint of body';
COMMENT ON COLUMN app.parts_high_1.simhash_block0 IS 'made by simhash_attach, prefix simhash: block 0 of 4 of the fingerprint of body';
COMMENT ON COLUMN app.parts_high_1.simhash_block1 IS 'made by simhash_attach, prefix simhash: block 1 of 4 of the fingerprint of body';
COMMENT ON COLUMN app.parts_high_1.simhash_block2 IS 'made by simhash_attach, prefix simhash: block 2 of 4 of the fingerprint of body';
COMMENT ON COLUMN app.parts_high_1.simhash_block3 IS 'made by simhash_attach, prefix simhash: block 3 of 4 of the fingerprint of body';
CREATE TABLE app.parts_low (
    id bigint NOT NULL,
    body text,
    simhash bigint GENERATED ALWAYS AS (extensions.simhash(body)) STORED,
    simhash_block0 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 0)) STORED,
    simhash_block1 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 1)) STORED,
    simhash_block2 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 2)) STORED,
    simhash_block3 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 3)) STORED
);
COMMENT ON COLUMN app.parts_low.simhash IS 'made by simhash_attach, prefix simhash: fingerprint of body';
COMMENT ON COLUMN app.parts_low.simhash_block0 IS 'made by simhash_attach, prefix simhash: block 0 of 4 of the fingerprint of body';
COMMENT ON COLUMN app.parts_low.simhash_block1 IS 'made by simhash_attach, prefix simhash: block 1 of 4 of the fingerprint of body';
COMMENT ON COLUMN app.parts_low.simhash_block2 IS 'made by simhash_attach, prefix simhash: block 2 of 4 of the fingerprint of body';
COMMENT ON COLUMN app.parts_low.simhash_block3 IS 'made by simhash_attach, prefix simhash: block 3 of 4 of the fingerprint of body';
CREATE TABLE app.parts_rest (
    id bigint NOT NULL,
    body text,
    simhash bigint GENERATED ALWAYS AS (extensions.simhash(body)) STORED,
    simhash_block0 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 0)) STORED,
    simhash_block1 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 1)) STORED,
    simhash_block2 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 2)) STORED,
    simhash_block3 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 3)) STORED
);
COMMENT ON COLUMN app.parts_rest.simhash IS 'made by simhash_attach, prefix simhash: fingerprint of body';
COMMENT ON COLUMN app.parts_rest.simhash_block0 IS 'made by simhash_attach, prefix simhash: block 0 of 4 of the fingerprint of body';
COMMENT ON COLUMN app.parts_rest.simhash_block1 IS 'made by simhash_attach, prefix simhash: block 1 of 4 of the fingerprint of body';
COMMENT ON COLUMN app.parts_rest.simhash_block2 IS 'made by simhash_attach, prefix simhash: block 2 of 4 of the fingerprint of body';
COMMENT ON COLUMN app.parts_rest.simhash_block3 IS 'made by simhash_attach, prefix simhash: block 3 of 4 of the fingerprint of body';
CREATE VIEW app.quotations AS
 SELECT texts.id,
    quoted.id AS quoted_id
   FROM (app.texts
     JOIN app.online quoted ON (extensions.simhash_contains(quoted.body, texts.body, (0.7)::double precision)));
CREATE TABLE app.referring (
    plain_id bigint NOT NULL,
    note text
);
CREATE TABLE app.rejected (
    id bigint NOT NULL,
    body text,
    simhash bigint GENERATED ALWAYS AS (extensions.simhash(body)) STORED,
    simhash_block0 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 0)) STORED,
    simhash_block1 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 1)) STORED,
    simhash_block2 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 2)) STORED,
    simhash_block3 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 3)) STORED
);
COMMENT ON COLUMN app.rejected.simhash IS 'made by simhash_attach, prefix simhash: fingerprint of body';
COMMENT ON COLUMN app.rejected.simhash_block0 IS 'made by simhash_attach, prefix simhash: block 0 of 4 of the fingerprint of body';
COMMENT ON COLUMN app.rejected.simhash_block1 IS 'made by simhash_attach, prefix simhash: block 1 of 4 of the fingerprint of body';
COMMENT ON COLUMN app.rejected.simhash_block2 IS 'made by simhash_attach, prefix simhash: block 2 of 4 of the fingerprint of body';
COMMENT ON COLUMN app.rejected.simhash_block3 IS 'made by simhash_attach, prefix simhash: block 3 of 4 of the fingerprint of body';
CREATE TABLE app.scoped (
    id bigint NOT NULL,
    tenant integer,
    body text,
    simhash bigint GENERATED ALWAYS AS (extensions.simhash(body)) STORED,
    simhash_block0 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 0)) STORED,
    simhash_block1 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 1)) STORED,
    simhash_block2 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 2)) STORED,
    simhash_block3 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 3)) STORED
);
COMMENT ON COLUMN app.scoped.simhash IS 'made by simhash_attach, prefix simhash: fingerprint of body';
COMMENT ON COLUMN app.scoped.simhash_block0 IS 'made by simhash_attach, prefix simhash: block 0 of 4 of the fingerprint of body';
COMMENT ON COLUMN app.scoped.simhash_block1 IS 'made by simhash_attach, prefix simhash: block 1 of 4 of the fingerprint of body';
COMMENT ON COLUMN app.scoped.simhash_block2 IS 'made by simhash_attach, prefix simhash: block 2 of 4 of the fingerprint of body';
COMMENT ON COLUMN app.scoped.simhash_block3 IS 'made by simhash_attach, prefix simhash: block 3 of 4 of the fingerprint of body';
CREATE TABLE app.secured (
    id bigint NOT NULL,
    body text,
    simhash bigint GENERATED ALWAYS AS (extensions.simhash(body)) STORED,
    simhash_block0 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 0)) STORED,
    simhash_block1 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 1)) STORED,
    simhash_block2 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 2)) STORED,
    simhash_block3 integer GENERATED ALWAYS AS (extensions.simhash_block(extensions.simhash(body), 3)) STORED
);
COMMENT ON COLUMN app.secured.simhash IS 'made by simhash_attach, prefix simhash: fingerprint of body';
COMMENT ON COLUMN app.secured.simhash_block0 IS 'made by simhash_attach, prefix simhash: block 0 of 4 of the fingerprint of body';
COMMENT ON COLUMN app.secured.simhash_block1 IS 'made by simhash_attach, prefix simhash: block 1 of 4 of the fingerprint of body';
COMMENT ON COLUMN app.secured.simhash_block2 IS 'made by simhash_attach, prefix simhash: block 2 of 4 of the fingerprint of body';
COMMENT ON COLUMN app.secured.simhash_block3 IS 'made by simhash_attach, prefix simhash: block 3 of 4 of the fingerprint of body';
CREATE TABLE app.skipped (
    id bigint NOT NULL,
    plain_id bigint,
    body text
);
CREATE TABLE app.weighted (
    id bigint NOT NULL,
    body text
);
ALTER TABLE ONLY app.guarded_parts ATTACH PARTITION app.guarded_parts_0 FOR VALUES WITH (modulus 2, remainder 0);
ALTER TABLE ONLY app.guarded_parts ATTACH PARTITION app.guarded_parts_1 FOR VALUES WITH (modulus 2, remainder 1);
ALTER TABLE ONLY app.online_parts ATTACH PARTITION app.online_parts_0 FOR VALUES WITH (modulus 2, remainder 0);
ALTER TABLE ONLY app.online_parts ATTACH PARTITION app.online_parts_1 FOR VALUES WITH (modulus 2, remainder 1);
ALTER TABLE ONLY app.parts ATTACH PARTITION app.parts_high FOR VALUES FROM ('300') TO ('10000');
ALTER TABLE ONLY app.parts_high ATTACH PARTITION app.parts_high_0 FOR VALUES WITH (modulus 2, remainder 0);
ALTER TABLE ONLY app.parts_high ATTACH PARTITION app.parts_high_1 FOR VALUES WITH (modulus 2, remainder 1);
ALTER TABLE ONLY app.parts ATTACH PARTITION app.parts_low FOR VALUES FROM ('0') TO ('300');
ALTER TABLE ONLY app.parts ATTACH PARTITION app.parts_rest DEFAULT;
GRANT USAGE ON SCHEMA app TO reader;
GRANT USAGE ON SCHEMA extensions TO reader;
GRANT SELECT,INSERT ON TABLE app.secured TO reader;
