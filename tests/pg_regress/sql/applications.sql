-- What applications do to attached tables: the statements of their frameworks, in each way to attach.
CREATE TABLE app_columns (id integer PRIMARY KEY, body text);
CREATE TABLE app_expressions (id integer PRIMARY KEY, body text);
SELECT simhash_attach('app_columns', 'body', blocks => 2), simhash_attach('app_expressions', 'body', blocks => 2, columns => false);
SELECT simhash_guard('app_columns'), simhash_guard('app_expressions');
INSERT INTO app_columns VALUES (1, 'one text');
INSERT INTO app_expressions VALUES (1, 'one text');

-- Whole rows are written back, as Directus does to revert a change.
SELECT errors($$UPDATE app_columns SET (id, body, simhash, simhash_block0) =
        (SELECT 1, 'other text', simhash, simhash_block0 FROM app_columns)$$,
    $$UPDATE app_expressions SET (id, body) = (SELECT 1, 'other text')$$);

-- A column gets the type that it has, as from knex's alter() and Sequelize's sync({ alter: true }).
SELECT errors('ALTER TABLE app_columns ALTER body TYPE text USING (body::text)',
    'ALTER TABLE app_expressions ALTER body TYPE text');

-- The column of the text is renamed.
ALTER TABLE app_columns RENAME body TO content;
ALTER TABLE app_expressions RENAME body TO content;
SELECT errors($$INSERT INTO app_columns (id, content) VALUES (2, 'one other text')$$,
    $$INSERT INTO app_expressions (id, content) VALUES (2, 'one other text')$$);
-- A guard by the text's column is made again.
SELECT simhash_guard('app_expressions');
INSERT INTO app_expressions (id, content) VALUES (2, 'one other text');

-- What the schema of the application does not have is dropped. First the indexes, as by drizzle-kit push.
SELECT format('DROP INDEX %s', indexrelid::regclass) FROM pg_index
WHERE indrelid = ANY('{app_columns,app_expressions}'::regclass[]) AND NOT indisprimary ORDER BY 1 \gexec
SELECT errors($$INSERT INTO app_columns (id, content) VALUES (3, 'a third text')$$,
    $$INSERT INTO app_expressions (id, content) VALUES (3, 'a third text')$$);
SELECT simhash_attach('app_columns', 'content', blocks => 2);
SELECT simhash_attach('app_expressions', 'content', blocks => 2, columns => false);
SELECT errors($$INSERT INTO app_columns (id, content) VALUES (3, 'a third text')$$,
    $$INSERT INTO app_expressions (id, content) VALUES (3, 'a third text')$$);

-- Then the columns, as by TypeORM's synchronize and by Sequelize. The triggers stay.
ALTER TABLE app_columns DROP simhash, DROP simhash_block0, DROP simhash_block1;
SELECT errors($$INSERT INTO app_columns (id, content) VALUES (4, 'the fourth one')$$,
    $$INSERT INTO app_expressions (id, content) VALUES (4, 'the fourth one')$$);
SELECT simhash_attach('app_columns', 'content', blocks => 2);
SELECT simhash_attach('app_expressions', 'content', blocks => 2, columns => false);
SELECT errors($$INSERT INTO app_columns (id, content) VALUES (4, 'the fourth one')$$,
    $$INSERT INTO app_expressions (id, content) VALUES (4, 'the fourth one')$$,
    $$INSERT INTO app_columns (id, content) VALUES (5, 'the fourth one')$$,
    $$INSERT INTO app_expressions (id, content) VALUES (5, 'the fourth one')$$);
-- Comments of other tools, such as PostGraphile's, can have the mark of simhash_attach as a line.
SET client_min_messages = notice;
CREATE TABLE app_comments (body text);
SELECT simhash_attach('app_comments', 'body', blocks => 2);
SELECT format('COMMENT ON COLUMN app_comments.%I IS %L', attname, '@omit')
FROM pg_attribute WHERE attrelid = 'app_comments'::regclass AND attname LIKE 'simhash%' ORDER BY attnum \gexec
SELECT errors($$SELECT simhash_detach('app_comments')$$);
SELECT errors($$SELECT simhash_detach('app_comments')$$);
COMMENT ON COLUMN app_comments.simhash IS E'@omit\nmade by simhash_attach, prefix simhash: fingerprint of body';
SELECT simhash_detach('app_comments');
COMMENT ON COLUMN app_comments.simhash_block0 IS E'@omit\nmade by simhash_attach, prefix simhash: ';
COMMENT ON COLUMN app_comments.simhash_block1 IS E'\n\nmade by simhash_attach, prefix simhash: \nmore';
SELECT simhash_detach('app_comments');

-- A partition that was created after simhash_attach has no comments when it is a table of its own.
SET client_min_messages = warning;
CREATE TABLE app_parts (id integer, body text) PARTITION BY RANGE (id);
SELECT simhash_attach('app_parts', 'body', blocks => 2);
CREATE TABLE app_part PARTITION OF app_parts FOR VALUES FROM (0) TO (10);
ALTER TABLE app_parts DETACH PARTITION app_part;
SELECT errors($$SELECT simhash_detach('app_part')$$);
