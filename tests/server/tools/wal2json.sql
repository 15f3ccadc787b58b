-- Unlike logical replication, wal2json and test_decoding send generated columns, which a receiver must leave out.
CREATE TABLE docs (id integer PRIMARY KEY, body text);
SET client_min_messages = warning;
SELECT simhash_attach('docs', 'body', blocks => 2);
SELECT simhash_guard('docs', 'skip', '{"resemblance": null}', source => 'simhash');
SELECT pg_create_logical_replication_slot('json', 'wal2json') IS NOT NULL AS json,
    pg_create_logical_replication_slot('test', 'test_decoding') IS NOT NULL AS test;
INSERT INTO docs VALUES (1, 'a text'), (2, 'a text');
SELECT jsonb_path_query(data::jsonb, '$.change[*]') - 'columntypes' AS change
FROM pg_logical_slot_get_changes('json', NULL, NULL);
SELECT data FROM pg_logical_slot_get_changes('test', NULL, NULL) WHERE data LIKE 'table%';
SELECT pg_drop_replication_slot('json'), pg_drop_replication_slot('test');
