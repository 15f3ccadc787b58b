-- What the database of tables.sql promises, tried: guards let no near-duplicate in and let others in; pg_simhash knows
-- what it has made. Nothing of it stays. To be run by a superuser, for session_replication_role.
\set ON_ERROR_STOP 0
\pset format unaligned
\pset tuples_only on
SET client_min_messages = notice;
SET search_path = '';

\echo == a near-duplicate and another text
CREATE TEMPORARY TABLE tried AS
SELECT 42 + 10000 AS id, app.text_of(42) || ' And more.' AS body UNION ALL SELECT 20001, app.text_of(20001);
BEGIN;
SAVEPOINT s;
INSERT INTO app.rejected SELECT * FROM tried WHERE id = 10042;
ROLLBACK TO s;
SET LOCAL session_replication_role = replica;
INSERT INTO app.rejected SELECT * FROM tried WHERE id = 10042;
ROLLBACK TO s;
INSERT INTO app.rejected SELECT * FROM tried WHERE id = 20001 RETURNING id, simhash;
UPDATE app.rejected SET body = app.text_of(42) WHERE id = 43;
ROLLBACK TO s;
INSERT INTO app.skipped (id, body) SELECT id, body FROM tried RETURNING id;
INSERT INTO app.marked SELECT id, 'tenant', NULL, body FROM tried RETURNING id, "like";
INSERT INTO app.marked SELECT id + 1, 'other tenant', NULL, body FROM tried RETURNING id, "like";
INSERT INTO app.guarded_parts SELECT * FROM tried WHERE id = 20001 RETURNING id;
INSERT INTO app.guarded_parts SELECT * FROM tried WHERE id = 10042;
ROLLBACK TO s;
INSERT INTO app.guarded_parts_1 VALUES (10043, app.text_of(42));
ROLLBACK TO s;
INSERT INTO app.covering SELECT * FROM tried RETURNING id;
INSERT INTO app.offers (id, body) SELECT id, body FROM tried RETURNING id, near;
INSERT INTO app.offers (id, body) VALUES (20003, app.text_of(43) || ' 7') RETURNING id, near;
UPDATE app.offers SET live = false WHERE id = 43;
INSERT INTO app.offers (id, body) VALUES (20004, app.text_of(43)) RETURNING id, near;
INSERT INTO app.offers (id, body, checked) VALUES (20005, app.text_of(43), true) RETURNING id, near;
INSERT INTO app.disabled SELECT * FROM tried RETURNING id;
INSERT INTO app.secured SELECT * FROM tried WHERE id = 10042;
ROLLBACK TO s;
SET LOCAL ROLE reader;
INSERT INTO app.secured VALUES (10042, app.text_of(42));
ROLLBACK TO s;
UPDATE app.online SET body = 'another text' WHERE id = 42;
SELECT id FROM app.online WHERE extensions.simhash_near(body, 'Another text.');
ROLLBACK;
DROP TABLE tried;

\echo == what is made already, and taken away
BEGIN;
SELECT extensions.simhash_attach('app.plain', 'body');
SELECT extensions.simhash_attach('app.covering', 'body', blocks => 3, options => '{"ngram": 2, "weight": "tf"}');
SELECT extensions.simhash_attach('app.parts', 'body');
SELECT extensions.simhash_index('app.online', 'body');
SELECT count(*) FROM extensions.simhash_index_commands('app.online_parts', 'body', bands => 12);
SELECT extensions.simhash_index('app.letters', $$app.lower_of("Subject") || ' ' || body$$, '{"ngram": 2}', 2, '{tenant}');
SELECT extensions.simhash_guard('app.rejected', criterion => '{"resemblance": null}', source => 'simhash');
SELECT extensions.simhash_guard('app.marked', 'mark', '{"resemblance": 0.7}', '{Tenant,lang}', mark_column => 'like');
SELECT extensions.simhash_guard('app.offers', 'mark', '{"resemblance": 0.9, "same": ["numbers"], "bands": 5}',
    among => 'live', mark_column => 'near', unless => 'checked');
SET LOCAL client_min_messages = warning; -- The NOTICEs of what is dropped come in the order that it was made in.
SELECT extensions.simhash_unguard('app.rejected');
SELECT extensions.simhash_detach('app.rejected');
SELECT extensions.simhash_unguard('app.guarded_parts');
SELECT extensions.simhash_detach('app.parent');
SELECT relname, attname
FROM pg_catalog.pg_attribute JOIN pg_catalog.pg_class AS c ON c.oid = attrelid
WHERE attrelid IN ('app.rejected'::pg_catalog.regclass, 'app.child'::pg_catalog.regclass) AND attnum > 0
    AND NOT attisdropped
ORDER BY relname, attnum;
ROLLBACK;
RESET search_path;
