-- Calls of all functions that 0.4.0 has added. Their results are 0.4.0.calls.out.
\echo near by radii
SELECT simhash_near(0, 7, 10, '{0,0,0,0}') AS equal_blocks, simhash_near(-1, 0, 64, '{1,1,1,1}') AS none;
\echo searches by radii
CREATE TEMP TABLE fingerprints (f bigint);
SELECT blocks, probes, within, radii, found FROM simhash_skew('fingerprints', 'f', NULL);
\echo fingerprints in digits
SELECT simhash_from_hex('ffFF000000000000') AS digits, simhash_from_hex('f') AS one, simhash_from_hex('no') AS none;
\echo clusters and duplicates by radii
SELECT id, simhash_cluster(fp, 'a', radii => '{0,0,0,0}') OVER docs AS cluster, simhash_duplicate_of(fp, 'a') OVER docs AS duplicate_of
FROM (VALUES (1, 0), (2, x'0001000100010001'::bigint), (3, 1)) AS docs (id, fp) WINDOW docs AS (ORDER BY id) ORDER BY id;
\echo what texts have in common, and what not
SELECT simhash_resemblance('4,000 tonnes', '5,000 tonnes', '{"numbers": "same"}') AS resemblance,
    simhash_containment('tonnes', '5,000 tonnes') AS containment;
SELECT * FROM simhash_difference('4,000 tonnes', '5,000 tonnes');
