-- hamming and <~>. tests/load/hostile checks that the distance counts bits.
SELECT hamming(0, 0) AS zero, hamming(0, -1) AS all, hamming(-9223372036854775808, 9223372036854775807) AS ends,
    hamming(-9223372036854775808, 0) AS sign, hamming(b'10101'::bigint, b'00110'::bigint) AS textbook,
    hamming(simhash('to be or not to be'), simhash('to be or not')) AS texts;

-- The operator binds like other operators: weaker than +, stronger than =.
SELECT 1 <~> 2 = 2 AS "=", 7 <~> 3 + 4 AS "+", 5 # 1 <~> 4 AS "left to right";

SELECT hamming(NULL, 1) IS NULL AND hamming(1, NULL) IS NULL AND NULL <~> 1::bigint IS NULL
    AND 1::bigint <~> NULL IS NULL AS nulls;

-- Fingerprints that other programs store as unsigned numbers.
SELECT number, simhash_from_unsigned(number) AS bits
FROM unnest(ARRAY[0, 5.00, 9223372036854775807, 9223372036854775808, 14697741594938196837.0, 18446744073709551615])
    AS number;
SELECT simhash_from_unsigned(NULL) IS NULL, hamming(simhash_from_unsigned(14697741594938196837), 5),
    simhash_near(-3749002478771354779, simhash_from_unsigned(14697741594938196837), 0);
SELECT simhash_from_unsigned(18446744073709551616);
SELECT simhash_from_unsigned(-1);
SELECT simhash_from_unsigned(4.6);
SELECT simhash_from_unsigned(9223372036854775808.4);
SELECT simhash_from_unsigned('NaN');
SELECT simhash_from_unsigned('-Infinity');
SELECT simhash_from_unsigned(10::numeric ^ 1000);
-- Literals and integers of every kind mean bigint, unless no argument has a type: then they are texts.
SELECT hamming(1, 2), hamming(1::smallint, '2'), hamming(1::bigint, '2'), 1 <~> 2 AS operator,
    simhash_near(7::bigint, '6'), simhash_near('7', '6'), simhash_near(7, 6), simhash_near(7::smallint, 6);
PREPARE near AS SELECT simhash_near($1, $2);
EXECUTE near(7, 6);
