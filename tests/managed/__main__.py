"""docs/managed.md and sql/pg_simhash_managed.sql, run by a role without privileges in a database without the extension.

Bands find what the extension finds. The functions return what the extension's return, and call nothing of others.
Searches find what comparing every row finds, by the indexes. Locks and the trigger keep near-duplicates out that
several sessions write.

If TLE names the file of `make tle`, the server has pg_tle too, which installs the functions.
"""

import contextlib
import itertools
import os
import pathlib
import random
import re
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor

import psycopg
from psycopg.rows import scalar_row

import database
from blocks import blocks
from patience import until

PROJECT = pathlib.Path(__file__).parents[2]
EDITION_SQL = (PROJECT / "sql/pg_simhash_managed.sql").read_text(encoding="utf-8")
TLE = os.environ.get("TLE")
PAGE = (PROJECT / "docs/managed.md").read_text(encoding="utf-8")
DATABASE = ROLE = "managed"
ROWS = 5000
QUERIES = 210
# An index scan is chosen by itself only in a large table, so the tests forbid the scan of the whole table.
SETTINGS = f"-c enable_seqscan=off -c role={ROLE}"


def sql_of_page(beginning):
    """The only block of SQL of the page that begins in this way."""
    (block,) = (
        "\n".join(lines) for language, lines in blocks(PAGE) if language == "sql" and lines[0].startswith(beginning)
    )
    return block


def connect():
    return database.connect(SETTINGS, dbname=DATABASE)


def signed(bits):
    return bits - (bits >> 63 << 64)


def distance(a, b):
    return ((a ^ b) & (1 << 64) - 1).bit_count()


def flip_bits(rng, fingerprint, bits):
    for bit in rng.sample(range(64), bits):
        fingerprint ^= 1 << bit
    return signed(fingerprint & (1 << 64) - 1)


def make_fingerprints(rng, count):
    """Random ones, some that are near these, and the ends of the range."""
    made = [0, -1, 1, -(2**63), 2**63 - 1, 65535, -65536, 1 << 48, -(1 << 48)]
    while len(made) < count:
        first = signed(rng.getrandbits(64))
        made.append(first)
        made += [flip_bits(rng, first, bits) for bits in range(7) if rng.random() < 0.3]
    return made[:count]


def make_texts(rng, count):
    """Texts of 10 to 60 words, each with up to three variants."""
    texts = []
    while len(texts) < count:
        words = [f"w{rng.randrange(10**6)}" for _ in range(rng.randrange(10, 60))]
        texts.append(" ".join(words))
        for _ in range(rng.randrange(4)):
            changed = [word if rng.random() < 0.95 else "changed" for word in words]
            texts.append(" ".join(changed))
    return texts[:count]


class Managed(unittest.TestCase):
    def setUp(self):
        with database.connect(dbname="postgres") as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")
            connection.execute(f"DROP ROLE IF EXISTS {ROLE}")
            connection.execute(f"CREATE ROLE {ROLE}")
            connection.execute(f"CREATE DATABASE {DATABASE} OWNER {ROLE}")
        self.connection = connect()
        self.addCleanup(self.connection.close)
        self.install()
        self.rng = random.Random(17)

    def install(self):
        if not TLE:
            self.connection.execute(EDITION_SQL)
            return
        with database.connect(dbname=DATABASE) as administrator:
            administrator.execute("CREATE EXTENSION pg_tle")
            administrator.execute(pathlib.Path(TLE).read_text(encoding="utf-8"))
        self.connection.execute("CREATE EXTENSION pg_simhash_managed")

    def values(self, statement, parameters=(), prepare=None):
        cursor = self.connection.cursor(row_factory=scalar_row)
        return cursor.execute(statement, parameters, prepare=prepare).fetchall()

    def in_sessions(self, write):
        """Calls `write` in eight sessions at the same time, each with a random generator and a connection."""

        def run_session(seed):
            with connect() as connection:
                write(random.Random(seed), connection)

        with ThreadPoolExecutor(8) as sessions:
            list(sessions.map(run_session, range(8)))  # This raises the error of a session.

    def plan(self, statement):
        return "\n".join(self.values(f"EXPLAIN (COSTS OFF) {statement}"))


class Texts(Managed):
    def setUp(self):
        super().setUp()
        self.connection.execute(sql_of_page("CREATE TABLE docs ("))
        self.connection.execute(sql_of_page("CREATE INDEX ON docs"))

    def test_searches(self):
        """The index finds the texts that share a band. Those that resemble a text, and have a near fingerprint, are
        near it."""
        self.connection.execute("CREATE SCHEMA extension; CREATE EXTENSION pg_simhash SCHEMA extension")
        bands = "ARRAY(SELECT extension.simhash_band({0}, band) FROM generate_series(0, 5) AS band)"
        insert = f"INSERT INTO docs (body, bands) SELECT body, {bands.format('body')} FROM unnest(%s::text[]) AS body"
        self.connection.execute(insert, [make_texts(self.rng, 2000)])
        self.connection.execute("INSERT INTO docs (body) VALUES ('...')")
        self.connection.execute("ANALYZE docs")
        pairs = "SELECT this.id, other.id FROM docs AS this JOIN docs AS other ON "
        candidates = f"{pairs} other.bands && this.bands"
        resembling = "extension.simhash_resemblance(this.body, other.body) >= 0.84"
        close = "extension.hamming(extension.simhash(this.body), extension.simhash(other.body)) <= 20"
        found = self.connection.execute(f"{candidates} AND {resembling} AND {close}").fetchall()
        near = self.connection.execute(f"{pairs} extension.simhash_near(this.body, other.body)").fetchall()
        self.assertEqual(sorted(found), sorted(near))
        self.assertGreater(len(near), 2500)
        self.assertIn("Bitmap Index Scan on docs_bands_idx", self.plan(candidates))

    def lock(self, bands, connection=None, table="docs"):
        (connection or self.connection).execute("SELECT simhash_lock(%s, %s::integer[])", [table, bands])

    def test_locks(self):
        """A session waits for another that has one of its bands in the same table."""
        self.connection.execute("CREATE TABLE others ()")
        self.connection.execute("BEGIN")
        self.lock([-5, 7, 7])
        with connect() as other:
            other.execute("SET lock_timeout = '100ms'")
            self.lock([6, 8], other)
            self.lock([7], other, "others")
            self.lock(None, other)
            with self.assertRaises(psycopg.errors.LockNotAvailable):
                self.lock([9, -5], other)
            self.connection.execute("COMMIT")
            self.lock([9, -5], other)

    def test_many_sessions(self):
        """Sessions that store rows of a few bands at the same time: no two rows share a band. There is no deadlock."""

        def write(rng, connection):
            for _ in range(100):
                bands = rng.sample(range(40), 6)
                with connection.transaction():
                    self.lock(bands, connection)
                    connection.execute(
                        "INSERT INTO docs (body, bands) SELECT '', %s::integer[]"
                        " WHERE NOT EXISTS (SELECT FROM docs WHERE bands && %s::integer[])",
                        [bands, bands],
                    )

        self.in_sessions(write)
        stored = [band for bands in self.values("SELECT bands FROM docs") for band in bands]
        self.assertGreater(len(stored), 0)
        self.assertEqual(len(set(stored)), len(stored))


class Hostile(Managed):
    """Objects that others have made in schemas of the search path are not used."""

    TYPES = "bigint", "integer", "smallint", "text", "name", "oid", "bit", "regclass"
    FUNCTIONS = (
        "bit_count(bit)", "bit_count(bigint)", "generate_series(integer, integer)", "unnest(integer[])", "hashoid(oid)",
        "pg_advisory_xact_lock(integer, integer)", "pg_advisory_xact_lock(bigint)", "current_setting(text)",
        "format(text, text, text)", "format(text, name, text)", "format(text, name, name)", "hamming(bigint, bigint)",
        "simhash_block(bigint, integer)", "simhash_probes(bigint, integer, integer)", "simhash_near(bigint, bigint)",
    )

    def make_hostile(self):
        """Operators, functions and types with the names of PostgreSQL's own, which raise an error."""
        raises = "LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE 'called'; END $$"
        operators = {*re.findall(r"OPERATOR\(pg_catalog\.(.*?)\)", EDITION_SQL), "||", "<>", "="}
        statements = []
        for left, right in itertools.product(self.TYPES, self.TYPES):
            for result in "boolean", "bigint":
                statements.append(f"CREATE FUNCTION evil_{result}({left}, {right}) RETURNS {result} {raises}")
            for operator in operators:
                result = "boolean" if operator[0] in "<=>" and operator not in ("<<", ">>") else "bigint"
                function = f"FUNCTION = evil_{result}, LEFTARG = {left}, RIGHTARG = {right}"
                statements.append(f"CREATE OPERATOR public.{operator} ({function})")
        for function in self.FUNCTIONS:
            statements.append(f"CREATE FUNCTION public.{function} RETURNS bigint {raises}")
        statements.append(f"CREATE FUNCTION raised() RETURNS boolean {raises}")
        for type_ in "text", "name", "oid", "regclass", "regprocedure", "regnamespace":
            statements.append(f"CREATE DOMAIN public.{type_} AS pg_catalog.{type_} CHECK (public.raised())")
        self.connection.execute("; ".join(statements))

    def install(self):
        self.make_hostile()
        self.connection.execute("CREATE SCHEMA app; SET search_path = app, public, pg_catalog")
        super().install()
        self.connection.execute("CREATE TABLE photos (id bigint PRIMARY KEY, simhash bigint)")

    def test_calls(self):
        """A caller with another search path calls nothing hostile either, nor an overload in the functions' schema."""
        called = set(re.findall(r"(?:pg_catalog|%4\$s)\.(\w+)\(", EDITION_SQL))
        self.assertLessEqual(called, {function.partition("(")[0] for function in self.FUNCTIONS})
        self.connection.execute("SET search_path = public, pg_catalog")
        calls = "hamming(0, 7)", "simhash_block(-1, 0)", "simhash_near(0, 7)", "simhash_near(0, 7, 2)"
        for call, expected in zip(calls, (3, 65535, True, False)):
            self.assertEqual(self.values(f"SELECT app.{call}"), [expected])
        self.assertEqual(len(self.values("SELECT app.simhash_probes(0, 0, 4)")[0]), 17)
        self.connection.execute("SELECT app.simhash_lock('app.photos', '{1,2}')")
        raises = "RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE 'called'; END $$"
        for overload in "simhash_near", "simhash_block", "hamming":
            self.connection.execute(f"CREATE FUNCTION app.{overload}(integer, integer) {raises}")
        for type_ in "bigint", "integer":
            table = f"app.of_{type_}"
            self.connection.execute(f"CREATE TABLE {table} (id bigint PRIMARY KEY, simhash {type_})")
            self.connection.execute(f"SELECT app.simhash_keep_out('{table}', 'simhash', 'id')")
            self.connection.execute(f"INSERT INTO {table} VALUES (1, 0)")
            with self.assertRaises(psycopg.errors.ExclusionViolation):
                self.connection.execute(f"INSERT INTO {table} VALUES (2, 7)")


class Fingerprints(Managed):
    def setUp(self):
        super().setUp()
        key = "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
        self.connection.execute(f"CREATE TABLE photos (id {key}, simhash bigint)")
        self.connection.execute(sql_of_page("CREATE INDEX ON photos"))

    def fill(self, rows=ROWS):
        """Fills the table photos, and returns its fingerprints by id."""
        stored = dict(enumerate(make_fingerprints(self.rng, rows), start=1))
        with self.connection.cursor().copy("COPY photos (simhash) FROM STDIN") as copy:
            for fingerprint in stored.values():
                copy.write_row((fingerprint,))
            copy.write_row((None,))
        self.connection.execute("ANALYZE photos")
        return stored


class Functions(Fingerprints):
    def test_same_as_the_extension(self):
        self.connection.execute("CREATE SCHEMA extension; CREATE EXTENSION pg_simhash SCHEMA extension")
        self.fill(30)
        pairs = "photos AS one (_, a), photos AS other (_, b)"
        each_block = "photos AS one (_, a), generate_series(0, 3) AS block"
        distances = "unnest('{0,1,2,3,4,5,6,7,8,11,12,NULL}'::integer[]) AS max_distance"
        for call, rows in (
            ("{0}hamming(a, b)", pairs),
            ("{0}simhash_near(a, b)", pairs),
            ("{0}simhash_near(a, b, max_distance)", f"{pairs}, {distances}"),
            ("{0}simhash_block(a, block)", each_block),
        ):
            with self.subTest(call):
                here, there = call.format(""), call.format("extension.")
                compared, differing = self.connection.execute(
                    f"SELECT count({here}), count(*) FILTER (WHERE {here} IS DISTINCT FROM {there}) FROM {rows}"
                ).fetchone()
                self.assertGreater(compared, 0)
                self.assertEqual(differing, 0)


class Searches(Fingerprints):
    SEARCHES = (("%s::bigint", 3), ("%s::bigint, 1", 1), ("%s::bigint, 6", 6), ("%s::bigint, 8", 8))

    def assert_indexed(self, plan):
        self.assertEqual(plan.count("Bitmap Index Scan on photos_"), 4, plan)
        self.assertIn("BitmapOr", plan)
        self.assertNotIn("simhash_near(", plan)

    def test_complete(self):
        """Searches find all near rows, by custom plans and by a generic plan."""
        stored = self.fill()
        for arguments, max_distance in self.SEARCHES:
            found = 0
            for mode in ("force_custom_plan", "force_generic_plan"):
                self.connection.execute(f"SET plan_cache_mode = {mode}")
                for turn in range(QUERIES):
                    query = flip_bits(self.rng, self.rng.choice(list(stored.values())), turn % 10)
                    expected = [id for id, stored_one in stored.items() if distance(stored_one, query) <= max_distance]
                    search = f"SELECT id FROM photos WHERE simhash_near(simhash, {arguments}) ORDER BY id"
                    self.assertEqual(self.values(search, [query], prepare=True), expected)
                    found += len(expected)
            self.assertGreater(found, QUERIES / 10)

    def test_plans(self):
        self.fill()
        for arguments, _ in self.SEARCHES:
            search = "SELECT other.id FROM photos AS other WHERE simhash_near(other.simhash, {})"
            self.assert_indexed(self.plan(search.format(arguments % 1)))
            self.connection.execute(f"PREPARE search(bigint) AS {search.format(arguments % '$1')}")
            for mode in ("force_custom_plan", "force_generic_plan"):
                self.connection.execute(f"SET plan_cache_mode = {mode}")
                self.assert_indexed(self.plan("EXECUTE search(1)"))
            self.connection.execute("DEALLOCATE search")
            join = search.replace("WHERE", "JOIN photos AS this ON").format(arguments % "this.simhash")
            self.assert_indexed(self.plan(f"{join} WHERE this.id = 42"))
            # The page advises against this.
            self.assertNotIn("Bitmap", self.plan(search.format(arguments % "(SELECT 1)")))


class Inserts(Fingerprints):
    def setUp(self):
        super().setUp()
        self.connection.execute("SELECT simhash_keep_out('photos', 'simhash', 'id')")

    def insert(self, fingerprint, connection=None):
        (connection or self.connection).execute("INSERT INTO photos (simhash) VALUES (%s)", [fingerprint])

    def assert_refused(self, statement, *parameters):
        with self.assertRaises(psycopg.errors.ExclusionViolation) as caught:
            self.connection.execute(statement, parameters)
        self.assertEqual(caught.exception.diag.constraint_name, "keep_out")
        self.assertEqual(caught.exception.diag.table_name, "photos")

    def test_one_statement(self):
        """A row is compared with the rows before it of the same statement."""
        self.assert_refused("INSERT INTO photos (simhash) VALUES (0), (-1), (7)")
        self.assertEqual(self.values("SELECT count(*) FROM photos"), [0])
        self.connection.execute("INSERT INTO photos (simhash) VALUES (0), (15), (NULL), (NULL)")

    def test_update(self):
        self.insert(0)
        self.insert(-1)
        self.connection.execute("UPDATE photos SET simhash = 1 WHERE simhash = 0")
        self.assert_refused("UPDATE photos SET simhash = 7 WHERE simhash = -1")

    def test_key(self):
        """A row is not a near-duplicate of itself if its key changes, or if ON CONFLICT updates it."""
        self.connection.execute("ALTER TABLE photos ALTER id SET GENERATED BY DEFAULT")
        self.insert(0)
        self.connection.execute("UPDATE photos SET id = 100, simhash = simhash")
        upsert = "INSERT INTO photos VALUES (100, 1) ON CONFLICT (id) DO UPDATE SET simhash = excluded.simhash"
        self.connection.execute(upsert)
        self.assertEqual(self.values("SELECT simhash FROM photos"), [1])
        self.assert_refused("INSERT INTO photos (id, simhash) VALUES (101, 0)")

    def test_unfit_key(self):
        """A key by which rows could be mistaken for each other is refused, as is one that does not exist."""
        self.connection.execute("CREATE TABLE tenants (tenant bigint, id bigint, at date UNIQUE, simhash bigint)")
        self.connection.execute("CREATE UNIQUE INDEX ON tenants (tenant, id)")
        self.connection.execute("ALTER TABLE tenants ALTER id SET NOT NULL, ALTER tenant SET NOT NULL")
        for key in "tenant", "id", "at", "nokey":
            with self.assertRaisesRegex(psycopg.errors.InvalidParameterValue, f'column "{key}" of table "tenants"'):
                self.connection.execute(f"SELECT simhash_keep_out('tenants', 'simhash', '{key}')")

    def test_generated_column(self):
        """A trigger does not see the values of generated columns, so a guard of one is refused."""
        self.connection.execute("CREATE TABLE hashes (id int PRIMARY KEY, simhash int GENERATED ALWAYS AS (1) STORED)")
        with self.assertRaisesRegex(psycopg.errors.FeatureNotSupported, "must not be generated"):
            self.connection.execute("SELECT simhash_keep_out('hashes', 'simhash', 'id')")

    def test_partitions(self):
        self.connection.execute("""
            CREATE TABLE parted (id bigint PRIMARY KEY, simhash bigint) PARTITION BY LIST (id);
            CREATE TABLE part PARTITION OF parted FOR VALUES IN (1);
            CREATE TABLE others PARTITION OF parted DEFAULT""")
        for table in "parted", "part":
            with self.assertRaisesRegex(psycopg.errors.FeatureNotSupported, "would be lost"):
                self.connection.execute(f"SELECT simhash_keep_out('{table}', 'simhash', 'id', 'skip')")
        self.connection.execute("SELECT simhash_keep_out('parted', 'simhash', 'id'); INSERT INTO parted VALUES (1, 0)")
        with self.assertRaises(psycopg.errors.ExclusionViolation):
            self.connection.execute("INSERT INTO parted VALUES (2, 0)")

    def test_skip(self):
        """In a table with other names, one of which means something in triggers, without the functions in the path."""
        self.connection.execute("""
            CREATE SCHEMA other;
            CREATE TABLE other."My docs" ("the key" text PRIMARY KEY, existing bigint, tg_op text, own integer);
            SELECT simhash_keep_out('other."My docs"', 'existing', 'the key', 'skip');
            SET search_path = other;
            INSERT INTO "My docs" VALUES ('a', 0), ('b', 7), ('c', 15), ('d', NULL)""")
        self.assertEqual(self.values('SELECT "the key" FROM "My docs" ORDER BY 1'), ["a", "c", "d"])
        self.connection.execute("""UPDATE "My docs" SET "the key" = 'e', existing = 16 WHERE "the key" = 'a'""")
        self.assertEqual(self.values('SELECT existing FROM "My docs" WHERE "the key" = \'e\''), [16])

    def test_isolation(self):
        for level in ("REPEATABLE READ", "SERIALIZABLE"):
            self.connection.execute(f"BEGIN ISOLATION LEVEL {level}")
            with self.assertRaises(psycopg.errors.FeatureNotSupported):
                self.insert(0)
            self.connection.execute("ROLLBACK")

    def insert_near_until(self, other, end_command):
        """Inserts a row in another session while a transaction that has stored a near one is open, ends that
        transaction by the command, and returns what became of the row."""
        outcome = []

        def insert():
            try:
                self.insert(7, other)
                outcome.append("stored")
            except psycopg.errors.ExclusionViolation:
                outcome.append("refused")

        self.connection.execute("BEGIN")
        self.insert(0)
        thread = threading.Thread(target=insert)
        thread.start()
        waiting = "SELECT true FROM pg_locks WHERE pid = %s AND locktype = 'advisory' AND NOT granted"
        pid = other.info.backend_pid
        until(lambda: self.values(waiting, [pid]) or not thread.is_alive(), "the lock of another session")
        self.assertTrue(thread.is_alive(), "the second session does not wait")
        self.assertEqual(outcome, [])
        self.connection.execute(end_command)
        until(lambda: not thread.is_alive(), "the end of the INSERT")
        return outcome

    def test_waits_for_commit(self):
        with connect() as other:
            self.assertEqual(self.insert_near_until(other, "COMMIT"), ["refused"])

    def test_waits_for_rollback(self):
        with connect() as other:
            self.assertEqual(self.insert_near_until(other, "ROLLBACK"), ["stored"])

    def test_many_sessions(self):
        """The copies of each original differ in at most two bits. One row of them is stored."""
        originals = [signed(self.rng.getrandbits(64)) for _ in range(20)]

        def write(rng, connection):
            for _ in range(40):
                with contextlib.suppress(psycopg.errors.ExclusionViolation):
                    self.insert(flip_bits(rng, rng.choice(originals), 1), connection)

        self.in_sessions(write)
        stored = self.values("SELECT simhash FROM photos")
        self.assertFalse(any(distance(a, b) <= 3 for a, b in itertools.combinations(stored, 2)))
        self.assertEqual(len(stored), len(originals))


if __name__ == "__main__":
    unittest.main()
