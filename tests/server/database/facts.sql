-- What is in the database of tables.sql: rows with their fingerprints, definitions, what searches find and by what
-- plans. Two databases that print the same are the same to their applications. It changes nothing.
\set ON_ERROR_STOP 1
\pset format unaligned
\pset tuples_only on
SET search_path = '';

\echo == the extension
SELECT nspname FROM pg_catalog.pg_extension JOIN pg_catalog.pg_namespace AS n ON n.oid = extnamespace
WHERE extname = 'pg_simhash';

\echo == rows: number, checksum of all columns (by name: those of an inheriting table come in another order from a dump)
SELECT pg_catalog.format('SELECT %1$L, count(*), md5(string_agg(row, E''\n'' ORDER BY row COLLATE "C"))
    FROM %1$s AS stored, LATERAL (SELECT to_jsonb(stored)::text) AS texts (row)', relation)
FROM pg_catalog.pg_class, LATERAL (SELECT oid::pg_catalog.regclass::text) AS names (relation)
WHERE relnamespace = 'app'::pg_catalog.regnamespace AND relkind IN ('r', 'p', 'm', 'v')
ORDER BY relation COLLATE "C"
\gexec

\echo == fingerprints that are not those of their texts: none
SELECT id, simhash FROM app.plain WHERE simhash IS DISTINCT FROM extensions.simhash(body);
SELECT id FROM app.covering WHERE simhash IS DISTINCT FROM extensions.simhash(body, '{"ngram": 2, "weight": "tf"}');
SELECT "Id" FROM app."Words of Texts" WHERE "Of Words" IS DISTINCT FROM extensions.simhash_of_features("All Words")
    OR of_lexemes IS DISTINCT FROM extensions.simhash(lexemes);
SELECT id, simhash FROM app.parts WHERE simhash IS DISTINCT FROM extensions.simhash(body);
SELECT id, simhash FROM app.parent WHERE simhash IS DISTINCT FROM extensions.simhash(body);

\echo == columns
SELECT relation, attname, pg_catalog.format_type(atttypid, atttypmod), attgenerated,
    pg_catalog.pg_get_expr(adbin, adrelid), pg_catalog.col_description(attrelid, attnum)
FROM pg_catalog.pg_attribute JOIN pg_catalog.pg_class AS c ON c.oid = attrelid
    LEFT JOIN pg_catalog.pg_attrdef ON adrelid = attrelid AND adnum = attnum,
    LATERAL (SELECT attrelid::pg_catalog.regclass::text) AS names (relation)
WHERE relnamespace = 'app'::pg_catalog.regnamespace AND relkind <> 'i' AND attnum > 0 AND NOT attisdropped
    AND (attgenerated <> '' OR pg_catalog.col_description(attrelid, attnum) IS NOT NULL)
ORDER BY relation COLLATE "C", attname;

\echo == indexes
SELECT definition, indisvalid, pg_catalog.obj_description(indexrelid, 'pg_class')
FROM pg_catalog.pg_index JOIN pg_catalog.pg_class AS c ON c.oid = indexrelid,
    pg_catalog.pg_get_indexdef(indexrelid) AS definition
WHERE relnamespace = 'app'::pg_catalog.regnamespace ORDER BY definition COLLATE "C";

\echo == triggers
SELECT relation, tgname, tgenabled, tgparentid <> 0, pg_catalog.pg_get_triggerdef(oid),
    pg_catalog.obj_description(oid, 'pg_trigger')
FROM pg_catalog.pg_trigger, LATERAL (SELECT tgrelid::pg_catalog.regclass::text) AS names (relation)
WHERE NOT tgisinternal OR tgparentid <> 0 AND tgname LIKE '%simhash%'
ORDER BY relation COLLATE "C", tgname;

\echo == plans
EXPLAIN (COSTS OFF) SELECT id FROM app.plain WHERE extensions.simhash_near(simhash, 42);
EXPLAIN (COSTS OFF) SELECT id FROM app.plain WHERE extensions.simhash_near(simhash, 42, 2);
EXPLAIN (COSTS OFF) SELECT id FROM app.covering WHERE extensions.simhash_near(simhash, 42, 2);
EXPLAIN (COSTS OFF) SELECT "Id" FROM app."Words of Texts" WHERE extensions.simhash_near("Of Words", 42);
EXPLAIN (COSTS OFF) SELECT id FROM app.parts WHERE extensions.simhash_near(simhash, 42);
EXPLAIN (COSTS OFF) SELECT id FROM app.parent WHERE extensions.simhash_near(simhash, 42);
EXPLAIN (COSTS OFF) SELECT id FROM app.by_hand WHERE extensions.simhash_near("Finger print", 42, 1);
EXPLAIN (COSTS OFF) SELECT id FROM app.expressions WHERE extensions.simhash_near(fingerprint, 42, 2);
EXPLAIN (COSTS OFF) SELECT id FROM app.online WHERE extensions.simhash_near(body, 'a text');
EXPLAIN (COSTS OFF) SELECT id FROM app.online_parts
WHERE extensions.simhash_near(body, 'a text', '{"resemblance": 0.7}');
EXPLAIN (COSTS OFF) SELECT id FROM app.letters
WHERE tenant = 4 AND extensions.simhash_near(app.lower_of("Subject") || ' ' || body, 'a text', '{"ngram": 2, "bands": 2}');
EXPLAIN (COSTS OFF) SELECT id FROM app.letters WHERE extensions.simhash_near(body, 'a text', '{"bands": 1}');
EXPLAIN (COSTS OFF) SELECT id FROM app.weighted
WHERE extensions.simhash_near(body, 'a text', '{"weights": {"and": 0, "more": 0.5}, "seed": 7}');
EXPLAIN (COSTS OFF) SELECT id FROM app.offers
WHERE extensions.simhash_near(body, 'a text', '{"resemblance": 0.9, "same": ["numbers"], "bands": 5}');
EXPLAIN (COSTS OFF) SELECT id FROM app.excerpts WHERE extensions.simhash_near(body, 'a text');
EXPLAIN (COSTS OFF) SELECT id FROM app.parent WHERE extensions.simhash_near(body, 'a text');
EXPLAIN (COSTS OFF) SELECT * FROM app.near_texts WHERE id = 42;
EXPLAIN (COSTS OFF) SELECT * FROM app.copies WHERE id = 42;
EXPLAIN (COSTS OFF) SELECT quoted_id FROM app.quotations WHERE id = 42;
EXPLAIN (COSTS OFF) SELECT id FROM app.plain ORDER BY simhash OPERATOR(extensions.<~>) 42 LIMIT 3;
EXPLAIN (COSTS OFF) SELECT id FROM app.parts ORDER BY simhash OPERATOR(extensions.<~>) 42 LIMIT 3;

\echo == searches
SELECT id, near_id, distance FROM app.near_texts WHERE id <> near_id AND id <= 100 ORDER BY id, near_id;
SELECT id, copy_id FROM app.copies WHERE id <> copy_id AND id <= 100 ORDER BY id, copy_id;
SELECT id, quoted_id FROM app.quotations WHERE id <> quoted_id AND id <= 100 ORDER BY id, quoted_id;
SELECT id, original FROM app.originals WHERE original IS NOT NULL AND id <= 100 ORDER BY id;
SELECT id FROM app.near(app.text_of(50)) AS id ORDER BY id;
SELECT distance FROM (SELECT simhash OPERATOR(extensions.<~>) 42 AS distance FROM app.plain ORDER BY 1 LIMIT 20) AS nearest;
SELECT distance FROM (SELECT simhash OPERATOR(extensions.<~>) 42 AS distance FROM app.parts ORDER BY 1 LIMIT 20) AS nearest;
SELECT blocks, indexed, probes, commonest, best FROM extensions.simhash_layouts('app.plain');
SELECT count(*), sum(a * b * distance)
FROM (SELECT array_agg(id ORDER BY id), array_agg(simhash ORDER BY id) FROM app.plain) AS arrays (ids, fingerprints),
    extensions.simhash_pairs(ids, fingerprints);
SELECT count(DISTINCT cluster), sum(cluster)
FROM (SELECT extensions.simhash_cluster(id, extensions.simhash(body)) OVER (ORDER BY id) AS cluster FROM app.skipped) AS clusters;
SELECT count(original), sum(original)
FROM (SELECT extensions.simhash_duplicate_of(id, body) OVER (ORDER BY id) AS original FROM app.skipped) AS originals;
RESET search_path;
