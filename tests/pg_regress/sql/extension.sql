-- Installing and moving the extension. Its functions work in any schema: none looks up another through
-- search_path.
DROP EXTENSION pg_simhash;
CREATE SCHEMA fingerprints;
CREATE EXTENSION pg_simhash SCHEMA fingerprints;
\set VERBOSITY terse
SELECT simhash('off the search path');
\set VERBOSITY default

-- With only pg_catalog on the search path.
SET search_path = pg_catalog;
SELECT fingerprints.simhash('a b') = fingerprints.simhash_of_features('{a,b}'::text[]) AS text,
    fingerprints.simhash('a b', '{"ngram": 2}') = fingerprints.simhash_of_features('{a b}'::text[]) AS options,
    fingerprints.simhash('a b', '{"ngram": 2}'::jsonb)
        = fingerprints.simhash_of_features('{a b}'::text[], '{3}') AS jsonb,
    fingerprints.simhash('a b'::tsvector) = fingerprints.simhash('a b') AS tsvector,
    fingerprints.simhash_format() AS format;
SELECT fingerprints.simhash_agg(feature, weight) = fingerprints.simhash('a b', '{"weight": "log"}') AS aggregate
FROM fingerprints.simhash_features('a b', '{"weight": "log"}');
CREATE TABLE public.docs (
    id integer,
    body text,
    simhash bigint GENERATED ALWAYS AS (fingerprints.simhash(body)) STORED,
    chars bigint GENERATED ALWAYS AS (fingerprints.simhash(body, '{"tokens": "chars"}')) STORED,
    block integer GENERATED ALWAYS AS (fingerprints.simhash_block(fingerprints.simhash(body), 0)) STORED,
    CHECK (fingerprints.hamming(simhash, simhash) = 0)
);
CREATE INDEX ON public.docs (fingerprints.simhash_block(simhash, 1), simhash);
CREATE INDEX ON public.docs (block, simhash);
CREATE VIEW public.near AS
SELECT a.id AS a, b.id AS b FROM public.docs a, public.docs b WHERE a.simhash OPERATOR(fingerprints.<~>) b.simhash <= 3;
INSERT INTO public.docs (id, body) SELECT n, 'document ' || n / 2 FROM generate_series(1, 10) n;
SELECT blocks, indexed, probes, candidates FROM fingerprints.simhash_layouts('public.docs', max_distance => 1)
WHERE blocks = 4;
RESET search_path;

-- Moved, along with everything that uses it.
CREATE SCHEMA "Other schema";
ALTER EXTENSION pg_simhash SET SCHEMA "Other schema";
SET search_path = pg_catalog;
INSERT INTO public.docs (id, body) VALUES (11, 'document 5'), (12, 'document 0');
SELECT count(*), count(DISTINCT simhash) AS distinct, bool_and(simhash = "Other schema".simhash(body)) AS simhash,
    bool_and(chars = "Other schema".simhash(body, '{"tokens": "chars"}')) AS chars,
    bool_and(block = "Other schema".simhash_block("Other schema".simhash(body), 0)) AS block FROM public.docs;
SELECT count(*) FROM public.near WHERE a < b;
-- Attached in one schema, still recognised after the move to another.
CREATE TABLE public.attached (body text);
SELECT "Other schema".simhash_attach('public.attached', 'body', blocks => 2, options => '{"ngram": 2}');
SELECT "Other schema".simhash_index('public.attached', 'body', bands => 1);
SELECT "Other schema".simhash_index_commands('public.attached', 'body', bands => 2) \gexec
\d public.attached
ALTER EXTENSION pg_simhash SET SCHEMA public;
RESET search_path; SET client_min_messages = notice;
SELECT simhash_attach('attached', 'body', blocks => 2, options => '{"ngram": 2}');
SET client_min_messages = warning;
SELECT count(*) AS left_to_do FROM simhash_index_commands('attached', 'body', bands => 2);
SELECT simhash_detach('attached');

-- Every object has a comment.
SELECT pg_describe_object(classid, objid, objsubid) AS without_comment
FROM pg_depend JOIN pg_extension e ON refobjid = e.oid
WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e' AND extname = 'pg_simhash'
    AND obj_description(objid, classid::regclass::name) IS NULL;
