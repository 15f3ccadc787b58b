"""The SQL of docs/managed.md in a database without the extension: its searches find what comparing every row finds, by
the indexes; its trigger keeps near-duplicates out that several sessions write.

Needs the server of psql's environment (PGHOST and so on), with pg_simhash, and the packages of tests/requirements.txt.
"""

import pathlib
import random
import sys
import threading
import unittest

import psycopg
from psycopg.rows import scalar_row

PROJECT = pathlib.Path(__file__).parents[2]
sys.path.append(str(PROJECT / "tests/documents"))
sys.path.append(str(PROJECT / "tests/load"))
from blocks import blocks
from patience import until

PAGE = (PROJECT / "docs/managed.md").read_text(encoding="utf-8")
DATABASE = "managed"
ROWS = 5000
QUERIES = 210
# An index scan is chosen by itself only in a large table, so the tests forbid the scan of the whole table.
SETTINGS = "-c enable_seqscan=off"


def sql(section, beginning):
    """The only block of SQL in a section that begins in this way."""
    (block,) = (
        "\n".join(lines)
        for language, lines in blocks(PAGE, section)
        if language == "sql" and lines[0].startswith(beginning)
    )
    return block


TABLE = sql("The table", "CREATE TABLE docs (")
NEAR = sql("Search", "CREATE FUNCTION near(")
TRIGGER = sql("Near-duplicates on insert", "CREATE FUNCTION reject_near(")


def connect(database=DATABASE, **options):
    return psycopg.connect(dbname=database, autocommit=True, options=SETTINGS, **options)


def signed(bits):
    return bits - (bits >> 63 << 64)


def distance(a, b):
    return ((a ^ b) & (1 << 64) - 1).bit_count()


def flipped(rng, fingerprint, bits):
    for bit in rng.sample(range(64), bits):
        fingerprint ^= 1 << bit
    return signed(fingerprint & (1 << 64) - 1)


def fingerprints(rng, count):
    """Random ones, families of near ones, and the ends of the range."""
    found = [0, -1, 1, -(2**63), 2**63 - 1, 65535, -65536, 1 << 48, -(1 << 48)]
    while len(found) < count:
        first = signed(rng.getrandbits(64))
        found.append(first)
        found += [flipped(rng, first, bits) for bits in range(7) if rng.random() < 0.3]
    return found[:count]


class Managed(unittest.TestCase):
    def setUp(self):
        with connect("postgres") as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")
            connection.execute(f"CREATE DATABASE {DATABASE}")
        self.connection = connect()
        self.addCleanup(self.connection.close)
        self.connection.execute(TABLE)
        self.connection.execute(NEAR)
        self.rng = random.Random(17)

    def values(self, statement, parameters=(), prepare=None):
        cursor = self.connection.cursor(row_factory=scalar_row)
        return cursor.execute(statement, parameters, prepare=prepare).fetchall()

    def plan(self, statement, parameters=()):
        return "\n".join(self.values(f"EXPLAIN (COSTS OFF) {statement}", parameters))

    def fill(self, rows=ROWS):
        """The fingerprints by id."""
        stored = dict(enumerate(fingerprints(self.rng, rows), start=1))
        with self.connection.cursor().copy("COPY docs (body, simhash) FROM STDIN") as copy:
            for fingerprint in stored.values():
                copy.write_row(("", fingerprint))
            copy.write_row(("without a fingerprint", None))
        self.connection.execute("ANALYZE docs")
        return stored

    def queries(self, stored):
        """Stored ones and others with up to six bits flipped, with the ids that are near them."""
        for turn in range(QUERIES):
            query = flipped(self.rng, self.rng.choice(list(stored.values())), turn % 7)
            yield query, [id for id, fingerprint in stored.items() if distance(fingerprint, query) <= 3]


class Searches(Managed):
    def assert_indexed(self, plan):
        self.assertEqual(plan.count("Bitmap Index Scan on docs_"), 4, plan)
        self.assertIn("BitmapOr", plan)
        self.assertNotIn("near(", plan)

    def check(self, statement):
        """A search with the parameter q is complete, with plans for each query and with a generic plan."""
        stored = self.fill()
        found = 0
        for mode in ("force_custom_plan", "force_generic_plan"):
            self.connection.execute(f"SET plan_cache_mode = {mode}")
            for query, expected in self.queries(stored):
                self.assertEqual(self.values(statement, {"q": query}, prepare=True), expected)
                found += len(expected)
        self.assertGreater(found, QUERIES)

    def test_blocks(self):
        """The generated columns are the blocks of the extension."""
        self.fill(2000)
        self.connection.execute("CREATE EXTENSION pg_simhash")
        wrong = self.values("""
            SELECT id FROM docs
            WHERE (block0, block1, block2, block3) IS DISTINCT FROM (simhash_block(simhash, 0),
                simhash_block(simhash, 1), simhash_block(simhash, 2), simhash_block(simhash, 3))""")
        self.assertEqual(wrong, [])
        self.assertEqual(self.values("SELECT count(block0) FROM docs"), [2000])

    def test_function(self):
        self.check("SELECT id FROM docs WHERE near(docs, %(q)s::bigint) ORDER BY id")

    def test_condition(self):
        """The condition of the function, written in the query."""
        condition = NEAR.partition("RETURN ")[2].rstrip(";").replace("doc.", "docs.").replace("query", "%(q)s::bigint")
        self.check(f"SELECT id FROM docs WHERE {condition} ORDER BY id")

    def test_indexes_on_expressions(self):
        """The page's other layout, for tables that cannot be rewritten."""
        blocks = [f"((simhash >> {shift}) & 65535)" for shift in (48, 32, 16)] + ["(simhash & 65535)"]
        near = NEAR.replace("::integer", "")
        for number, block in enumerate(blocks):
            self.assertIn(f"(doc.block{number} = ", near.replace("OR doc", "OR (doc"))
            near = near.replace(f"doc.block{number}", block.replace("simhash", "doc.simhash"))
        self.connection.execute("DROP FUNCTION near")
        self.connection.execute("ALTER TABLE docs DROP block0, DROP block1, DROP block2, DROP block3")
        self.connection.execute(near)
        for number, block in enumerate(blocks):
            self.connection.execute(f"CREATE INDEX CONCURRENTLY docs_{number} ON docs ({block})")
        self.check("SELECT id FROM docs WHERE near(docs, %(q)s::bigint) ORDER BY id")
        self.assert_indexed(self.plan("SELECT id FROM docs WHERE near(docs, 1)"))

    def test_plans(self):
        self.fill()
        self.assert_indexed(self.plan("SELECT id FROM docs WHERE near(docs, 1)"))
        self.connection.execute("PREPARE search(bigint) AS SELECT id FROM docs WHERE near(docs, $1)")
        for mode in ("force_custom_plan", "force_generic_plan"):
            self.connection.execute(f"SET plan_cache_mode = {mode}")
            self.assert_indexed(self.plan("EXECUTE search(1)"))
        join = "docs AS this JOIN docs AS other ON near(other, this.simhash) WHERE this.id = 42"
        self.assert_indexed(self.plan(f"SELECT other.id FROM {join}"))
        # What the page says not to do.
        self.assertNotIn("Bitmap", self.plan("SELECT id FROM docs WHERE near(docs, (SELECT 1::bigint))"))
        self.connection.execute("ALTER FUNCTION near STRICT")
        self.assertNotIn("Bitmap", self.plan("SELECT id FROM docs WHERE near(docs, 1)"))


class Inserts(Managed):
    def setUp(self):
        super().setUp()
        self.connection.execute(TRIGGER)

    def insert(self, fingerprint, connection=None):
        (connection or self.connection).execute("INSERT INTO docs (body, simhash) VALUES ('', %s)", [fingerprint])

    def assert_refused(self, statement, *parameters):
        with self.assertRaises(psycopg.errors.ExclusionViolation) as caught:
            self.connection.execute(statement, parameters)
        self.assertEqual(caught.exception.diag.constraint_name, "reject_near")
        self.assertEqual(caught.exception.diag.table_name, "docs")

    def test_distances(self):
        for bits in range(7):
            first = signed(self.rng.getrandbits(64))
            self.insert(first)
            near = flipped(self.rng, first, bits)
            if bits <= 3:
                self.assert_refused("INSERT INTO docs (body, simhash) VALUES ('', %s)", near)
            else:
                self.insert(near)
        self.insert(None)
        self.insert(None)

    def test_one_statement(self):
        """A row is compared with the rows before it of the same statement."""
        self.assert_refused("INSERT INTO docs (body, simhash) VALUES ('', 0), ('', -1), ('', 1)")
        self.assertEqual(self.values("SELECT count(*) FROM docs"), [0])

    def test_update(self):
        self.insert(0)
        self.insert(-1)
        self.connection.execute("UPDATE docs SET simhash = 1 WHERE simhash = 0")
        self.assert_refused("UPDATE docs SET simhash = 7 WHERE simhash = -1")

    def test_isolation(self):
        for level in ("REPEATABLE READ", "SERIALIZABLE"):
            self.connection.execute(f"BEGIN ISOLATION LEVEL {level}")
            with self.assertRaises(psycopg.errors.FeatureNotSupported):
                self.insert(0)
            self.connection.execute("ROLLBACK")

    def wait_for(self, other, end):
        """What becomes of a near row while another transaction, which then ends so, has stored one."""
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
        until(lambda: self.values(waiting, [other.info.backend_pid]) or not thread.is_alive(), "the lock of another session")
        self.assertTrue(thread.is_alive(), "the second session does not wait")
        self.assertEqual(outcome, [])
        self.connection.execute(end)
        until(lambda: not thread.is_alive(), "the end of the INSERT")
        return outcome

    def test_waits_for_commit(self):
        with connect() as other:
            self.assertEqual(self.wait_for(other, "COMMIT"), ["refused"])

    def test_waits_for_rollback(self):
        with connect() as other:
            self.assertEqual(self.wait_for(other, "ROLLBACK"), ["stored"])

    def write(self, family, clients=8, rows=40):
        """Many sessions store copies of the family at the same time; whether two of the stored rows are near."""
        errors = []

        def work(seed):
            rng = random.Random(seed)
            with connect() as connection:
                for _ in range(rows):
                    try:
                        self.insert(flipped(rng, rng.choice(family), 1), connection)
                    except psycopg.errors.ExclusionViolation:
                        pass
                    except psycopg.Error as error:
                        errors.append(error)
                        return

        threads = [threading.Thread(target=work, args=[seed]) for seed in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        stored = self.values("SELECT simhash FROM docs")
        return any(distance(a, b) <= 3 for place, a in enumerate(stored) for b in stored[:place])

    def test_many_sessions(self):
        family = [signed(self.rng.getrandbits(64)) for _ in range(20)]
        self.assertFalse(self.write(family))
        # All families are there: the copies of one differ in at most two bits.
        self.assertEqual(self.values("SELECT count(*) FROM docs"), [len(family)])

    def test_some_hundred_rows(self):
        """The lock table has room for the rows that the page names."""
        self.connection.execute("""
            INSERT INTO docs (body, simhash)
            SELECT '', ('x' || md5(n::text))::bit(64)::bigint FROM generate_series(1, 500) AS n""")


if __name__ == "__main__":
    unittest.main()
