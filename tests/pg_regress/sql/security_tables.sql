-- A hostile table: code that its owner has put on it never runs with the rights of the administrator who calls us.
\set SHOW_CONTEXT never

CREATE SCHEMA hostile AUTHORIZATION regress_attacker;
SET ROLE regress_attacker; SET search_path = hostile, public;
-- The code of regress_attacker calls record_run. This function fails if another user runs it, and records each run in
-- the sequence of this name.
CREATE FUNCTION record_run(what text, value anyelement) RETURNS anyelement LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF current_user <> 'regress_attacker' THEN
        RAISE EXCEPTION '% runs as somebody else', what;
    END IF;
    PERFORM nextval(format('hostile.%I', what)::regclass);
    RETURN value;
END $$;
SELECT run(format('CREATE SEQUENCE hostile.%I', what))
FROM unnest(ARRAY['a cast', 'a check', 'a constant of a child''s index',
    'a constant of a predicate', 'a constant of an index', 'a default', 'a domain''s check', 'a generation expression',
    'a policy', 'a rule', 'a trigger', 'a trigger''s condition', 'an index expression', 'an index predicate',
    'an operator', 'extended statistics']) AS what;
-- Types, with a cast, an operator and a check.
CREATE TYPE pair AS (a text, b text);
CREATE FUNCTION text_of(pair) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT hostile.record_run('a cast', ($1).a) $$;
CREATE CAST (pair AS text) WITH FUNCTION text_of(pair) AS IMPLICIT;
CREATE FUNCTION pairs_equal(pair, pair) RETURNS boolean LANGUAGE sql IMMUTABLE AS
    $$ SELECT hostile.record_run('an operator', 1) = 1 $$;
CREATE OPERATOR = (LEFTARG = pair, RIGHTARG = pair, FUNCTION = pairs_equal);
CREATE DOMAIN words AS text CHECK (hostile.record_run('a domain''s check', VALUE) IS DISTINCT FROM '-');
CREATE DOMAIN fingerprint AS bigint CHECK (hostile.record_run('a domain''s check', VALUE::text) IS DISTINCT FROM '-');
CREATE TABLE docs (
    id integer PRIMARY KEY DEFAULT hostile.record_run('a default', 1),
    body text,
    body_words words DEFAULT hostile.record_run('a default', 'a text'::text),
    body_pair pair,
    tag text CHECK (hostile.record_run('a check', tag) = tag),
    made text GENERATED ALWAYS AS (hostile.record_run('a generation expression', body)) STORED,
    f fingerprint,
    same_as integer
);
CREATE INDEX ON docs (hostile.record_run('an index expression', body));
CREATE INDEX ON docs ((id + hostile.record_run('a constant of an index', 1)));
CREATE INDEX ON docs (id)
    WHERE hostile.record_run('an index predicate', id) > hostile.record_run('a constant of a predicate', -1);
CREATE FUNCTION record_trigger() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM hostile.record_run('a trigger', 1); RETURN NEW; END $$;
CREATE TRIGGER record_row BEFORE UPDATE ON docs FOR EACH ROW
    WHEN (hostile.record_run('a trigger''s condition', NEW.id) > 0) EXECUTE FUNCTION record_trigger();
CREATE TRIGGER record_row_after AFTER UPDATE ON docs FOR EACH ROW EXECUTE FUNCTION record_trigger();
CREATE TRIGGER record_statement AFTER UPDATE ON docs FOR EACH STATEMENT EXECUTE FUNCTION record_trigger();
CREATE RULE record_rule AS ON UPDATE TO docs DO ALSO SELECT hostile.record_run('a rule', NEW.id);
ALTER TABLE docs ENABLE ROW LEVEL SECURITY;
CREATE POLICY record_policy ON docs USING (hostile.record_run('a policy', id) > 0);
CREATE TABLE child () INHERITS (docs);
CREATE INDEX ON child ((id + hostile.record_run('a constant of a child''s index', 1)));
INSERT INTO docs (id, body, body_pair, tag, f)
VALUES (1, 'a text', ('a pair', 'b'), 'tag', 1), (2, 'another', ('of', 'texts'), 'a', 99);
INSERT INTO child (id, body, tag) VALUES (3, 'the text of a child', 'child');
-- From here on, each run is recorded.
SELECT run(format('ALTER SEQUENCE %s RESTART', oid::regclass)) FROM pg_class
WHERE relkind = 'S' AND relnamespace = 'hostile'::regnamespace;
-- A careless administrator has the hostile schema first. PostgreSQL itself runs its code:
RESET ROLE;
ALTER DATABASE :DBNAME SET search_path = hostile, public;
\c -
SELECT id FROM docs WHERE id = 1;
UPDATE ONLY docs SET body = body WHERE id = 1;

\c -
SELECT simhash_attach('docs', 'body', blocks => 2);
SELECT simhash_attach('docs', 'made', blocks => 2, prefix => 'of_made'),
    simhash_attach('docs', 'body_words', blocks => 2, prefix => 'of_words'),
    simhash_attach('docs', 'body_pair', blocks => 2, prefix => 'of_pair'),
    simhash_attach('docs', 'f', blocks => 5, prefix => 'of_f');
\c -
SELECT simhash_index('docs', source, bands => 2)
FROM unnest('{body,made,body_words,body_pair,"body || record_run(''an index expression'', body)"}'::text[]) AS source;
\c -
CREATE STATISTICS extended ON hostile.record_run('extended statistics', body), id FROM docs;
SELECT simhash_index_commands('docs', 'body_words', bands => 3) \gexec
SELECT simhash_index_commands('docs', 'body || record_run(''an index expression'', body)', bands => 3) \gexec
\c -
ALTER TABLE child NO INHERIT docs;
SELECT simhash_guard('docs', 'mark', '{"max_distance": 3}', '{tag, body_words}', mark_column => 'same_as',
    source => 'f');
\c -
SELECT simhash_guard('docs', source => 'f', scope => '{body_pair}');
\c -
SELECT simhash_unguard('docs');
\c -
SELECT simhash_detach('docs'), simhash_detach('docs', 'of_made'), simhash_detach('docs', 'of_words'),
    simhash_detach('docs', 'of_pair'), simhash_detach('docs', 'of_f');
-- All of these have run, as their owner.
SELECT sequencename FROM pg_sequences WHERE schemaname = 'hostile' AND last_value IS NOT NULL
ORDER BY sequencename COLLATE "C";
-- simhash_layouts runs the owner's code as the owner, too.
ALTER DATABASE :DBNAME RESET search_path;
\c -
SELECT count(simhash_layouts) FROM simhash_layouts('hostile.docs', 'f');

-- The hostile schema before PostgreSQL's own in the search path, for calls that run as their caller: a sample, a
-- search, and computations. (For the others: attach_rights, guard_rights.)
CREATE TABLE plain (id integer PRIMARY KEY, f bigint);
INSERT INTO plain SELECT n, n::bigint << 32 | n FROM generate_series(1, 1000) AS n;
SELECT simhash_attach('plain', 'f');
SET ROLE regress_attacker;
CREATE FUNCTION hostile.equal(oid, oid) RETURNS boolean LANGUAGE sql RETURN public.must_not_run();
CREATE FUNCTION hostile.equal(integer, integer) RETURNS boolean LANGUAGE sql RETURN public.must_not_run();
CREATE FUNCTION hostile.equal(integer, integer[]) RETURNS boolean LANGUAGE sql RETURN public.must_not_run();
CREATE OPERATOR hostile.= (LEFTARG = oid, RIGHTARG = oid, FUNCTION = hostile.equal);
CREATE OPERATOR hostile.= (LEFTARG = integer, RIGHTARG = integer, FUNCTION = hostile.equal);
CREATE OPERATOR hostile.<= (LEFTARG = integer, RIGHTARG = integer, FUNCTION = hostile.equal);
CREATE OPERATOR hostile.>= (LEFTARG = integer, RIGHTARG = integer, FUNCTION = hostile.equal);
CREATE FUNCTION hostile.pg_relation_size(oid, text) RETURNS bigint LANGUAGE sql RETURN public.must_not_run()::integer;
CREATE FUNCTION hostile.int4eq(integer, integer) RETURNS boolean LANGUAGE sql RETURN public.must_not_run();
CREATE FUNCTION hostile.hamming(bigint, bigint) RETURNS integer LANGUAGE sql RETURN public.must_not_run()::integer;
CREATE VIEW hostile.pg_inherits AS SELECT oid AS inhrelid, oid AS inhparent FROM pg_class WHERE public.must_not_run();
CREATE DOMAIN hostile.int8 AS pg_catalog.int8 CHECK (false);
CREATE DOMAIN hostile.float8 AS pg_catalog.float8 CHECK (false);
RESET ROLE; SET search_path = hostile, pg_catalog, public;
SELECT blocks, indexed FROM simhash_layouts('public.plain', 'f') WHERE best;
SELECT id FROM public.plain WHERE public.simhash_near(f, 4294967297, 4) ORDER BY id LIMIT 3;
SELECT count(*) FROM public.plain AS a JOIN public.plain AS b ON public.simhash_near(a.f, b.f, 1);
SELECT count(*)
FROM (SELECT array_agg(id) AS ids, array_agg(f) AS fs FROM public.plain) AS arrays, public.simhash_pairs(ids, fs, 1);
RESET search_path;

-- A search of a stored column does not recompute its expression, whatever is indexed: that would run with the rights of
-- the searching user.
SET ROLE regress_attacker;
CREATE FUNCTION hostile.only_as_owner(value text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
    IF current_user <> 'regress_attacker' THEN
        RAISE EXCEPTION 'run by %', current_user;
    END IF;
    RETURN value;
END $$;
REVOKE EXECUTE ON FUNCTION hostile.only_as_owner FROM PUBLIC;
CREATE TABLE hostile.stored (
    id integer PRIMARY KEY,
    body text,
    simhash bigint GENERATED ALWAYS AS (public.simhash(hostile.only_as_owner(body))) STORED
);
INSERT INTO hostile.stored SELECT n, 'text ' || md5(n::text) || ' ' || md5((-n)::text)
FROM generate_series(1, 2000) AS n;
SELECT public.run(format('CREATE INDEX ON hostile.stored
    (public.simhash_block(public.simhash(hostile.only_as_owner(body)), %s, 4)) INCLUDE (simhash)', block))
FROM generate_series(0, 3) AS block;
ANALYZE hostile.stored; GRANT USAGE ON SCHEMA hostile TO regress_other;
GRANT SELECT (id, simhash) ON hostile.stored TO regress_other; RESET ROLE;
CREATE FUNCTION searches() RETURNS TABLE (role name, by_key bigint, of_all bigint, joined bigint)
LANGUAGE sql AS $$
    SELECT current_user,
        (SELECT count(*) FROM hostile.stored
            WHERE id = 42 AND public.simhash_near(simhash, (SELECT simhash FROM hostile.stored WHERE id = 42))),
        (SELECT count(*) FROM hostile.stored WHERE public.simhash_near(simhash, 5)),
        (SELECT count(*) FROM hostile.stored a JOIN hostile.stored b ON public.simhash_near(a.simhash, b.simhash))
$$;
SELECT * FROM searches();
SET enable_seqscan = off;
SELECT * FROM searches();
SET ROLE regress_other;
SELECT * FROM searches();
RESET enable_seqscan;
SELECT * FROM searches();
