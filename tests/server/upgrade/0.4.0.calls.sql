-- Calls of all functions that 0.4.0 has added. Their results are 0.4.0.calls.out.
\echo near by radii
SELECT simhash_near(0, 7, 10, '{0,0,0,0}') AS equal_blocks, simhash_near(-1, 0, 64, '{1,1,1,1}') AS none;
