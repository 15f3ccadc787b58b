-- The action skip: within a transaction and within a statement; RETURNING gives only what was stored.
CREATE TABLE prints (id integer PRIMARY KEY, f bigint);
SELECT simhash_attach('prints', 'f'), simhash_guard('prints', 'skip', source => 'f');
INSERT INTO prints VALUES (1, 0), (2, 7), (3, 1), (4, -1), (5, 15), (6, -1) RETURNING id, f;
INSERT INTO prints VALUES (7, 0);
COPY prints (id, f) FROM stdin;
21	0
22	72340172838076673
23	72340172838076674
24	\N
25	4294967295
\.
WITH stored AS (INSERT INTO prints VALUES (26, 0), (27, x'fffffffff0000000'::bigint) RETURNING id)
SELECT id FROM stored;
-- The two parts of one statement use the same snapshot.
WITH one AS (INSERT INTO prints VALUES (28, x'0ff00ff00ff00ff0'::bigint) RETURNING id),
    two AS (INSERT INTO prints VALUES (29, x'0ff00ff00ff00ff1'::bigint) RETURNING id)
SELECT (SELECT count(*) FROM one) + (SELECT count(*) FROM two) AS stored;
SELECT id, to_hex(f) AS f FROM prints ORDER BY id;
