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
