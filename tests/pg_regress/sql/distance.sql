-- hamming and <~>.
SELECT hamming(0, 0) AS zero, hamming(0, -1) AS all, hamming(-9223372036854775808, 9223372036854775807) AS ends,
    hamming(-9223372036854775808, 0) AS sign, hamming(b'10101'::bigint, b'00110'::bigint) AS textbook,
    hamming(simhash('to be or not to be'), simhash('to be or not')) AS texts;

-- The distance counts the bits of the exclusive or, 0 to 64, in either order; it is 0 only for equal fingerprints.
CREATE TEMP TABLE pairs AS
SELECT ('x' || left(md5('a' || n), 16))::bit(64)::bigint AS a, ('x' || left(md5('b' || n), 16))::bit(64)::bigint AS b
FROM generate_series(1, 1000) n
UNION ALL
SELECT 1::bigint << i, 1::bigint << j FROM generate_series(0, 63) i, generate_series(0, 63) j
UNION ALL
SELECT 0, ~(-1::bigint << n) FROM generate_series(0, 63) n;
SELECT count(*), bool_and(hamming(a, b) = bit_count((a # b)::bit(64))) AS counts_bits,
    bool_and(a <~> b = hamming(a, b)) AS operator,
    bool_and(a <~> b = b <~> a) AS symmetric, bool_and(a <~> b BETWEEN 0 AND 64) AS in_range,
    bool_and((a <~> b = 0) = (a = b)) AS zero_if_equal, bool_and(a <~> ~b = 64 - (a <~> b)) AS complement
FROM pairs;
SELECT bool_and((a <~> c) <= (a <~> b) + (b <~> c)) AS triangle
FROM (SELECT a, b, lag(a) OVER (ORDER BY a, b) FROM pairs) AS triples (a, b, c);

-- The operator binds like other operators: weaker than +, stronger than =.
SELECT 1 <~> 2 = 2 AS "=", 7 <~> 3 + 4 AS "+", 5 # 1 <~> 4 AS "left to right";

-- NULL in, NULL out.
SELECT hamming(NULL, 1) IS NULL AND hamming(1, NULL) IS NULL AND NULL <~> 1::bigint IS NULL
    AND 1::bigint <~> NULL IS NULL AS nulls;

-- Unsigned fingerprints of other programs, from 2^63 on, are beyond bigint: subtract 2^64.
\set VERBOSITY terse
SELECT hamming(simhash('a text'), 14697741594938196837) = 0;
\set VERBOSITY default
\set VERBOSITY terse
SELECT simhash_near(simhash('a text'), 14697741594938196837);
\set VERBOSITY default
SELECT unsigned, (CASE WHEN unsigned < 9223372036854775808 THEN unsigned ELSE unsigned - 18446744073709551616 END)::bigint AS signed
FROM unnest(ARRAY[0, 9223372036854775807, 9223372036854775808, 14697741594938196837, 18446744073709551615]) AS unsigned;
-- Literals and integers of every kind mean bigint, unless no argument has a type: then they are texts.
SELECT hamming(1, 2), hamming(1::smallint, '2'), hamming(1::bigint, '2'), 1 <~> 2 AS operator,
    simhash_near(7::bigint, '6'), simhash_near('7', '6'), simhash_near(7, 6), simhash_near(7::smallint, 6);
PREPARE near AS SELECT simhash_near($1, $2);
EXECUTE near(7, 6);
