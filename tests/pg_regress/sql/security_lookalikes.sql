-- Other users may create functions in the schema of the extension. No object of the extension calls them, whatever
-- their argument types are. (They can make a call fail with "is not unique".)
DROP EXTENSION pg_simhash;
CREATE SCHEMA shared;
CREATE EXTENSION pg_simhash SCHEMA shared;
GRANT USAGE, CREATE ON SCHEMA shared TO PUBLIC;
CREATE DOMAIN fingerprint AS bigint;
CREATE DOMAIN words AS text;
CREATE TABLE of_domains (id integer PRIMARY KEY, f fingerprint, body words, short varchar(20));
INSERT INTO of_domains VALUES (1, 1, 'a text', 'a text');
SET ROLE regress_attacker;
SELECT run(format('CREATE FUNCTION shared.%s RETURNS %s LANGUAGE sql IMMUTABLE RETURN public.must_not_run()::integer',
    name, CASE WHEN name ~ '_(block|band|size)' THEN 'integer' ELSE 'bigint' END))
FROM unnest(ARRAY['simhash_block(public.fingerprint, integer, integer)', 'simhash_block(public.fingerprint, integer)',
    'simhash_block(bigint, bigint, bigint)', 'simhash_block(numeric, integer, integer)', 'simhash(public.words)',
    'simhash(public.words, text)', 'simhash(varchar)', 'simhash(varchar, jsonb)', 'simhash_band(public.words, integer)',
    'simhash_band(text, bigint)', 'simhash_band(varchar, integer)', 'simhash_size(public.words)',
    'simhash_size(varchar)']) AS name;
CREATE FUNCTION shared.simhash(anyelement) RETURNS bigint LANGUAGE sql IMMUTABLE AS
    'SELECT public.must_not_run()::integer::bigint';
CREATE FUNCTION shared.simhash_dedup(VARIADIC text[]) RETURNS boolean LANGUAGE sql RETURN public.must_not_run();
RESET ROLE;
SELECT shared.simhash_attach('of_domains', 'f', blocks => 5),
    shared.simhash_attach('of_domains', 'body', blocks => 2, options => '{"ngram": 2}', prefix => 'w'),
    shared.simhash_attach('of_domains', 'short', blocks => 2, prefix => 'v'),
    shared.simhash_attach('of_domains', 'f', blocks => 2, prefix => 'f'),
    shared.simhash_index('of_domains', 'body', bands => 1), shared.simhash_index('of_domains', 'short', bands => 1),
    shared.simhash_guard('of_domains', source => 'f');
SELECT shared.simhash_index_commands('of_domains', 'body || short', bands => 1) \gexec
INSERT INTO of_domains VALUES (2, 255, 'another text', 'another text');
\d of_domains
-- The objects are recognised.
SELECT shared.simhash_index_commands('of_domains', source, bands => 1)
FROM unnest('{body,short,body || short}'::text[]) AS source;
SELECT tgname, tgfoid::regprocedure FROM pg_trigger WHERE tgrelid = 'of_domains'::regclass ORDER BY tgname;
EXPLAIN (COSTS OFF) SELECT * FROM of_domains WHERE shared.simhash_near(f, 5, 0);
SELECT shared.simhash_unguard('of_domains'),
    shared.simhash_detach('of_domains'), shared.simhash_detach('of_domains', 'f'),
    shared.simhash_detach('of_domains', 'w'), shared.simhash_detach('of_domains', 'v');
-- If the library is newer than the installed version, a function may be missing. Plans use no other of its name.
SELECT shared.simhash_attach('of_domains', 'f', blocks => 5);
INSERT INTO of_domains (id, f) SELECT n, n * 7919 FROM generate_series(3, 5000) AS n;
ANALYZE of_domains;
EXPLAIN (COSTS OFF) SELECT * FROM of_domains WHERE shared.simhash_near(f, 1, 0);
ALTER FUNCTION shared.simhash_block(bigint, integer, integer) RENAME TO simhash_renamed;
SET ROLE regress_attacker;
CREATE FUNCTION shared.simhash_block(bigint, integer, integer) RETURNS integer LANGUAGE sql IMMUTABLE
    RETURN public.must_not_run()::integer;
RESET ROLE;
EXPLAIN (COSTS OFF) SELECT * FROM of_domains WHERE shared.simhash_near(f, 1, 0);
SELECT id FROM of_domains WHERE shared.simhash_near(f, 1, 0);
SELECT shared.simhash_guard('of_domains', 'skip', source => 'f');
