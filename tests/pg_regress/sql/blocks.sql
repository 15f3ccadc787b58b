-- simhash_block: a fingerprint cut into 2 to 8 blocks, the most significant first.
SELECT x'0123456789abcdef'::bigint AS fingerprint \gset
SELECT blocks, array_agg(to_hex(simhash_block(:fingerprint, block, blocks)) ORDER BY block) AS hexadecimal
FROM generate_series(2, 8) blocks, LATERAL generate_series(0, blocks - 1) block GROUP BY blocks ORDER BY blocks;

-- Blocks are numbered from 0; a 32-bit block is a signed integer. Four blocks are the default.
SELECT simhash_block(-1, 0, 2) AS half, simhash_block(-1, 0, 3) AS first_third, simhash_block(-1, 2, 3) AS last_third,
    simhash_block(-1, 3) AS quarter, simhash_block(-1, 3, 4) AS "the same", simhash_block(-1, 7, 8) AS eighth,
    simhash_block(-9223372036854775808, 0, 2) AS least, simhash_block(9223372036854775807, 0, 2) AS greatest;
SELECT simhash_block(fingerprint => :fingerprint, block => 1, blocks => 4) = x'4567'::int AS named;

-- NULL in, NULL out.
SELECT simhash_block(NULL, 0) IS NULL AND simhash_block(1, NULL) IS NULL AND simhash_block(1, 0, NULL) IS NULL
    AND simhash_probes(NULL, 0, 4, 3) IS NULL AND simhash_probes(1, NULL, 4, 3) IS NULL
    AND simhash_probes(1, 0, NULL, 3) IS NULL AND simhash_probes(1, 0, 4, NULL) IS NULL AS nulls;
