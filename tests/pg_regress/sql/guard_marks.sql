-- Marks that name rows by keys of several columns: the value of the only column of the key outside the scope, or the
-- whole key as jsonb.

-- The tenant is in the key and in the scope. So the rest of the key names a row, and a foreign key holds.
CREATE TABLE docs (tenant bigint, id integer, f bigint, near integer, note text, PRIMARY KEY (tenant, id),
    FOREIGN KEY (tenant, near) REFERENCES docs (tenant, id) ON UPDATE CASCADE DEFERRABLE);
SELECT simhash_attach('docs', 'f'),
    simhash_guard('docs', 'mark', scope => '{tenant}', mark_column => 'near', source => 'f');
INSERT INTO docs VALUES (7, 41, 0), (7, 42, 255), (7, 43, 1), (8, 41, 254), (8, 42, 0), (8, 43, 255), (8, 44, 65535)
RETURNING tenant, id, near;
-- The mark is the guard's, whatever the statement says.
INSERT INTO docs VALUES (9, 1, 0, 77), (9, 2, 1, 77) RETURNING tenant, id, near;
SELECT errors('DELETE FROM docs WHERE (tenant, id) = (9, 1)');
-- UPDATE of the fingerprint, of the tenant, and of the key of the named row.
UPDATE docs SET f = 256 WHERE (tenant, id) = (7, 42) RETURNING tenant, id, near;
UPDATE docs SET f = 65280 WHERE (tenant, id) = (7, 42) RETURNING tenant, id, near;
UPDATE docs SET tenant = 7 WHERE (tenant, id) = (8, 44) RETURNING tenant, id, near;
UPDATE docs SET f = 65281, tenant = 7 WHERE (tenant, id) = (9, 2) RETURNING tenant, id, near;
UPDATE docs SET id = 141 WHERE (tenant, id) = (7, 41);
UPDATE docs SET note = 'kept' WHERE (tenant, id) = (7, 43);
SELECT tenant, id, f, near, note FROM docs ORDER BY tenant, id;
-- INSERT .. ON CONFLICT: the row with this key is not a near-duplicate of itself. The row that remains has the mark for
-- its new fingerprint.
INSERT INTO docs VALUES (7, 141, 1) ON CONFLICT (tenant, id) DO UPDATE SET f = excluded.f, note = 'again'
RETURNING tenant, id, f, near, note;
INSERT INTO docs AS d VALUES (7, 2, 0), (7, 43, 65280)
ON CONFLICT (tenant, id) DO UPDATE SET f = excluded.f, note = 'again', near = d.near
RETURNING tenant, id, f, near, note;
INSERT INTO docs VALUES (7, 43, 0), (7, 3, 1) ON CONFLICT DO NOTHING RETURNING tenant, id, f, near;
-- The error of a guard that rejects names the row by the whole key.
SELECT simhash_guard('docs', 'reject', scope => '{tenant}', source => 'f');
INSERT INTO docs VALUES (7, 50, 1);

-- The whole key as jsonb, with and without a scope. Values that JSON has no type for are strings.
CREATE TABLE events (at timestamptz, part date, id bigint, amount numeric(8, 2), f bigint, near jsonb,
    PRIMARY KEY (at, part, id, amount));
SELECT simhash_attach('events', 'f'), simhash_guard('events', 'mark', mark_column => 'near', source => 'f');
SET timezone = 'UTC';
INSERT INTO events VALUES ('2026-02-03 04:05:06.789+00', '2026-02-03', 9007199254740993, 1.5, 0),
    ('2026-02-04 04:05:06+00', '2026-02-04', 2, 2, 1) RETURNING part, near;
-- The values in a mark do not depend on the session's settings.
SET datestyle = 'SQL, DMY'; SET timezone = 'Asia/Kolkata';
INSERT INTO events VALUES ('2026-05-04 04:05:06+00', '2026-05-04', 3, 3, 1) RETURNING near;
RESET timezone;
SHOW datestyle;
RESET datestyle;
SELECT count(*) FROM events AS e JOIN events AS n ON (n.at, n.part, n.id, n.amount) = ((e.near ->> 'at')::timestamptz,
    (e.near ->> 'part')::date, (e.near ->> 'id')::bigint, (e.near ->> 'amount')::numeric);
SELECT simhash_guard('events', 'mark', scope => '{part,amount}', mark_column => 'near', source => 'f');
INSERT INTO events VALUES ('2026-02-05 00:00:00+00', '2026-02-04', 5, 2, 0),
    ('2026-02-05 00:00:00+00', '2026-02-05', 5, 2, 0), ('2026-02-06 00:00:00+00', '2026-02-04', 6, 2, 1)
RETURNING id, part, near - 'at' AS near;

-- Equal values of the scope may differ in form: the mark has the value of the row that it names, and the foreign key
-- holds.
CREATE TABLE forms (tenant numeric, id numeric, f bigint, near numeric, whole jsonb, PRIMARY KEY (tenant, id),
    FOREIGN KEY (tenant, near) REFERENCES forms (tenant, id));
SELECT simhash_attach('forms', 'f'),
    simhash_guard('forms', 'mark', scope => '{tenant}', mark_column => 'near', source => 'f');
INSERT INTO forms VALUES (1.0, 1.50, 0), (1.00, 2.0, 1) RETURNING tenant, id, near;
SELECT simhash_guard('forms', 'mark', scope => '{tenant}', mark_column => 'whole', source => 'f');
INSERT INTO forms VALUES (1, 3.000, 1) RETURNING tenant, id, near, whole;
-- Partitions, by a column of the key.
CREATE TABLE parted (day date, tenant integer, id integer, f bigint, whole jsonb,
    PRIMARY KEY (tenant, day, id)) PARTITION BY RANGE (day);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
-- The columns of this partition have other attnums.
CREATE TABLE parted_2 (f bigint, gone text, whole jsonb, id integer NOT NULL, tenant integer NOT NULL,
    day date NOT NULL);
ALTER TABLE parted_2 DROP COLUMN gone;
ALTER TABLE parted ATTACH PARTITION parted_2 FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
SELECT simhash_attach('parted', 'f'),
    simhash_guard('parted', 'mark', mark_column => 'whole', scope => '{tenant}', source => 'f');
INSERT INTO parted VALUES ('2026-01-02', 1, 10, 0), ('2026-02-02', 1, 11, 1), ('2026-02-02', 1, 12, 255),
    ('2026-01-03', 1, 13, 254) RETURNING tableoid::regclass, id, whole;
UPDATE parted SET day = '2026-02-03', f = 257 WHERE id = 13 RETURNING tableoid::regclass, id, whole;

-- Partitions with keys of their own, of other columns or in another order. A mark has the key of the near row.
CREATE TABLE own (tenant integer, part integer, id integer, f bigint, near integer, whole jsonb)
    PARTITION BY LIST (part);
CREATE TABLE own_1 PARTITION OF own (PRIMARY KEY (tenant, part, id)) FOR VALUES IN (1);
CREATE TABLE own_2 PARTITION OF own (PRIMARY KEY (id, tenant)) FOR VALUES IN (2);
CREATE TABLE own_3 PARTITION OF own (PRIMARY KEY (id)) FOR VALUES IN (3);
SELECT simhash_attach('own', 'f');
SELECT errors(
    'SELECT simhash_guard(''own'', ''mark'', mark_column => ''near'', source => ''f'')',
    'SELECT simhash_guard(''own'', ''mark'', mark_column => ''near'', scope => ''{tenant}'', source => ''f'')',
    'SELECT simhash_guard(''own'', ''mark'', mark_column => ''near'', scope => ''{part}'', source => ''f'')');
SELECT simhash_guard('own', 'mark', mark_column => 'near', scope => '{tenant,part}', source => 'f');
INSERT INTO own VALUES (1, 1, 31, 0), (2, 2, 32, 0), (3, 3, 33, 0), (1, 1, 34, 0), (2, 2, 35, 0), (3, 3, 36, 0)
RETURNING part, id, near;
SELECT simhash_guard('own', 'mark', scope => '{}', mark_column => 'whole', source => 'f');
INSERT INTO own VALUES (1, 1, 40, 0) RETURNING id, whole;
DELETE FROM own WHERE part = 1;
INSERT INTO own VALUES (1, 1, 41, 0) RETURNING id, whole;

-- Keys that no mark can store, and columns that cannot store a mark.
CREATE DOMAIN object AS jsonb;
CREATE TABLE wrong (a integer, "B" varchar(5), body bigint, a_mark integer, b_mark varchar(4), fit varchar(5),
    whole json, of_domain object, strict jsonb NOT NULL, made jsonb GENERATED ALWAYS AS ('{}') STORED, whole_key jsonb,
    PRIMARY KEY (a, "B"));
CREATE TABLE keyless (a integer, f bigint, near jsonb);
CREATE TABLE jsonb_key (a integer, b jsonb, f bigint, near integer, PRIMARY KEY (a, b));
SELECT simhash_attach('wrong', 'body', prefix => 'f'), simhash_attach('keyless', 'f'), simhash_attach('jsonb_key', 'f');
SELECT errors(VARIADIC array_agg(format('SELECT simhash_guard(%L, ''mark'', mark_column => %L, scope => %L, source => %L)',
    target, mark, scope, CASE target WHEN 'wrong' THEN 'body' ELSE 'f' END)))
FROM (VALUES ('wrong', 'a_mark', '{}'), ('wrong', 'a_mark', '{a}'), ('wrong', 'b_mark', '{a}'),
    ('wrong', 'a_mark', '{a,B}'), ('wrong', 'whole', '{}'),
    ('wrong', 'of_domain', '{}'), ('wrong', 'strict', '{}'), ('wrong', 'made', '{}'),
    ('wrong', 'B', '{a}'), ('wrong', 'whole_key', '{whole_key}'), ('jsonb_key', 'near', '{a}'),
    ('keyless', 'near', '{}')) AS marks (target, mark, scope);
-- A key that changes later.
ALTER TABLE wrong ALTER strict DROP NOT NULL;
SELECT simhash_guard('wrong', 'mark', mark_column => 'fit', scope => '{a}', source => 'body');
INSERT INTO wrong VALUES (1, 'b', 0), (1, 'c', 0) RETURNING a, "B", fit;
ALTER TABLE wrong DROP CONSTRAINT wrong_pkey, ADD PRIMARY KEY ("B");
INSERT INTO wrong VALUES (1, 'd', 0) RETURNING a, "B", fit;
ALTER TABLE wrong DROP CONSTRAINT wrong_pkey, ADD PRIMARY KEY (a, body, "B");
SELECT errors($$INSERT INTO wrong VALUES (1, 'e', 0)$$);
SELECT simhash_guard('wrong', 'mark', mark_column => 'whole_key', scope => '{a}', source => 'body');
INSERT INTO wrong VALUES (1, 'e', 0) RETURNING whole_key;
-- PRIMARY KEY columns that were renamed have their new names in marks.
ALTER TABLE wrong RENAME COLUMN "B" TO "b ""c""";
INSERT INTO wrong VALUES (1, 'é', 1) RETURNING whole_key;
