-- simhash_probes: the values to look up in a block, so that no fingerprint within the distance is missed.
SELECT max_distance, blocks,
    array_agg(cardinality(simhash_probes(81985529216486895, block, blocks, max_distance)) ORDER BY block) AS probes
FROM unnest(ARRAY[0, 2, 3, 5]) max_distance, unnest(ARRAY[2, 3, 4, 8]) blocks,
    LATERAL generate_series(0, blocks - 1) block
GROUP BY max_distance, blocks ORDER BY max_distance, blocks;
SELECT simhash_probes(81985529216486895, 0, 4, 3) AS equal, to_hex(unnest(simhash_probes(0, 7, 8, 15))) AS one_bit;
SELECT array_length(simhash_probes(-1, 0, 2, 3), 1), -1 = ANY (simhash_probes(-1, 0, 2, 3)) AS itself,
    x'7fffffff'::int = ANY (simhash_probes(-1, 0, 2, 3)) AS sign_flipped;

-- Below 0 nothing is near; from 64 on everything is.
SELECT simhash_probes(5, 0, 4, -1) AS minus_one, simhash_probes(5, 0, 4, -2147483648) AS least,
    cardinality(simhash_probes(5, 0, 8, 64)) AS all, cardinality(simhash_probes(5, 0, 8, 2147483647)) AS greatest,
    cardinality(simhash_probes(5, 0, 2, 11)) AS many;
