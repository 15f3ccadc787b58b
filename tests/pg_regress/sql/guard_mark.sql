-- The action mark: the column names the near row. Row 5 is near marked rows only, so it gets no mark.
CREATE TABLE prints (id integer PRIMARY KEY, f bigint, same_as integer, tenant text);
SELECT simhash_attach('prints', 'f'), simhash_guard('prints', 'mark', mark_column => 'same_as', source => 'f');
INSERT INTO prints VALUES (1, 0), (2, 7), (3, 1), (4, -1), (5, 15), (6, -1) RETURNING id, f, same_as;
INSERT INTO prints VALUES (7, 3), (8, 1) RETURNING id, f, same_as;
-- A mark column set by the statement is kept only where the guard has nothing to decide.
INSERT INTO prints VALUES (9, x'00ff00ff00ff00ff'::bigint, 4), (10, x'00ff00ff00ff00ff'::bigint, 4), (11, NULL, 4)
RETURNING id, same_as;
UPDATE prints SET f = x'0ff00ff00ff00ff0'::bigint WHERE id = 8 RETURNING id, same_as;
UPDATE prints SET f = 1 WHERE id = 8 RETURNING id, same_as;
UPDATE prints SET same_as = 4 WHERE id = 8 RETURNING id, same_as;
UPDATE prints SET tenant = 'a' WHERE id = 8 RETURNING id, same_as;
