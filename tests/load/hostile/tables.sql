-- Tables and what is like them, of every kind that PostgreSQL has, in the schema "hostile"; some of them attached.
DO $$ BEGIN
    CREATE ROLE hostile_user;
EXCEPTION WHEN duplicate_object OR unique_violation THEN END $$;
CREATE SCHEMA hostile;
CREATE DOMAIN hostile.positive AS integer CHECK (VALUE > 0);
CREATE TYPE hostile.composite AS (number integer, word text);
GRANT USAGE, CREATE ON SCHEMA hostile TO hostile_user;
CREATE DOMAIN hostile.domained AS text CHECK (VALUE <> 'forbidden');

-- What expressions are computed of: short and long, compressed, stored elsewhere, and NULL.
CREATE TABLE hostile.rows (
    id serial PRIMARY KEY, text_value text, text_external text, text_main text, jsonb_value jsonb,
    integer_value integer, bigint_value bigint, double_value double precision, boolean_value boolean, name_value name,
    text_array text[], double_array double precision[], bigint_array bigint[], tsvector_value tsvector,
    regclass_value regclass, bytea_value bytea
);
ALTER TABLE hostile.rows ALTER text_external SET STORAGE EXTERNAL, ALTER text_main SET STORAGE MAIN;
INSERT INTO hostile.rows (
    text_value, text_external, text_main, jsonb_value, integer_value, bigint_value, double_value, boolean_value,
    name_value, text_array, double_array, bigint_array, tsvector_value, regclass_value, bytea_value
)
SELECT body, body, body,
    CASE n % 3 WHEN 0 THEN '{}' WHEN 1 THEN '{"ngram": 2}' ELSE '{"tokens": "chars", "ngram": 5}' END::jsonb,
    (n % 10)::integer, ('x' || left(md5((n / 2)::text), 16))::bit(64)::bigint, n / 7.0, n % 2 = 0, 'body', words,
    array_fill(n::float8, ARRAY[20]), array_fill(n::bigint, ARRAY[20]), to_tsvector('simple', left(body, 10000)),
    'pg_class', convert_to(left(body, 50), 'UTF8')
FROM generate_series(1, 40) AS n,
    LATERAL (SELECT CASE WHEN n % 9 = 0 THEN repeat(md5(n::text) || ' ', 4000) WHEN n % 11 = 0 THEN ''
        ELSE repeat('word' || n || ' another ', n * n) END AS body) AS texts,
    LATERAL (SELECT array_agg('w' || i) AS words FROM generate_series(1, 20) AS i) AS lists;
INSERT INTO hostile.rows DEFAULT VALUES;
INSERT INTO hostile.rows (text_value) SELECT string_agg(md5(i::text), ' ') FROM generate_series(1, 5000) AS i;

CREATE TABLE hostile.plain (
    id integer PRIMARY KEY, body text, "Body" varchar(100), c char(20), f bigint, features text[], document tsvector,
    domained hostile.domained, composed hostile.composite
);
INSERT INTO hostile.plain (id, body, "Body", c, f, features, document, domained, composed)
SELECT id, left(text_value, 10000), left(text_value, 100), left(text_value, 20), bigint_value, text_array,
    tsvector_value, left(text_value, 10), ROW(integer_value, left(text_value, 5))::hostile.composite
FROM hostile.rows;
CREATE TABLE hostile.no_columns ();
INSERT INTO hostile.no_columns DEFAULT VALUES;
CREATE TABLE hostile.no_key AS SELECT * FROM hostile.plain;
CREATE TABLE hostile."odd "" 'name'" (
    id integer PRIMARY KEY, body text, "a""b" text, "a'b" text, " " text, "%s" bigint, "$1" text
);
CREATE TABLE hostile."xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" (
    id integer PRIMARY KEY, body text, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" text
);
CREATE TABLE hostile.partitioned (id integer, body text, f bigint, PRIMARY KEY (id)) PARTITION BY RANGE (id);
CREATE TABLE hostile.partition_1 PARTITION OF hostile.partitioned FOR VALUES FROM (0) TO (10);
CREATE TABLE hostile.partition_2 PARTITION OF hostile.partitioned FOR VALUES FROM (10) TO (30) PARTITION BY LIST (id);
CREATE TABLE hostile.leaf (f bigint, gone integer, body text, id integer NOT NULL);
ALTER TABLE hostile.leaf DROP gone;
ALTER TABLE hostile.partition_2 ATTACH PARTITION hostile.leaf DEFAULT;
INSERT INTO hostile.partitioned SELECT id, left(text_value, 100), bigint_value FROM hostile.rows WHERE id < 30;
CREATE TABLE hostile.parent (id integer, body text, f bigint);
CREATE TABLE hostile.child (more text) INHERITS (hostile.parent);
INSERT INTO hostile.child SELECT id, left(text_value, 100), bigint_value, 'more' FROM hostile.rows;
CREATE VIEW hostile.viewed AS SELECT id, body, f FROM hostile.plain;
CREATE MATERIALIZED VIEW hostile.materialized AS SELECT id, body, f FROM hostile.plain;
CREATE SEQUENCE hostile.sequence;
CREATE FOREIGN DATA WRAPPER hostile;
CREATE SERVER hostile FOREIGN DATA WRAPPER hostile;
CREATE FOREIGN TABLE hostile.foreign_table (id integer, body text, f bigint) SERVER hostile;
CREATE TABLE hostile.dropped_columns (a integer, id integer PRIMARY KEY, b text, body text, c bigint, f bigint);
INSERT INTO hostile.dropped_columns SELECT 1, id, 'b', body, f, f FROM hostile.plain;
ALTER TABLE hostile.dropped_columns DROP a, DROP b, DROP c;
CREATE TABLE hostile.generated_columns (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, raw text,
    body text GENERATED ALWAYS AS (left(raw, 1000)) STORED,
    f bigint GENERATED ALWAYS AS (length(raw)) STORED
);
DO $$ BEGIN
    EXECUTE 'CREATE TABLE hostile.wide (id integer PRIMARY KEY, body text, f bigint, '
        || (SELECT string_agg('c' || i || ' boolean', ', ') FROM generate_series(1, 1595) AS i) || ')';
END $$;
CREATE TABLE hostile.secured (id integer PRIMARY KEY, body text, f bigint, owner name DEFAULT current_user);
ALTER TABLE hostile.secured ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON hostile.secured USING (owner = current_user);
GRANT ALL ON hostile.secured TO hostile_user;
CREATE VIEW hostile.updatable AS SELECT id, body, f FROM hostile.plain WHERE simhash_near(f, 0, 64);
CREATE TEMPORARY TABLE IF NOT EXISTS temporary (id integer PRIMARY KEY, body text, f bigint);

CREATE TABLE hostile.attached (LIKE hostile.plain INCLUDING ALL);
INSERT INTO hostile.attached SELECT * FROM hostile.plain;
CREATE TABLE hostile.guarded (id integer PRIMARY KEY, body text, mark integer);
CREATE TABLE hostile.indexed (LIKE hostile.plain INCLUDING ALL);
INSERT INTO hostile.indexed SELECT * FROM hostile.plain;
SELECT simhash_attach('hostile.attached', 'body'),
    simhash_attach('hostile.attached', 'f', blocks => 2, prefix => 'p'),
    simhash_index('hostile.guarded', 'body'), simhash_guard('hostile.guarded', 'mark', mark_column => 'mark'),
    simhash_index('hostile.indexed', 'body'),
    simhash_index('hostile.indexed', $$coalesce(body, '') || c$$, '{"ngram": 2}', bands => 2, scope => '{id}');
