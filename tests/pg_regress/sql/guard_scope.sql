-- Scope: near-duplicates are looked for among rows with equal values only; NULL equals NULL.
CREATE TABLE prints (id integer PRIMARY KEY, f bigint, tenant text, part integer);
SELECT simhash_attach('prints', 'f'), simhash_guard('prints', scope => '{tenant}', source => 'f');
INSERT INTO prints (id, f, tenant) VALUES (1, 0, 'a'), (2, 0, 'b'), (3, 0, NULL), (4, 0, '');
INSERT INTO prints (id, f, tenant) VALUES (5, 1, 'a');
INSERT INTO prints (id, f, tenant) VALUES (5, 1, NULL);
INSERT INTO prints (id, f, tenant) VALUES (5, 1, 'A');
UPDATE prints SET tenant = 'b' WHERE id = 1;
UPDATE prints SET tenant = NULL WHERE id = 1;
UPDATE prints SET tenant = 'c' WHERE id = 1;
SELECT simhash_guard('prints', 'skip', scope => '{tenant, part}', source => 'f');
TRUNCATE prints;
INSERT INTO prints (id, f, tenant, part) VALUES (1, 0, 'a', 1), (2, 0, 'a', 2), (3, 0, 'b', 1), (4, 1, 'a', 2),
    (5, 0, NULL, 1), (6, 1, NULL, 1), (7, 0, NULL, NULL), (8, 1, NULL, NULL), (9, 1, 'a', NULL) RETURNING id;
-- Scope values are compared by the column's collation.
CREATE TABLE collated (id integer PRIMARY KEY, f bigint, tenant text COLLATE no_case);
SELECT simhash_attach('collated', 'f'), simhash_guard('collated', scope => '{tenant}', source => 'f');
INSERT INTO collated VALUES (1, 0, 'Ada'), (2, 0, 'Bob');
INSERT INTO collated VALUES (3, 0, other_case('Ada'));
-- An UPDATE to an equal value finds only the row itself.
UPDATE collated SET tenant = other_case('Ada') WHERE id = 1;
