-- simhash_block. Its values are in the golden vectors, which pg_test computes in SQL too.

-- Blocks are numbered from 0; a 32-bit block is a signed integer. Four blocks are the default.
SELECT simhash_block(-1, 0, 2) AS half, simhash_block(-1, 0, 3) AS first_third, simhash_block(-1, 2, 3) AS last_third,
    simhash_block(-1, 3) AS quarter, simhash_block(-1, 3, 4) AS "the same", simhash_block(-1, 7, 8) AS eighth,
    simhash_block(-9223372036854775808, 0, 2) AS least, simhash_block(9223372036854775807, 0, 2) AS greatest;

SELECT simhash_block(NULL, 0) IS NULL AND simhash_block(1, NULL) IS NULL AND simhash_block(1, 0, NULL) IS NULL AS nulls;
