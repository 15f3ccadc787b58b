-- simhash_guard: its refusals, and the errors of a trigger that cannot work.
CREATE TABLE docs (id integer PRIMARY KEY, body text, shape point, stamp json, same_as integer, wide bigint,
    tenant text, upper_tenant text GENERATED ALWAYS AS (upper(tenant)) STORED,
    twice integer GENERATED ALWAYS AS (2) STORED);
SELECT simhash_guard('docs');
SELECT simhash_index('docs', 'body');

SELECT errors(
    'SELECT simhash_guard(NULL)',
    'SELECT simhash_guard(0)',
    'SELECT simhash_guard(''docs'', ''refuse'')',
    'SELECT simhash_guard(''docs'', criterion => ''{"resemblance": 1.01}'')',
    'SELECT simhash_guard(''docs'', criterion => ''{"max_distance": 65}'')',
    'SELECT simhash_guard(''docs'', scope => ''{NULL}'')',
    'SELECT simhash_guard(''docs'', scope => ''{tenants}'')',
    'SELECT simhash_guard(''docs'', scope => ''{stamp}'')',
    'SELECT simhash_guard(''docs'', scope => ''{shape}'')',
    'SELECT simhash_guard(''docs'', scope => ''{upper_tenant}'')',
    'SELECT simhash_guard(''docs'', scope => ''{ctid}'')',
    'SELECT simhash_guard(''docs'', scope => ARRAY[repeat(''é'', 32)])',
    'SELECT simhash_guard(''docs'', scope => array_fill(''tenant''::text, ARRAY[1601]))',
    'SELECT simhash_guard(''docs'', source => ''print'')',
    'SELECT simhash_guard(''docs'', source => ''wide'')',
    'SELECT simhash_guard(''docs'', source => ''shape'')',
    'SELECT simhash_guard(''docs'', ''mark'')',
    'SELECT simhash_guard(''docs'', ''mark'', mark_column => ''dup_of'')',
    'SELECT simhash_guard(''docs'', ''mark'', mark_column => ''wide'')',
    'SELECT simhash_guard(''docs'', ''mark'', mark_column => ''twice'')',
    'SELECT simhash_guard(''docs'', ''skip'', mark_column => ''same_as'')',
    'SELECT simhash_unguard(NULL)',
    'SELECT simhash_unguard(''docs'')',
    'SELECT simhash_unguard(''pg_class'')',
    'SELECT simhash_guard(''pg_class'')',
    'SELECT simhash_guard(''docs_pkey'')',
    'SELECT simhash_dedup()');
-- A refused call leaves nothing behind.
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'docs'::regclass;

-- Views cannot be guarded, nor a table that others inherit from. One that inherits can.
CREATE VIEW view AS SELECT * FROM docs;
CREATE MATERIALIZED VIEW materialized AS SELECT * FROM docs;
CREATE TABLE parent (id integer PRIMARY KEY, body text);
CREATE TABLE child () INHERITS (parent);
SELECT errors(
    'SELECT simhash_guard(''view'')',
    'SELECT simhash_guard(''materialized'')',
    'SELECT simhash_guard(''child'')',
    'SELECT simhash_index(''parent'', ''body'')',
    'SELECT simhash_guard(''parent'')');

-- No usable index, at first or later.
CREATE TABLE indexed (id integer PRIMARY KEY, f bigint);
INSERT INTO indexed VALUES (1, 0);
SELECT errors('SELECT simhash_guard(''indexed'', source => ''f'')');
SELECT simhash_attach('indexed', 'f'), simhash_guard('indexed', source => 'f');
-- One remaining block suffices, with more probes.
BEGIN;
DROP INDEX indexed_simhash_block0_idx, indexed_simhash_block1_idx, indexed_simhash_block3_idx;
SELECT errors('INSERT INTO indexed VALUES (2, -1)', 'INSERT INTO indexed VALUES (3, 7::bigint << 16)',
    'INSERT INTO indexed VALUES (3, 7::bigint << 32)', 'INSERT INTO indexed VALUES (3, 15)');
DROP INDEX indexed_simhash_block2_idx;
SELECT errors('INSERT INTO indexed VALUES (4, 255)', 'INSERT INTO indexed VALUES (4, 0)',
    'INSERT INTO indexed VALUES (4, NULL)', 'UPDATE indexed SET f = 255 WHERE id = 2',
    'UPDATE indexed SET id = 5 WHERE id = 2', 'DELETE FROM indexed WHERE id = 2',
    'SELECT simhash_guard(''indexed'', ''skip'', source => ''f'')');
-- Each of these indexes lacks rows or the fingerprint, or cannot be searched by the block.
CREATE INDEX partial ON indexed (simhash_block(f, 2), f) WHERE id > 0;
CREATE INDEX plain ON indexed (simhash_block(f, 2));
CREATE INDEX hashed ON indexed USING hash (simhash_block(f, 2));
CREATE INDEX second ON indexed (id, simhash_block(f, 2), f);
CREATE INDEX invalid ON indexed (simhash_block(f, 2), f);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'invalid'::regclass;
SELECT errors('INSERT INTO indexed VALUES (6, 255)');
CREATE INDEX whole ON indexed (simhash_block(f, 2) DESC, id, f);
SELECT errors('INSERT INTO indexed VALUES (6, 255)', 'INSERT INTO indexed VALUES (7, 254)');
ROLLBACK;
-- Indexes that a prepared statement uses may be dropped, and others created.
PREPARE store AS INSERT INTO indexed VALUES ($1, $2);
EXECUTE store (10, -1);
DROP INDEX indexed_simhash_block0_idx, indexed_simhash_block1_idx;
SELECT errors('EXECUTE store (11, -2)');
EXECUTE store (11, 255);
DROP INDEX indexed_simhash_block2_idx, indexed_simhash_block3_idx;
SELECT errors('EXECUTE store (12, 254)');
CREATE INDEX ON indexed (simhash_block(f, 1, 3), f);
SELECT errors('EXECUTE store (12, 254)');
EXECUTE store (12, -256);
SELECT id, f FROM indexed ORDER BY id;
-- A trigger that is created by hand with wrong arguments, or for other events, fails when it fires.
CREATE TABLE by_hand (id integer PRIMARY KEY, f bigint, same_as integer);
SELECT simhash_attach('by_hand', 'f');
SELECT errors(VARIADIC array_agg(format('CREATE TRIGGER hand BEFORE INSERT ON by_hand FOR EACH ROW
    EXECUTE FUNCTION simhash_dedup(%s); INSERT INTO by_hand VALUES (1, 0)', arguments)))
FROM unnest(ARRAY['', $$'reject', '3'$$, $$'no', '3', 'f'$$, $$'reject', '3', 'f'$$,
    $$'reject', '{"max_distance": 65}', 'f'$$,
    $$'reject', '{}', 'f'$$, $$'reject', '{"resemblance": null}', 'g'$$, $$'reject', '{"resemblance": null}', 'id'$$,
    $$'reject', '{"resemblance": null}', 'f', 'same_as'$$, $$'mark', '{"resemblance": null}', 'f'$$,
    $$'reject', '{"resemblance": null}', 'f', '', 'g'$$, $$'reject', '{"resemblance": null}', 'f', '', '', 'true', ''$$
]) AS arguments;
SELECT errors(VARIADIC array_agg(format($$CREATE TRIGGER hand %s
    EXECUTE FUNCTION simhash_dedup('reject', '{"resemblance": null}', 'f'); %s$$, definition, statement)))
FROM (VALUES ('BEFORE INSERT ON by_hand', 'INSERT INTO by_hand VALUES (1, 0)'),
    ('AFTER INSERT ON by_hand FOR EACH ROW', 'INSERT INTO by_hand VALUES (1, 0)'),
    ('BEFORE DELETE ON by_hand FOR EACH ROW', 'INSERT INTO by_hand VALUES (1, 0); DELETE FROM by_hand'),
    ('BEFORE TRUNCATE ON by_hand', 'TRUNCATE by_hand')) AS t (definition, statement);
-- Names with all kinds of special characters.
CREATE TABLE "a ""b"" 100%s" ("the %d id" integer PRIMARY KEY, "f ""'\" bigint, "in 'all'" text);
SELECT simhash_attach('"a ""b"" 100%s"', 'f "''\');
SELECT simhash_guard('"a ""b"" 100%s"', scope => ARRAY['in ''all''', 'in ''all'''], source => 'f "''\');
SELECT errors('INSERT INTO "a ""b"" 100%s" VALUES (1, 0, ''%s''), (2, 1, ''%s'')');
