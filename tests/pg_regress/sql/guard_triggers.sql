-- Guards and other triggers on a table, and functions that run while a row is being stored.

-- The guard sees the row as earlier triggers have changed it.
CREATE TABLE docs (id integer PRIMARY KEY, body text);
CREATE TABLE words (id integer PRIMARY KEY, word text);
SELECT simhash_index('docs', 'body'), simhash_guard('docs');
SELECT simhash_index('words', 'word'), simhash_guard('words', 'skip');
CREATE FUNCTION shorten() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN new.body = split_part(new.body, '':'', 1); RETURN new; END';
CREATE TRIGGER shorten BEFORE INSERT OR UPDATE ON docs FOR EACH ROW EXECUTE FUNCTION shorten();
INSERT INTO docs VALUES (1, 'A text:one');
INSERT INTO docs VALUES (2, 'a text:two');
INSERT INTO docs VALUES (2, 'a second text');
UPDATE docs SET body = 'a text:three' WHERE id = 2;

-- A trigger that inserts into another guarded table, and into the same one.
CREATE FUNCTION split() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO public.words SELECT new.id * 10 + n, word
    FROM string_to_table(new.body, ' ') WITH ORDINALITY AS t (word, n);
    IF new.id < 100 THEN
        INSERT INTO public.docs VALUES (new.id + 100, new.body || ' ' || new.body || ' again');
    END IF;
    RETURN new;
END
$$;
CREATE TRIGGER a_split BEFORE INSERT ON docs FOR EACH ROW EXECUTE FUNCTION split();
INSERT INTO docs VALUES (3, 'some third text');
SELECT id, word FROM words ORDER BY id;
SELECT id, body FROM docs ORDER BY id;
SELECT guard_locks();
DROP TRIGGER a_split ON docs;

-- A row that a later trigger drops does not conflict with what the statement writes after that: in a trigger of the
-- statement, or for its next row.
CREATE FUNCTION filter() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RETURN CASE WHEN new.body NOT LIKE 'bad%' THEN new END; END $$;
CREATE FUNCTION replace_bad() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF pg_trigger_depth() = 1 THEN
        INSERT INTO public.docs SELECT max(id) + 1, 'Bad text, but kept' FROM public.docs
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN new;
END
$$;
BEGIN;
CREATE TRIGGER zzzz_filter BEFORE INSERT ON docs FOR EACH ROW WHEN (new.id < 100) EXECUTE FUNCTION filter();
CREATE TRIGGER replace_bad AFTER INSERT ON docs FOR EACH STATEMENT EXECUTE FUNCTION replace_bad();
INSERT INTO docs VALUES (7, 'bad text but kept');
SELECT id, body FROM docs WHERE body ILIKE 'bad%';
DELETE FROM docs WHERE body ILIKE 'bad%';
DROP TRIGGER replace_bad ON docs;
CREATE TRIGGER a_replace_bad BEFORE INSERT ON docs FOR EACH ROW WHEN (new.id = 8) EXECUTE FUNCTION replace_bad();
INSERT INTO docs VALUES (7, 'bad text but kept'), (8, 'number eight');
SELECT id, body FROM docs WHERE body ILIKE 'bad%';
ROLLBACK;

-- A function in RETURNING runs after the row is stored. For its INSERT, the row counts with the text that a later
-- trigger has stored, until the row is deleted. The function can change the row itself.
CREATE FUNCTION censor() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN new.body = 'nothing to read'; RETURN new; END $$;
CREATE FUNCTION after_store(new integer, old integer, content text) RETURNS integer LANGUAGE sql AS $$
    DELETE FROM public.docs WHERE id = old;
    INSERT INTO public.docs VALUES (new, content) RETURNING id;
$$;
CREATE FUNCTION touch(docs) RETURNS integer LANGUAGE sql AS
    $$ UPDATE public.docs SET body = body || '!' WHERE id = $1.id RETURNING id $$;
BEGIN;
SELECT simhash_guard('docs', 'skip');
CREATE TRIGGER zzzz_censor BEFORE INSERT ON docs FOR EACH ROW WHEN (new.id = 7) EXECUTE FUNCTION censor();
INSERT INTO docs VALUES (7, 'some bad text here') RETURNING id, after_store(107, 0, 'Some bad text here');
INSERT INTO docs VALUES (8, 'yet more text') RETURNING id, after_store(108, 0, 'Yet more text');
INSERT INTO docs VALUES (9, 'the last text') RETURNING id, after_store(109, 9, 'The last text');
INSERT INTO docs VALUES (10, 'a text to touch') RETURNING id, touch(docs);
SELECT id, body FROM docs WHERE id IN (7, 8, 9, 10, 107, 108, 109) ORDER BY id;
ROLLBACK;

-- A later trigger may write a row near the one that is being stored while a third row conflicts with this one, but not
-- after it has deleted that row: then this one is stored too.
CREATE FUNCTION write_copy() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM public.after_store(new.id + 100, new.id % 2, upper(new.body)); RETURN new; END $$;
CREATE TRIGGER zzzz BEFORE INSERT ON docs FOR EACH ROW WHEN (new.id < 100) EXECUTE FUNCTION write_copy();
SELECT sqlstate_of(format('INSERT INTO docs VALUES (%s, ''words of row %1$s'') ON CONFLICT DO NOTHING', id))
FROM docs WHERE id < 3 ORDER BY id;
