-- The error of a guard reports the near row in the field DATATYPE NAME, as JSON for programs.

CREATE FUNCTION near_of(statement text) RETURNS text LANGUAGE sql
    RETURN (SELECT substring(line FROM '^  TYPE: (.*)') FROM fields(statement) AS line WHERE line ~ '^  TYPE: ');
CREATE TABLE docs (id bigint PRIMARY KEY, body text);
SELECT simhash_index('docs', 'body'), simhash_guard('docs');
INSERT INTO docs SELECT 42, string_agg('word' || n, ' ') FROM generate_series(1, 100) AS n;
SELECT near_of('INSERT INTO docs SELECT 43, body FROM docs');
SELECT near::jsonb -> 'key' ->> 'id' AS id, near::jsonb -> 'resemblance' AS resemblance
FROM near_of('INSERT INTO docs SELECT 43, body || '' more'' FROM docs') AS near;

-- Keys of all kinds: a row with fingerprint 0 is stored, and then one with fingerprint 1.
CREATE FUNCTION near_key(columns text, key text, stored text, new text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    near text;
BEGIN
    EXECUTE format('CREATE TABLE keyed (%s, f bigint, PRIMARY KEY (%s))', columns, key);
    PERFORM simhash_attach('keyed', 'f'), simhash_guard('keyed', source => 'f');
    EXECUTE format('INSERT INTO keyed VALUES (%s, 0)', stored);
    near := near_of(format('INSERT INTO keyed VALUES (%s, 1)', new));
    DROP TABLE keyed;
    IF near !~ '^[ -~]*$' THEN
        RAISE 'not ASCII: %', near;
    END IF;
    -- The field must be JSON; the keys of an object in jsonb have another order.
    PERFORM near::jsonb;
    RETURN near;
END
$$;
CREATE TYPE kind AS ENUM ('good', 'bad "one"');
-- A program that reads numbers as double precision keeps integers up to 2^53 - 1: larger ones are strings.
SELECT columns, near_key(columns, key, stored, new) FROM (VALUES
    ('k bigint', 'k', '9007199254740991', '1'),
    ('k bigint', 'k', '9007199254740992', '1'),
    ('k numeric', 'k', '1.50', '1'),
    ('k double precision', 'k', '''Infinity''', '1'),
    ('k boolean', 'k', 'true', 'false'),
    ('k uuid', 'k', '''a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11''', '''00000000-9c0b-4ef8-bb6d-6bb9bd380a11'''),
    ('k kind', 'k', '''bad "one"''', '''good'''),
    ('k text', 'k', 'E''a "42" \\ \n\t\x01 /''', '''x'''),
    ('k text', 'k', '''é 中 😀''', '''x'''),
    ('"a ""b"" é" integer', '"a ""b"" é"', '1', '2'),
    -- Several columns, in the order of the key.
    ('tenant text, id integer', 'id, tenant', '''one'', 1', '''one'', 2')) AS keys (columns, key, stored, new);
-- A key whose JSON is longer than 8192 bytes is left out: {"k": "..."} takes 9 bytes, and an é, which is escaped, 6.
SELECT length(near_key('k text', 'k', 'repeat(''a'', 8183)', '''x'''));
SELECT near_key('k text', 'k', 'repeat(''a'', 8184)', '''x''');
SELECT near_key('k text', 'k', 'repeat(''é'', 1400)', '''x''');
-- The table may have no key.
CREATE TABLE keyless (f bigint);
SELECT simhash_attach('keyless', 'f'), simhash_guard('keyless', source => 'f');
INSERT INTO keyless VALUES (0);
SELECT near_of('INSERT INTO keyless VALUES (7)');

-- Detail and field report no more to a user than SELECT would show.
CREATE FUNCTION seen_by_writer(granted text, OUT field text, OUT detail text) LANGUAGE plpgsql AS $$
BEGIN
    REVOKE ALL ON docs FROM regress_writer;
    GRANT INSERT ON docs TO regress_writer;
    IF granted <> '' THEN
        EXECUTE format('GRANT SELECT (%s) ON docs TO regress_writer', granted);
    END IF;
    SET LOCAL ROLE regress_writer;
    INSERT INTO docs SELECT 43, string_agg('word' || n, ' ') FROM generate_series(1, 100) AS n;
EXCEPTION WHEN exclusion_violation THEN
    GET STACKED DIAGNOSTICS field = PG_DATATYPE_NAME, detail = PG_EXCEPTION_DETAIL;
END
$$;
SELECT granted, seen.* FROM unnest('{"",id,body,"id, body"}'::text[]) AS granted, seen_by_writer(granted) AS seen;
ALTER TABLE docs ENABLE ROW LEVEL SECURITY;
CREATE POLICY all_rows ON docs USING (true);
SELECT * FROM seen_by_writer('id, body');
