-- simhash(text). Fingerprints are in the golden vectors, which pg_test computes in SQL too.
-- A text without features has no fingerprint: NULL, never 0.
SELECT simhash(content) IS NULL AS none
FROM (VALUES (NULL), (''), (' '), (E'\t\r\n'), ('?!'), ('...---...'), (U&'\0301'), ('—「」')) AS texts (content);

-- Every type with an implicit cast to text, and a literal.
SELECT simhash('Hello world'::text) = simhash('Hello world') AS text,
    simhash('Hello world'::varchar) = simhash('Hello world') AS "varchar",
    simhash('Hello world'::char(20)) = simhash('Hello world') AS "char",
    simhash('Hello world'::name) = simhash('Hello world') AS name,
    simhash(content => 'Hello world') = simhash('Hello world') AS named;

-- Hexadecimal digits are read as PostgreSQL reads them, except that those that it refuses are NULL.
SELECT digits, simhash_from_hex(digits), ('x' || digits)::bit(64)::bigint AS by_hand
FROM unnest('{0000000000000000,000000000000002a,ffffffffffffffff,FEDCBA9876543210,f,"",0123456789abcdef01}'::text[]) AS digits;
SELECT digits, simhash_from_hex(digits)
FROM unnest('{"no digits",0x2a,-1," 1",0123456789abcdefg,é,NULL}'::text[]) AS digits;
