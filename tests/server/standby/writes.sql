-- What writes, tried on a standby.
\set VERBOSITY verbose
\pset format unaligned
\pset tuples_only on
INSERT INTO app.rejected VALUES (10042, app.text_of(42));
INSERT INTO app.skipped (id, body) VALUES (10042, app.text_of(42));
UPDATE app.marked SET body = 'other' WHERE id = 42;
SELECT extensions.simhash_attach('app.texts', 'body');
SELECT extensions.simhash_attach('app.plain', 'body');
SELECT extensions.simhash_attach('app.texts', 'body', columns => false);
SELECT extensions.simhash_detach('app.plain');
SELECT extensions.simhash_guard('app.plain');
SELECT extensions.simhash_guard('app.rejected');
SELECT extensions.simhash_unguard('app.rejected');
-- These only read.
SELECT extensions.simhash_index_commands('app.plain', 'body', blocks => 3) LIMIT 1;
-- Of unlogged tables, a standby has nothing.
SELECT count(*) FROM public.unlogged WHERE extensions.simhash_near(f, 1);
SELECT count(*) FROM extensions.simhash_layouts('public.unlogged', 'f');
