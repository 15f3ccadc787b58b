-- Tables that hold fingerprints as bit strings, or as hexadecimal digits in a text.

SET enable_seqscan = off;

-- Digits are read as PostgreSQL reads them, except that those that it refuses are NULL.
SELECT digits, simhash_from_hex(digits), ('x' || digits)::bit(64)::bigint AS by_hand
FROM unnest('{0000000000000000,000000000000002a,ffffffffffffffff,FEDCBA9876543210,f,"",0123456789abcdef01}'::text[])
    AS digits;
SELECT digits, simhash_from_hex(digits)
FROM unnest('{"no digits",0x2a,-1," 1",0123456789abcdefg,é,NULL}'::text[]) AS digits;

CREATE DOMAIN hash AS bit(64);
CREATE TABLE pictures (id integer PRIMARY KEY, bits bit(64), of_domain hash, short bit(32), varying bit varying(64),
    digits text, limited varchar(16), padded char(16), number integer,
    computed text GENERATED ALWAYS AS (lower(digits)) STORED);
INSERT INTO pictures
SELECT n, b, b, b::bit(32), b, h, h, h, n
FROM generate_series(1, 2000) AS n, left(md5(n::text), 16) AS h, LATERAL (SELECT ('x' || h)::bit(64) AS b) AS bits;
SELECT errors($$SELECT simhash_attach('pictures', 'short')$$, $$SELECT simhash_attach('pictures', 'varying')$$,
    $$SELECT simhash_attach('pictures', 'bits', options => '{"source": "hex"}')$$,
    $$SELECT simhash_attach('pictures', 'number', options => '{"source": "hex"}')$$,
    $$SELECT simhash_attach('pictures', 'digits', options => '{"source": "base64"}')$$,
    $$SELECT simhash_attach('pictures', 'digits', options => '{"source": "hex", "seed": 1}')$$,
    $$SELECT simhash_attach('pictures', 'bits', '{"ngram": 2}')$$);

SET client_min_messages = notice;
SELECT simhash_attach('pictures', 'bits');
SELECT simhash_attach('pictures', 'bits');
SELECT simhash_attach('pictures', 'digits', options => '{"source": "hex"}', prefix => 'hex', blocks => 2);
SELECT simhash_attach('pictures', 'digits', options => '{"source": "hex"}', prefix => 'hex', blocks => 2);
SET client_min_messages = warning;
SELECT simhash_attach('pictures', 'of_domain', prefix => 'd'),
    simhash_attach('pictures', 'limited', options => '{"source": "hex"}', prefix => 'l'),
    simhash_attach('pictures', 'padded', options => '{"source": "hex"}', prefix => 'p'),
    simhash_attach('pictures', 'computed', options => '{"source": "hex"}', prefix => 'c');
ANALYZE pictures;
SELECT line FROM described('pictures') AS line WHERE line ~ 'block1';
EXPLAIN (COSTS OFF) SELECT id FROM pictures WHERE bit_count(of_domain # 1::bigint::bit(64)) <= 3;
EXPLAIN (COSTS OFF) SELECT id FROM pictures WHERE bit_count(('x' || limited)::bit(64) # ('x' || 'ff')::bit(64)) <= 3;

-- A text that does not consist of hexadecimal digits has no fingerprint: it can be stored, and is not found. Without
-- the scan, the condition fails at such a row.
INSERT INTO pictures (id, digits) VALUES (3001, 'unknown'), (3002, ''), (3003, 'ff'), (3004, 'ff00000000000000ab');
SELECT id FROM pictures WHERE bit_count(('x' || digits)::bit(64) # ('x' || 'ff')::bit(64)) <= 8 ORDER BY id;
SELECT id FROM pictures ORDER BY bit_count(('x' || digits)::bit(64) # ('x' || 'ff')::bit(64)), id LIMIT 3;
SET pg_simhash.enable_scan = off;
SELECT errors($$SELECT id FROM pictures WHERE bit_count(('x' || digits)::bit(64) # ('x' || 'ff')::bit(64)) <= 8$$);
RESET pg_simhash.enable_scan;

-- Columns that the application has computed itself are recognised too, and so are indexes on blocks of the source.
CREATE TABLE own (id integer PRIMARY KEY, phash text, bits bit(64) GENERATED ALWAYS AS (('x' || phash)::bit(64)) STORED,
    fp bigint GENERATED ALWAYS AS (('x' || phash)::bit(64)::bigint) STORED);
INSERT INTO own (id, phash) SELECT n, left(md5(n::text), 16) FROM generate_series(1, 2000) AS n;
SELECT simhash_attach('own', 'fp');
SELECT is_searched($$SELECT FROM own WHERE bit_count(('x' || phash)::bit(64) # ('x' || 'ff')::bit(64)) <= 3$$) AS text,
    is_searched('SELECT id FROM own WHERE bit_count((fp # 255)::bit(64)) <= 3') AS number;
CREATE TABLE bare AS SELECT id, bits FROM own;
SELECT index_by_hand('bare', '(bits::bigint)');
SELECT is_searched('SELECT id FROM bare WHERE bit_count(bits # 1::bigint::bit(64)) <= 3') AS source;

-- A guard of bit strings compares their distances.
SELECT simhash_guard('pictures', criterion => '{"max_distance": 2}', source => 'bits');
INSERT INTO pictures (id, bits) SELECT 4001, bits # 3::bigint::bit(64) FROM pictures WHERE id = 7;
SELECT simhash_unguard('pictures');

SELECT simhash_detach('pictures'), simhash_detach('pictures', 'hex'), simhash_detach('pictures', 'd'),
    simhash_detach('pictures', 'l'), simhash_detach('pictures', 'p'), simhash_detach('pictures', 'c');
SELECT line FROM described('pictures') AS line WHERE line ~ 'INDEX';
