-- The planner simplifies conditions of other queries as if they belonged to the one being planned. Their columns must
-- not be mistaken for columns of that query: here, columns of a table with its fingerprint in the same place, and other
-- numbers where the first table has its blocks. Random queries of such tables, and policies, are in tests/load/queries.
CREATE TABLE docs (id integer PRIMARY KEY, body text);
SELECT simhash_attach('docs', 'body');
INSERT INTO docs SELECT n, 'word' || n || ' foo' || n * 7 || ' bar ' || n % 13 FROM generate_series(1, 5000) n;
VACUUM ANALYZE docs;
CREATE TABLE other (id integer, k integer, simhash bigint, a integer DEFAULT -1, b integer DEFAULT -1,
    c integer DEFAULT -1, d integer DEFAULT -1);
CREATE INDEX ON other (k);
INSERT INTO other SELECT n, n, (SELECT simhash FROM docs WHERE id = 42) FROM generate_series(1, 50) n;
CREATE TABLE numbers (id integer);
INSERT INTO numbers SELECT generate_series(1, 100);
ANALYZE other, numbers;
SELECT simhash AS q FROM docs WHERE id = 42 \gset

-- Functions that the planner inlines; one takes a whole row.
CREATE FUNCTION is_near(f bigint, q bigint) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT simhash_near(f, q, 3)';
CREATE FUNCTION has_near(o other, q bigint) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT is_near(o.simhash, q)';

-- EXISTS in a query's output: 50 rows for each.
SELECT count(*) FILTER (WHERE found)
FROM (SELECT EXISTS (SELECT FROM other o WHERE o.k = x.id AND has_near(o, :q)) FROM docs x OFFSET 0) s (found);
-- In a sub-query below an outer join, referred to by a lateral one: PostgreSQL simplifies such expressions late, when
-- it already treats the arms of UNION ALL as members of one table.
CREATE TABLE one (x integer);
INSERT INTO one VALUES (1);
SELECT tables, value_of(format($$
    SELECT count(*) FROM one LEFT JOIN (
        SELECT numbers.id, EXISTS (
            SELECT FROM %s, other o WHERE o.k = numbers.id AND simhash_near(o.simhash, %s)) AS found FROM numbers
    ) s ON true,
    LATERAL (SELECT s.found AS f, x.x FROM one x WHERE s.found OFFSET 0) l,
    (SELECT id, simhash FROM docs UNION ALL SELECT id, simhash FROM docs) u
    WHERE l.f AND u.id = 1 $$, (SELECT string_agg('one o' || n, ', ') FROM generate_series(1, tables) n), :q))
FROM generate_series(7, 10) tables;

-- A query's own conditions still use the indexes, in a sub-select too. (Other queries: near_plans.)
SELECT is_searched(format('SELECT id FROM docs WHERE is_near(simhash, %s)', :q));
SELECT is_searched(format($$
    SELECT EXISTS (SELECT FROM docs x WHERE x.id = docs.id AND simhash_near(x.simhash, %s)) FROM docs
    WHERE simhash_near(docs.simhash, %s) $$, :q, :q));
