"""Searches return exactly the rows of their snapshot while other sessions write to the table.

    python tests/load/searches [--times N] [--writers N] [--checkers N] [--seed N]

Writers insert, update and delete near-duplicates, and roll some of that back. One session vacuums the tables and
rebuilds their indexes. Checkers run statements at READ COMMITTED that compute each answer twice, by the scan and by a
sequential scan. A statement has one snapshot, so both answers must be the same. Other statements lock or update the
near rows: what they return must be near after they have waited for a writer. This goes on until each kind of statement
has run at least N times, and VACUUM and REINDEX at least a thirtieth of that.

Needs the server of psql's environment (PGHOST and so on), with pg_simhash, as a superuser, and the packages of
tests/requirements.txt. The test makes its own database. The exit status is 1 if an answer is wrong, and 75 if a
statement hangs or no search finds a row (patience.py).
"""

import argparse
import collections
import random
import sys
import threading

import psycopg

sys.path.append(f"{sys.path[0]}/..")
import database
from patience import LIMIT, NotReached, not_reached, until_ended

DATABASE = "searches"
# The first has covering indexes, the second plain ones.
TABLES = "covering", "plain"
ROWS = 8_000
# The fingerprints are near one of these many, so that searches find something.
GROUPS = 40

SETUP = f"""
CREATE FUNCTION print_of(g integer, noise integer) RETURNS bigint IMMUTABLE LANGUAGE sql
    RETURN hashint8extended(g, 0) # (1::bigint << noise % 64) # (1::bigint << noise / 64 % 64);
CREATE FUNCTION fill(t regclass, covering boolean) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF covering THEN
        PERFORM simhash_attach(t, 'fp');
    ELSE
        FOR block IN 0 .. 3 LOOP
            EXECUTE format('CREATE INDEX ON %s (simhash_block(fp, %s))', t, block);
        END LOOP;
    END IF;
    EXECUTE format('INSERT INTO %s (fp) SELECT CASE WHEN n %% 2 = 0 THEN print_of(n %% {GROUPS}, n)
        ELSE hashint8extended(n, 1) END FROM generate_series(1, {ROWS}) AS n', t);
END $$;
"""
CREATE = """
CREATE TABLE {table} (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tag integer NOT NULL DEFAULT 0, fp bigint)
    WITH (fillfactor = 70);
SELECT fill('{table}', {covering});
"""

# Each of these computes an answer by the scan, and the same without it: it does not recognise the distance plus zero.
# $1 is the query, $2 the distance k, $3 a limit. From PostgreSQL 16 on, ORDER BY id would make the planner read the rows
# in the order of the primary key.
ANSWERS = {
    "rows": (
        "SELECT array_agg(id ORDER BY -id) FROM {table} WHERE simhash_near(fp, $1, $2)",
        "SELECT array_agg(id ORDER BY -id) FROM {table} WHERE hamming(fp, $1) + 0 <= $2",
    ),
    "count": (
        "SELECT count(*) FROM {table} WHERE simhash_near(fp, $1, $2)",
        "SELECT count(*) FROM {table} WHERE hamming(fp, $1) + 0 <= $2",
    ),
    "nearest": (
        "SELECT array_agg(d) FROM (SELECT id, hamming(fp, $1) + 0 AS d FROM {table} ORDER BY fp <~> $1 LIMIT $3) AS s",
        "SELECT array_agg(d) FROM (SELECT hamming(fp, $1) + 0 AS d FROM {table} ORDER BY d LIMIT $3) AS s",
    ),
    "nearest distances": (
        "SELECT array_agg(d) FROM (SELECT fp <~> $1 AS d FROM {table} ORDER BY d LIMIT $3) AS s",
        "SELECT array_agg(d) FROM (SELECT hamming(fp, $1) + 0 AS d FROM {table} ORDER BY d LIMIT $3) AS s",
    ),
}
LOCKING = "statements that lock"
# What these return must be at most at distance k, and none may be returned that did not match when it was locked.
LOCKS = (
    "SELECT hamming(fp, $1) + 0 FROM {table} WHERE simhash_near(fp, $1, $2) FOR UPDATE",
    "SELECT hamming(fp, $1) + 0 FROM {table} WHERE simhash_near(fp, $1, $2) FOR SHARE SKIP LOCKED",
    "UPDATE {table} SET tag = tag + 1 WHERE simhash_near(fp, $1, $2) RETURNING hamming(fp, $1) + 0",
)

WRITES = (
    "INSERT INTO {table} (fp) VALUES (print_of($1, $2))",
    "INSERT INTO {table} (fp) SELECT print_of($1, $2 + n) FROM generate_series(1, 20) AS n",
    "INSERT INTO {table} (fp) SELECT NULL",
    # Other block values: new entries in the indexes.
    "UPDATE {table} SET fp = print_of($1, $2) WHERE id = (SELECT id FROM {table} WHERE id >= $3 ORDER BY id LIMIT 1)",
    # The same block values: the new version of the row is found by the same entries.
    "UPDATE {table} SET tag = tag + 1 WHERE id = (SELECT id FROM {table} WHERE id >= $3 ORDER BY id LIMIT 1)",
    "DELETE FROM {table} WHERE id IN (SELECT id FROM {table} WHERE id >= $3 ORDER BY id LIMIT 12)",
    "DELETE FROM {table} WHERE simhash_near(fp, print_of($1, $2), 1)",
)


class Load:
    def __init__(self, options):
        self.options = options
        self.wanted = dict.fromkeys((*ANSWERS, LOCKING, "writes"), options.times)
        self.wanted |= dict.fromkeys(("VACUUM", "REINDEX"), options.times // 30)
        self.done = collections.Counter()
        self.found = 0
        self.wrong, self.hung = [], []
        self.lock = threading.Lock()

    def reached(self):
        """How much of what is wanted has been done."""
        return sum(min(self.done[what], times) for what, times in self.wanted.items())

    def going_on(self):
        return not self.wrong and not self.hung and self.reached() < sum(self.wanted.values())

    def count(self, what, found=0):
        with self.lock:
            self.done[what] += 1
            self.found += found

    def fail(self, message):
        with self.lock:
            self.wrong.append(message)

    def session(self, number, work):
        """Runs `work` in a session until the end. A deadlock is what several sessions that lock rows may meet."""
        rng = random.Random(f"{self.options.seed} {number}")
        try:
            with connect() as connection:
                while self.going_on():
                    try:
                        work(connection, rng)
                    except (psycopg.errors.DeadlockDetected, psycopg.errors.UniqueViolation) as error:
                        connection.rollback()
                        self.count(type(error).__name__)
        except psycopg.errors.QueryCanceled as error:
            self.hung.append(f"a statement hangs: {error}")
        except Exception as error:
            self.fail(f"{type(error).__name__}: {error}")

    def write(self, connection, rng):
        number = rng.randrange(len(WRITES))
        arguments = [rng.randrange(GROUPS), rng.randrange(4096), rng.randrange(2 * ROWS)]
        connection.execute("BEGIN")
        run(connection, WRITES[number].format(table=rng.choice(TABLES)), arguments, "integer, integer, bigint")
        commits = rng.random() < 0.85
        connection.execute("COMMIT" if commits else "ROLLBACK")
        self.count("writes" if commits else "writes rolled back")

    def disturb(self, connection, rng):
        table = rng.choice(TABLES)
        # To truncate a table, VACUUM waits for up to five seconds until no other session uses the table.
        vacuum = "VACUUM (TRUNCATE false, ANALYZE {})"
        command = rng.choice((vacuum.format("false"), vacuum.format("true"), "REINDEX TABLE CONCURRENTLY"))
        connection.execute(f"{command} {table}")
        self.count(command.split()[0])

    def check(self, connection, rng):
        table = rng.choice(TABLES)
        (query,) = connection.execute(
            "SELECT print_of(%s, %s)", [rng.randrange(GROUPS), rng.randrange(4096)]
        ).fetchone()
        k, limit = rng.choice((0, 1, 3, 3, 3, 5, 8, 12)), rng.choice((1, 5, 20, 300))
        if rng.random() < 0.2:
            rows = run(connection, rng.choice(LOCKS).format(table=table), [query, k])
            if far := [distance for (distance,) in rows if distance > k]:
                self.fail(f"{table}: rows at distances {far} were locked within {k} of {query}")
            self.count(LOCKING, len(rows))
            return
        name = rng.choice(list(ANSWERS))
        scan, oracle = (text.format(table=table) for text in ANSWERS[name])
        ((found, expected),) = run(
            connection, f"SELECT ({scan}), ({oracle})", [query, k, limit], "bigint, integer, integer"
        )
        if found != expected:
            self.fail(f"{table}: {name} of {query} with k = {k} and limit {limit}: {found}, not {expected}")
        self.count(name, found if isinstance(found, int) else len(found or ()))


def connect():
    # Autovacuum would cancel nothing here, and the plans must have the scan however small the table is.
    options = f"-c enable_seqscan=off -c enable_sort=off -c jit=off -c client_min_messages=warning {LIMIT}"
    return psycopg.connect(dbname=DATABASE, autocommit=True, options=options)


def run(connection, text, arguments, types="bigint, integer"):
    """Prepares the statement in the server, once a session, and so comes to generic plans too."""
    name = f"s{abs(hash(text))}"
    if not connection.execute("SELECT 1 FROM pg_prepared_statements WHERE name = %s", [name]).fetchone():
        connection.execute(f"PREPARE {name} ({types}) AS {text}")
    values = ", ".join(str(argument) for argument in arguments)
    cursor = connection.execute(f"EXECUTE {name} ({values})")
    return cursor.fetchall() if cursor.description else []


def check_plans():
    """The scan computes each first answer, and does not compute the second."""
    with connect() as connection:
        for table in TABLES:
            for name, texts in ANSWERS.items():
                for text, by_scan in zip(texts, (True, False)):
                    text = text.format(table=table).replace("$1", "42").replace("$2", "3").replace("$3", "5")
                    plan = "\n".join(line for (line,) in connection.execute(f"EXPLAIN (COSTS OFF) {text}"))
                    if ("SimhashScan" in plan) != by_scan:
                        sys.exit(f"{table}: not the plan that {name} needs:\n{plan}")


def main():
    parser = argparse.ArgumentParser(prog="tests/load/searches")
    parser.add_argument("--times", type=int, default=300)
    parser.add_argument("--writers", type=int, default=4)
    parser.add_argument("--checkers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    options = parser.parse_args()
    database.create(DATABASE)
    with connect() as superuser:
        superuser.execute(SETUP)
        for table in TABLES:
            superuser.execute(CREATE.format(table=table, covering=table == "covering"))
            superuser.execute(f"VACUUM ANALYZE {table}")
    check_plans()

    load = Load(options)
    works = [load.disturb] + [load.write] * options.writers + [load.check] * options.checkers
    threads = [threading.Thread(target=load.session, args=item, daemon=True) for item in enumerate(works)]
    for thread in threads:
        thread.start()
    with not_reached():
        until_ended(lambda: not any(thread.is_alive() for thread in threads), load.reached, "the work that is wanted")
        if load.hung:
            raise NotReached(load.hung[0])
        if not load.wrong and not load.found:
            raise NotReached("no search found a row")

    done = ", ".join(f"{name} {count}" for name, count in sorted(load.done.items()))
    print(f"seed {options.seed}: {done}; {load.found} rows found, {len(load.wrong)} wrong answers")
    for message in load.wrong:
        print(f"FAILED: {message}", file=sys.stderr)
    database.drop(DATABASE)
    sys.exit(bool(load.wrong))


main()
