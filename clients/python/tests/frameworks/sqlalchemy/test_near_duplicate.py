"""The error of a guard as values, from each driver, and through each wrapper."""

import asyncio

import asyncpg
import database
import psycopg
from database import NEAR, NEAR_RESEMBLANCE, OTHER, TEXT, Document, GuardedTest
from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError

from pg_simhash.psycopg import NearDuplicate, near_duplicate

INSERT = "INSERT INTO documents (body) VALUES (%s)"
ASYNC_INSERT = "INSERT INTO documents (body) VALUES ($1)"
COPIED = {"records": [(OTHER,), (NEAR,)], "columns": ["body"]}


class Psycopg(GuardedTest):
    action = "reject"

    def rejected(self, call=None, table="documents"):
        """The error of a statement that inserts NEAR."""
        with (
            database.connect(autocommit=True) as connection,
            self.assertRaises(psycopg.errors.ExclusionViolation) as caught,
        ):
            if call:
                call(connection)
            else:
                connection.execute(f"INSERT INTO {table} (body) VALUES (%s)", (NEAR,))
        return caught.exception

    def near_row(self, **values):
        (distance,) = self.execute("SELECT hamming(simhash(%s), simhash(%s))", TEXT, NEAR)[0]
        fields = {"distance": distance, "resemblance": NEAR_RESEMBLANCE, "schema": "public", "table": "documents"}
        return NearDuplicate(**{"key": {"id": 1}, "guard": "zzz_simhash_guard", **fields, **values})

    def test_values(self):
        near = near_duplicate(self.rejected())
        self.assertEqual(near, self.near_row())
        with self.assertRaises(AttributeError):
            near.distance = 0

    def test_wrapped(self):
        """An error that was raised from that of the driver, as Django raises it."""
        reason = self.rejected()
        try:
            raise RuntimeError from reason
        except RuntimeError as error:
            self.assertEqual(near_duplicate(error), self.near_row())

    def test_sqlalchemy(self):
        with self.engine.connect() as connection, self.assertRaises(IntegrityError) as caught:
            connection.execute(insert(Document).values(body=NEAR))
        self.assertEqual(near_duplicate(caught.exception), self.near_row())

    def test_key_of_several_columns(self):
        """Integers beyond 2^53, which JSON's readers may round, are strings; so are values of other types."""
        self.execute("CREATE TABLE notes (number bigint, day date, body text, PRIMARY KEY (number, day))")
        self.execute("SELECT simhash_attach('notes', 'body')")
        self.execute("""SELECT simhash_guard('notes', criterion => '{"max_distance": 6, "resemblance": null}')""")
        self.execute("INSERT INTO notes VALUES (9007199254740993, '2026-01-31', %s)", TEXT)

        def insert(connection):
            connection.execute("INSERT INTO notes VALUES (1, '2026-02-01', %s)", (NEAR,))

        near = near_duplicate(self.rejected(insert))
        self.assertEqual(
            near,
            self.near_row(key={"number": "9007199254740993", "day": "2026-01-31"}, resemblance=None, table="notes"),
        )

    def test_no_privileges(self):
        """A user who may not read the near row gets neither its key nor how near it is."""
        self.execute("DROP ROLE IF EXISTS frameworks_writer")
        self.execute("CREATE ROLE frameworks_writer")
        self.addCleanup(self.execute, "DROP ROLE frameworks_writer")
        self.addCleanup(self.execute, "DROP OWNED BY frameworks_writer")
        self.execute("GRANT USAGE ON SCHEMA public TO frameworks_writer")
        self.execute("GRANT INSERT ON documents TO frameworks_writer")

        def insert(connection):
            connection.execute("SET ROLE frameworks_writer")
            connection.execute(INSERT, (NEAR,))

        error = self.rejected(insert)
        self.assertEqual(near_duplicate(error), self.near_row(key={}, distance=None, resemblance=None))

    def test_trigger_by_hand(self):
        """The guard's name is that of its trigger."""
        self.execute("SELECT simhash_unguard('documents')")
        self.execute(
            "CREATE TRIGGER once BEFORE INSERT ON documents FOR EACH ROW EXECUTE FUNCTION"
            """ simhash_dedup('reject', '{"max_distance": 6, "resemblance": null}', 'simhash')"""
        )
        self.assertEqual(near_duplicate(self.rejected()), self.near_row(guard="once", resemblance=None))

    def test_other_errors(self):
        self.execute("CREATE TABLE stays (days int4range, EXCLUDE USING gist (days WITH &&))")
        for statement, error in (
            ("INSERT INTO stays VALUES ('[1,3]'), ('[3,4]')", psycopg.errors.ExclusionViolation),
            ("INSERT INTO documents (url, body) VALUES ('/1', 'x')", psycopg.errors.UniqueViolation),
            ("SELECT 1/0", psycopg.errors.DivisionByZero),
        ):
            with self.subTest(statement), self.assertRaises(error) as caught:
                self.execute(statement)
            self.assertIsNone(near_duplicate(caught.exception))
        self.assertIsNone(near_duplicate(ValueError("no error of a server")))


class Asyncpg(GuardedTest):
    action = "reject"

    def run_with(self, use):
        async def run():
            connection = await asyncpg.connect(database=database.NAME)
            try:
                return await use(connection)
            finally:
                await connection.close()

        return asyncio.run(run())

    def check(self, use):
        with self.assertRaises(asyncpg.ExclusionViolationError) as caught:
            self.run_with(use)
        near = near_duplicate(caught.exception)
        self.assertEqual((near.key, near.resemblance), ({"id": 1}, NEAR_RESEMBLANCE))
        self.assertEqual((near.guard, near.schema, near.table), ("zzz_simhash_guard", "public", "documents"))
        self.assertIsInstance(near.distance, int)
        self.assertEqual([row[2] for row in self.stored()], ["TEXT"])

    def test_execute(self):
        self.check(lambda connection: connection.execute(ASYNC_INSERT, NEAR))

    def test_fingerprint_as_int(self):
        """A fingerprint is an int in both directions, without a cast."""

        async def use(connection):
            fingerprint = await connection.fetchval("SELECT simhash FROM documents WHERE id = 1")
            statement = await connection.prepare("SELECT id FROM documents WHERE simhash_near(simhash, $1, $2)")
            self.assertEqual([parameter.name for parameter in statement.get_parameters()], ["int8", "int4"])
            return [row["id"] for row in await statement.fetch(fingerprint ^ 7, 3)]

        self.assertEqual(self.run_with(use), [1])

    def test_other_error(self):
        with self.assertRaises(asyncpg.UniqueViolationError) as caught:
            self.run_with(lambda connection: connection.execute("INSERT INTO documents (url, body) VALUES ('/1', 'x')"))
        self.assertIsNone(near_duplicate(caught.exception))


class AsyncpgSkip(GuardedTest):
    """What each call returns if a row is skipped."""

    action = "skip"

    run_with = Asyncpg.run_with

    def test_execute(self):
        status = self.run_with(lambda connection: connection.execute(ASYNC_INSERT, NEAR))
        self.assertEqual(status, "INSERT 0 0")
        self.assertEqual([row[2] for row in self.stored()], ["TEXT"])

    def test_returning(self):
        row = self.run_with(lambda connection: connection.fetchrow(f"{ASYNC_INSERT} RETURNING id", NEAR))
        self.assertIsNone(row)

    def test_executemany(self):
        self.run_with(lambda connection: connection.executemany(ASYNC_INSERT, [(OTHER,), (NEAR,)]))
        self.assertEqual([row[2] for row in self.stored()], ["TEXT", "OTHER"])

    def test_copy(self):
        status = self.run_with(lambda connection: connection.copy_records_to_table("documents", **COPIED))
        self.assertEqual(status, "COPY 1")
        self.assertEqual([row[2] for row in self.stored()], ["TEXT", "OTHER"])
