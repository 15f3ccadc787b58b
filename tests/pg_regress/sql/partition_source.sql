-- Since PostgreSQL 16: a partition whose generated column has another expression than that of the table.
CREATE TABLE pages (id integer, part integer, a text, b text, body text GENERATED ALWAYS AS (a || '.') STORED)
    PARTITION BY LIST (part);
CREATE TABLE pages_1 PARTITION OF pages FOR VALUES IN (1);
CREATE TABLE pages_2 (id integer, part integer, a text, b text, body text GENERATED ALWAYS AS (b || '.') STORED);
ALTER TABLE pages ATTACH PARTITION pages_2 FOR VALUES IN (2);
-- The partition would get fingerprints of another text, and a guard would compare another text.
SELECT errors($$SELECT simhash_attach('pages', 'body')$$);
SELECT simhash_index('pages', 'body');
SELECT errors($$SELECT simhash_guard('pages')$$);
-- An expression is accepted if it is the same, also if the columns are in another order.
ALTER TABLE pages DETACH PARTITION pages_2;
CREATE TABLE pages_3 (b text, body text GENERATED ALWAYS AS (a || '.') STORED, a text, part integer, id integer);
ALTER TABLE pages ATTACH PARTITION pages_3 FOR VALUES IN (3);
SELECT simhash_attach('pages', 'body', blocks => 2);
SELECT simhash_index('pages', 'body'), simhash_guard('pages');
