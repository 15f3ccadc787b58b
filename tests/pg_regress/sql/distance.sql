-- hamming and <~>. That the distance counts bits is a claim of tests/load/hostile.
SELECT hamming(0, 0) AS zero, hamming(0, -1) AS all, hamming(-9223372036854775808, 9223372036854775807) AS ends,
    hamming(-9223372036854775808, 0) AS sign, hamming(b'10101'::bigint, b'00110'::bigint) AS textbook,
    hamming(simhash('to be or not to be'), simhash('to be or not')) AS texts;

-- The operator binds like other operators: weaker than +, stronger than =.
SELECT 1 <~> 2 = 2 AS "=", 7 <~> 3 + 4 AS "+", 5 # 1 <~> 4 AS "left to right";

-- NULL in, NULL out.
SELECT hamming(NULL, 1) IS NULL AND hamming(1, NULL) IS NULL AND NULL <~> 1::bigint IS NULL
    AND 1::bigint <~> NULL IS NULL AS nulls;

-- Unsigned fingerprints of other programs, from 2^63 on, are beyond bigint. hamming takes them; an index needs their bits.
SELECT hamming(-3749002478771354779, 14697741594938196837) AS same, hamming(14697741594938196837, 5) AS integer,
    hamming(18446744073709551615, 0::smallint) AS smallint, hamming(9223372036854775808, -1) AS negative,
    hamming(18446744073709551615, '0') AS literal, hamming(NULL::numeric, 1) AS nothing;
SELECT hamming(18446744073709551616, 5);
SELECT hamming(5, -9223372036854775809);
SELECT hamming(4.6, 5) AS rounded;
SELECT hamming('NaN'::numeric, 5);
\set VERBOSITY terse
SELECT 5 <~> 14697741594938196837;
SELECT simhash_near(simhash('a text'), 14697741594938196837);
\set VERBOSITY default
SELECT unsigned, (CASE WHEN unsigned < 9223372036854775808 THEN unsigned ELSE unsigned - 18446744073709551616 END)::bigint AS signed
FROM unnest(ARRAY[0, 9223372036854775807, 9223372036854775808, 14697741594938196837, 18446744073709551615]) AS unsigned;
-- Literals and integers of every kind mean bigint, unless no argument has a type: then they are texts.
SELECT hamming(1, 2), hamming(-1, 2::smallint), hamming(-1::smallint, 2::smallint), hamming(1::smallint, 2::bigint),
    hamming(1::smallint, '2'), hamming(1::bigint, '2'), 1 <~> 2 AS operator,
    simhash_near(7::bigint, '6'), simhash_near('7', '6'), simhash_near(7, 6), simhash_near(7::smallint, 6);
PREPARE near AS SELECT simhash_near($1, $2);
EXECUTE near(7, 6);
