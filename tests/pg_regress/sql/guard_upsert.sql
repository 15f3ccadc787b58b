-- Upserts of guarded tables: a row is not a duplicate of itself, whichever unique index ON CONFLICT finds it by.

-- Stores a row with fingerprint 0, then one with fingerprint 1, each with its URL. Returns, for each action, the id,
-- fingerprint, number of updates and mark of each row that is stored then.
CREATE FUNCTION upserts(url text, index text, target text, first_url text, second_url text)
RETURNS TABLE (action text, do_update text, do_nothing text) LANGUAGE plpgsql AS $$
DECLARE
    conflict text;
    found text;
BEGIN
    FOREACH action IN ARRAY '{reject,skip,mark}'::text[] LOOP
        FOREACH conflict IN ARRAY '{"UPDATE SET f = excluded.f, n = docs.n + 1",NOTHING}'::text[] LOOP
            DROP TABLE IF EXISTS docs;
            EXECUTE format('CREATE TABLE docs (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, f bigint,
                n integer DEFAULT 0, mark integer, url %s)', url);
            EXECUTE index;
            PERFORM simhash_attach('docs', 'f');
            PERFORM simhash_guard('docs', action, source => 'f',
                mark_column => CASE WHEN action = 'mark' THEN 'mark' END);
            EXECUTE format('INSERT INTO docs (f, url) VALUES (0, %s)', first_url);
            found := value_or_error($q$SELECT string_agg(concat_ws(' ', id, f, n, coalesce(mark::text, '-')), ', '
                    ORDER BY id) FROM docs$q$,
                format('INSERT INTO docs (f, mark, url) VALUES (1, 7, %s) ON CONFLICT %s DO %s',
                    second_url, target, conflict));
            IF conflict = 'NOTHING' THEN
                do_nothing := found;
            ELSE
                do_update := found;
            END IF;
        END LOOP;
        RETURN NEXT;
    END LOOP;
END
$$;

SELECT quote_literal(other_case('a')) AS equal \gset
SELECT url, index, found.* FROM (VALUES
    ('text UNIQUE', '', '(url)', $$'a'$$, $$'a'$$),
    ('text', 'CREATE UNIQUE INDEX ON docs (url, n)', '(url, n)', $$'a'$$, $$'a'$$),
    ('text', 'CREATE UNIQUE INDEX ON docs (lower(url), n) WHERE length(url) = 1',
        '(lower(url), n) WHERE length(url) = 1', $$'A'$$, $$'a'$$),
    -- Two rows that a predicate leaves out are near each other; so are rows with different keys, or none.
    ('text', 'CREATE UNIQUE INDEX ON docs (url) WHERE url <> ''x''', '(url) WHERE url <> ''x''', $$'x'$$, $$'x'$$),
    ('text', 'CREATE UNIQUE INDEX ON docs (lower(url))', '(lower(url))', $$'A'$$, $$'b'$$),
    ('text UNIQUE', '', '(url)', 'NULL', 'NULL'),
    -- NULLs that are equal, operator classes, collations, a type whose equal values may differ in form.
    ('text', 'CREATE UNIQUE INDEX ON docs (url) NULLS NOT DISTINCT', '(url)', 'NULL', 'NULL'),
    ('text', 'CREATE UNIQUE INDEX ON docs (url text_pattern_ops)', '(url)', $$'a'$$, $$'a'$$),
    ('text COLLATE no_case UNIQUE', '', '(url)', :'equal', $$'a'$$),
    ('numeric UNIQUE', '', '(url)', '1.0', '1.00'),
    -- A generated column as the key.
    ('text, hash text GENERATED ALWAYS AS (md5(url)) STORED UNIQUE', '', '(hash)', $$'a'$$, $$'a'$$)
) AS cases (url, index, target, first_url, second_url), LATERAL (
    SELECT string_agg(action, ' ') AS actions, do_update, do_nothing
    FROM upserts(url, index, target, first_url, second_url) GROUP BY do_update, do_nothing ORDER BY actions) AS found;
-- ON CONFLICT without a target, which is allowed only for DO NOTHING.
SELECT string_agg(action, ' '), do_nothing FROM upserts('text UNIQUE', '', '', $$'a'$$, $$'a'$$) GROUP BY do_nothing;

-- If the new row is also near a row with another key, the guard acts, whatever the UPDATE would keep of the new row.
CREATE TABLE pages (id integer PRIMARY KEY, url text, f bigint, n integer DEFAULT 0, mark integer);
CREATE UNIQUE INDEX ON pages (lower(url));
SELECT simhash_attach('pages', 'f');
INSERT INTO pages VALUES (1, 'a', 0), (2, 'b', 255);
SELECT simhash_guard('pages', source => 'f');
INSERT INTO pages VALUES (3, 'A', 254) ON CONFLICT (lower(url)) DO UPDATE SET f = excluded.f, n = 1;
INSERT INTO pages VALUES (3, 'A', 254) ON CONFLICT (lower(url)) DO NOTHING;
SELECT simhash_guard('pages', 'skip', source => 'f');
INSERT INTO pages VALUES (3, 'A', 254) ON CONFLICT (lower(url)) DO UPDATE SET f = excluded.f, n = 3;
SELECT simhash_guard('pages', 'mark', source => 'f', mark_column => 'mark');
INSERT INTO pages VALUES (3, 'A', 254) ON CONFLICT (lower(url)) DO UPDATE SET f = excluded.f, n = pages.n + 4;
SELECT * FROM pages ORDER BY id;
-- A row that has the keys of two others updates the one that ON CONFLICT names.
INSERT INTO pages VALUES (2, 'A', 1) ON CONFLICT (lower(url)) DO UPDATE SET n = pages.n + 8 RETURNING id, n;
INSERT INTO pages VALUES (2, 'A', 1) ON CONFLICT (id) DO UPDATE SET n = pages.n + 16 RETURNING id, n;
-- Two rows of one statement may have the same key.
INSERT INTO pages VALUES (5, 'e', -1), (6, 'E', -1) ON CONFLICT (lower(url)) DO NOTHING;
INSERT INTO pages VALUES (7, 'g', x'00ff00ff00ff00ff'::bigint), (8, 'G', 1)
ON CONFLICT (lower(url)) DO UPDATE SET n = 64;
-- A statement of several rows may also change their keys.
INSERT INTO pages VALUES (1, 'a', 0), (2, 'b', 255), (9, 'i', x'0f0f0f0f0f0f0f0f'::bigint)
ON CONFLICT (id) DO UPDATE SET id = excluded.id, url = upper(excluded.url), f = excluded.f, n = 128;
SELECT * FROM pages ORDER BY id;
SELECT count(*) FROM pg_locks WHERE locktype IN ('advisory', 'tuple');

-- In partitions, the columns may be in another order.
CREATE TABLE parts (id integer, part integer, f bigint, n integer DEFAULT 0, url text) PARTITION BY LIST (part);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1);
CREATE TABLE parts_2 (url text, gone integer, n integer DEFAULT 0, f bigint, part integer, id integer);
ALTER TABLE parts_2 DROP COLUMN gone;
ALTER TABLE parts ATTACH PARTITION parts_2 FOR VALUES IN (2);
CREATE UNIQUE INDEX ON parts (part, lower(url));
SELECT simhash_attach('parts', 'f'), simhash_guard('parts', source => 'f');
INSERT INTO parts (id, part, f, url) VALUES (1, 1, 0, 'a'), (2, 2, -1, 'a');
INSERT INTO parts (id, part, f, url) VALUES (3, 2, -2, 'A')
ON CONFLICT (part, lower(url)) DO UPDATE SET f = excluded.f, n = 1;
INSERT INTO parts (id, part, f, url) VALUES (3, 2, 0, 'A')
ON CONFLICT (part, lower(url)) DO UPDATE SET f = excluded.f, n = 2;
INSERT INTO parts (id, part, f, url) VALUES (3, 1, -1, 'A') ON CONFLICT DO NOTHING;
INSERT INTO parts (id, part, f, url) VALUES (3, 1, -1, 'b') ON CONFLICT DO NOTHING;
SELECT tableoid::regclass, id, part, f, n, url FROM parts ORDER BY id;

-- Rows written while another is being stored: a trigger after the guard, or a constraint's function, stores a near row.
CREATE TABLE inner_rows (id integer PRIMARY KEY, f bigint, part text, mark integer);
SELECT simhash_attach('inner_rows', 'f');
CREATE FUNCTION another(id integer, f bigint, part text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    IF id < 100 THEN
        INSERT INTO inner_rows VALUES (id + 100, f, part);
    END IF;
    RETURN true;
END
$$;
CREATE FUNCTION store_another() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM another(new.id, new.f # tg_argv[0]::bigint, new.part || tg_argv[1]); RETURN new; END $$;
-- The ids and marks of the rows that a statement stores, or its error, by the actions of the guard.
CREATE FUNCTION stored_by(statement text, OUT actions text, OUT result text) RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
    action text;
    results jsonb = '{}';
BEGIN
    FOREACH action IN ARRAY '{reject,skip,mark}'::text[] LOOP
        PERFORM simhash_guard('inner_rows', action, scope => '{part}', source => 'f',
            mark_column => CASE WHEN action = 'mark' THEN 'mark' END);
        result = value_or_error(
            $q$SELECT string_agg(concat_ws(' ', id, coalesce(mark::text, '-')), ', ' ORDER BY id) FROM inner_rows$q$,
            statement);
        results = results || jsonb_build_object(action, result);
        TRUNCATE inner_rows;
    END LOOP;
    RETURN QUERY SELECT string_agg(key, ' ' ORDER BY key), value FROM jsonb_each_text(results) GROUP BY value
        ORDER BY 1;
END
$$;
CREATE TRIGGER zzzz_near BEFORE INSERT ON inner_rows FOR EACH ROW EXECUTE FUNCTION store_another('1', '');
SELECT * FROM stored_by('INSERT INTO inner_rows VALUES (101, 0, ''x''), (2, 255, ''x'')');
CREATE OR REPLACE TRIGGER zzzz_near BEFORE INSERT ON inner_rows FOR EACH ROW EXECUTE FUNCTION store_another('1', 'y');
SELECT * FROM stored_by('INSERT INTO inner_rows VALUES (1, 0, ''x''), (2, 255, ''x'')');
CREATE OR REPLACE TRIGGER zzzz_near BEFORE INSERT ON inner_rows FOR EACH ROW EXECUTE FUNCTION store_another('-1', '');
SELECT * FROM stored_by('INSERT INTO inner_rows VALUES (1, 0, ''x''), (2, 255, ''x'')');
DROP TRIGGER zzzz_near ON inner_rows;
CREATE TRIGGER zzzz_near BEFORE UPDATE ON inner_rows FOR EACH ROW EXECUTE FUNCTION store_another('1', '');
SELECT * FROM stored_by('INSERT INTO inner_rows VALUES (1, 0, ''x''); UPDATE inner_rows SET f = 255');
DROP TRIGGER zzzz_near ON inner_rows;
ALTER TABLE inner_rows ADD CONSTRAINT near CHECK (another(id, f, part));
SELECT * FROM stored_by('INSERT INTO inner_rows VALUES (1, 0, ''x'')');
ALTER TABLE inner_rows DROP CONSTRAINT near;
-- In an AFTER trigger, such rows are rows like any other.
CREATE TRIGGER near AFTER INSERT ON inner_rows FOR EACH ROW EXECUTE FUNCTION store_another('1', '');
SELECT * FROM stored_by('INSERT INTO inner_rows VALUES (1, 0, ''x'')');
DROP TRIGGER near ON inner_rows;
-- A trigger that replaces or changes the row finds no near row.
CREATE FUNCTION replace() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF new.id < 50 THEN
        DELETE FROM inner_rows WHERE id = new.id;
        INSERT INTO inner_rows VALUES (new.id + 50, new.f # 1, new.part);
        UPDATE inner_rows SET f = new.f # 2 WHERE id = new.id + 50;
    ELSIF new.id < 100 THEN
        UPDATE inner_rows SET f = new.f # 3, id = new.id + 50 WHERE id = new.id;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER replace AFTER INSERT ON inner_rows FOR EACH ROW EXECUTE FUNCTION replace();
SELECT * FROM stored_by('INSERT INTO inner_rows VALUES (1, 0, ''x''), (2, 255, ''x''), (53, -1, ''x'')');
DROP TRIGGER replace ON inner_rows;
-- After a failed statement, its row is forgotten.
CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
CREATE TRIGGER zzzz_fail BEFORE INSERT ON inner_rows FOR EACH ROW WHEN (new.id = 1) EXECUTE FUNCTION fail();
DO $$
BEGIN
    INSERT INTO inner_rows VALUES (1, 0, 'x');
EXCEPTION WHEN OTHERS THEN
    INSERT INTO inner_rows VALUES (2, 0, 'x');
END
$$;
SELECT id, mark FROM inner_rows;
-- The row of a statement in an SQL function is forgotten too, although the function's memory outlives the error.
CREATE TABLE checked (id integer PRIMARY KEY CHECK (id <> 1), f bigint);
SELECT simhash_attach('checked', 'f'), simhash_guard('checked', source => 'f');
CREATE FUNCTION store(id integer, f bigint) RETURNS integer LANGUAGE sql AS
    'INSERT INTO checked VALUES (id, f) RETURNING id';
DO $$
DECLARE
    stored integer;
BEGIN
    BEGIN
        stored = store(1, 0);
    EXCEPTION WHEN check_violation THEN
        RAISE WARNING 'caught, % locks', guard_locks();
    END;
    INSERT INTO checked VALUES (2, 1);
END
$$;
SELECT id FROM checked;
