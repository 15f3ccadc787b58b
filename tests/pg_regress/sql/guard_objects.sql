-- The action skip on tables whose rows are parts of objects, and on rows that a tool moves.

-- Multi-table inheritance of frameworks: the primary key is a foreign key.
CREATE TABLE pages (site integer, id integer, PRIMARY KEY (site, id));
CREATE TABLE articles (page integer, site integer, body text, near jsonb, PRIMARY KEY (site, page),
    FOREIGN KEY (site, page) REFERENCES pages);
CREATE TABLE lines (site integer, article integer, line integer, body text, PRIMARY KEY (site, article, line),
    FOREIGN KEY (site, article) REFERENCES articles);
SELECT simhash_index('articles', 'body'), simhash_index('lines', 'body');
SELECT simhash_guard('articles', 'skip');
SELECT simhash_guard('articles', 'reject'), simhash_guard('articles', 'mark', mark_column => 'near');
SELECT simhash_guard('lines', 'skip');
CREATE TABLE parted (site integer, id integer, body text, PRIMARY KEY (site, id),
    FOREIGN KEY (site, id) REFERENCES pages) PARTITION BY LIST (site);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
SELECT simhash_index('parted', 'body'), simhash_guard('parted', 'skip');

-- A row is moved out of the default partition by DELETE and INSERT. Rows that were near before the guard came are
-- skipped, unless the guard is disabled in the transaction that moves them.
CREATE TABLE events (id integer, day date, body text, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
CREATE TABLE events_default PARTITION OF events DEFAULT;
SELECT simhash_index('events', 'body');
INSERT INTO events VALUES (1, '2026-01-01', 'one two three'), (2, '2026-01-02', 'One two three'),
    (3, '2026-02-01', 'four');
SELECT simhash_guard('events', 'skip');
CREATE FUNCTION move() RETURNS TABLE (id integer, part regclass) LANGUAGE plpgsql AS $$
BEGIN
    CREATE TABLE january (LIKE events INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING GENERATED);
    CREATE TEMP TABLE moved ON COMMIT DROP AS SELECT e.id, e.day, e.body FROM events_default e WHERE day < '2026-02-01';
    DELETE FROM events_default WHERE day < '2026-02-01';
    ALTER TABLE events ATTACH PARTITION january FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
    INSERT INTO events SELECT * FROM moved;
    RETURN QUERY SELECT events.id, tableoid::regclass FROM events ORDER BY events.id;
END
$$;
BEGIN;
SELECT * FROM move();
ROLLBACK;
BEGIN;
ALTER TABLE events DISABLE TRIGGER zzz_simhash_guard;
SELECT * FROM move();
ALTER TABLE events ENABLE TRIGGER zzz_simhash_guard;
COMMIT;
INSERT INTO events VALUES (4, '2026-01-03', 'one TWO three');
SELECT id, tableoid::regclass FROM events ORDER BY id;
SELECT tgrelid::regclass, tgenabled FROM pg_trigger WHERE tgname = 'zzz_simhash_guard'
    AND tgrelid::regclass::text ~ 'events|january' ORDER BY 1;
