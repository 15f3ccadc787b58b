-- simhash_probes: the values to look up in a block, so that no fingerprint within the distance is missed.
SELECT max_distance, blocks,
    array_agg(cardinality(simhash_probes(81985529216486895, block, blocks, max_distance)) ORDER BY block) AS probes
FROM unnest(ARRAY[0, 2, 3, 5]) max_distance, unnest(ARRAY[2, 3, 4, 8]) blocks,
    LATERAL generate_series(0, blocks - 1) block
GROUP BY max_distance, blocks ORDER BY max_distance, blocks;
SELECT simhash_probes(81985529216486895, 0, 4, 3) AS equal, to_hex(unnest(simhash_probes(0, 7, 8, 15))) AS one_bit;
SELECT array_length(simhash_probes(-1, 0, 2, 3), 1), -1 = ANY (simhash_probes(-1, 0, 2, 3)) AS itself,
    x'7fffffff'::int = ANY (simhash_probes(-1, 0, 2, 3)) AS sign_flipped;

-- The values within r bits of the block, for the radius r of the pigeonhole principle: as many as there are, each once,
-- and no others.
CREATE TEMP TABLE searches AS
SELECT max_distance, blocks, block, 64 / blocks + CASE WHEN block < 64 % blocks THEN 1 ELSE 0 END AS width,
    (max_distance + 1) / blocks - 1 + CASE WHEN block < (max_distance + 1) % blocks THEN 1 ELSE 0 END AS radius
FROM generate_series(0, 12) max_distance, generate_series(2, 8) blocks, LATERAL generate_series(0, blocks - 1) block
WHERE max_distance <= 7 OR blocks > 2;
CREATE FUNCTION pg_temp.binomial(n int, k int) RETURNS numeric LANGUAGE sql AS
    $$ SELECT factorial(n) / factorial(k) / factorial(n - k) $$;
SELECT blocks, count(*), bool_and(found = expected AND distinct_ = expected) AS complete,
    bool_and(farthest <= radius) AS near,
    bool_and(farthest = radius OR radius = -1) AS to_the_radius
FROM searches,
    LATERAL (SELECT coalesce(sum(pg_temp.binomial(width, i)), 0)
             FROM generate_series(0, radius) i) AS counts (expected),
    unnest(ARRAY[-6148914691236517206, 81985529216486895, -1]) AS fingerprint,
    LATERAL (SELECT count(*), count(DISTINCT probe),
                 max(bit_count((probe # simhash_block(fingerprint, block, blocks))::bit(32)))
             FROM unnest(simhash_probes(fingerprint, block, blocks, max_distance)) AS probe)
        AS probes (found, distinct_, farthest)
GROUP BY blocks ORDER BY blocks;
-- The radii are as small as possible: they sum to max_distance + 1 - blocks.
SELECT bool_and(sum = max_distance + 1 - blocks) AS least
FROM (SELECT max_distance, blocks, sum(radius) FROM searches GROUP BY max_distance, blocks) AS sums;

-- No pair within the distance is missed: of two fingerprints that differ in exactly k bits, some block of one is among
-- the probes of the other.
CREATE TEMP TABLE pairs AS
SELECT k, n, fingerprint, fingerprint # coalesce(bit_or(1::bigint << bit), 0) AS near
FROM generate_series(0, 12) k, generate_series(1, 25) n,
    LATERAL (SELECT ('x' || left(md5(k || ' ' || n), 16))::bit(64)::bigint) AS random (fingerprint)
    LEFT JOIN LATERAL (SELECT bit FROM generate_series(0, 63) bit
                       ORDER BY md5(k || ' ' || n || ' ' || bit) LIMIT k) AS flipped ON true
GROUP BY k, n, fingerprint;
SELECT bool_and(fingerprint <~> near = k) AS exactly FROM pairs;
SELECT blocks, count(*), count(*) FILTER (WHERE NOT found) AS missed
FROM (SELECT k, n, blocks,
          bool_or(simhash_block(near, block, blocks) = ANY (simhash_probes(fingerprint, block, blocks, k)))
      FROM pairs JOIN searches ON max_distance = k GROUP BY k, n, blocks) AS lookups (k, n, blocks, found)
GROUP BY blocks ORDER BY blocks;

-- Below 0 nothing is near; from 64 on everything is.
SELECT simhash_probes(5, 0, 4, -1) AS minus_one, simhash_probes(5, 0, 4, -2147483648) AS least,
    cardinality(simhash_probes(5, 0, 8, 64)) AS all, cardinality(simhash_probes(5, 0, 8, 2147483647)) AS greatest,
    cardinality(simhash_probes(5, 0, 2, 11)) AS many;
