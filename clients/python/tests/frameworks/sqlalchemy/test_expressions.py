"""Expressions: their values, their SQL, and that searches use the indexes, with psycopg and with asyncpg."""

import json
import unittest

import database
import sqlalchemy
from database import DatabaseTest, Document
from psycopg import sql
from sqlalchemy import BigInteger, Column, MetaData, Table, Text, column, func, null, select
from sqlalchemy.dialects.postgresql import asyncpg
from sqlalchemy.exc import ArgumentError
from sqlalchemy.schema import CreateIndex
from texts import NEAR, OTHER, TEXT

from pg_simhash.sqlalchemy import (
    band,
    band_indexes,
    block_indexes,
    distance,
    near,
    resemblance,
    simhash,
    simhash_of_features,
    size,
)


def notes():
    columns = Column("tenant", BigInteger), Column("title", Text), Column("body", Text), Column("simhash", BigInteger)
    return Table("notes", MetaData(), *columns)


def created(indexes):
    """The commands that create indexes."""
    return [rendered(CreateIndex(index)) for index in indexes]


def rendered(expression):
    return str(expression.compile(dialect=asyncpg.dialect(), compile_kwargs={"literal_binds": True}))


class Values(DatabaseTest):
    """The values are those of the functions in SQL."""

    def value(self, expression):
        with self.engine.connect() as connection:
            return connection.scalar(select(expression))

    def test_texts(self):
        options = {"ngram": 2, "weights": {"it's": 0.5, "100%s": 0.25, "a:b": 1, "\\x": 0.125, "ж": 0.75}}
        options_json = json.dumps(options)
        for expression, statement, *parameters in (
            (simhash(TEXT), "simhash(%s)", TEXT),
            (simhash(TEXT, **options), "simhash(%s, %s)", TEXT, options_json),
            (simhash(None), "NULL"),
            (simhash_of_features(["a", "b"], [1, 0.5]), "simhash_of_features('{a,b}', '{1,0.5}')"),
            (band(TEXT, 5, **options), "simhash_band(%s, 5, %s)", TEXT, options_json),
            (size(TEXT), "simhash_size(%s)", TEXT),
            (resemblance(TEXT, NEAR, **options), "simhash_resemblance(%s, %s, %s)", TEXT, NEAR, options_json),
        ):
            with self.subTest(statement):
                self.assertEqual([(self.value(expression),)], self.execute(f"SELECT {statement}", *parameters))

    def test_distances(self):
        for a, b, bits in (0, 0, 0), (-(2**63), 2**63 - 1, 64), (2**62, 1, 2):
            with self.subTest(a=a, b=b):
                self.assertEqual(self.value(distance(a, b)), bits)
                self.assertEqual(self.value(near(a, b, bits)), True)
                self.assertEqual(self.value(near(a, b, bits - 1)), False)
        for a, b in (None, 1), (None, TEXT), (simhash(TEXT), None), (None, None), (null(), 1):
            with self.subTest(a=a, b=b):
                self.assertIsNone(self.value(near(a, b)))


class WrittenSql(unittest.TestCase):
    def test_options(self):
        """Options are constants, in the order in which PostgreSQL prints a jsonb."""
        self.assertEqual(
            rendered(simhash(column("body"), tokens="words", weights={"bb": 1, "a": 1e-5}, ngram=2)),
            """simhash(body, '{"ngram": 2, "tokens": "words", "weights": {"a": 0.00001, "bb": 1}}'::jsonb)""",
        )

    def test_band_indexes(self):
        table = notes()
        indexes = band_indexes(table.c.body)
        self.assertEqual(set(indexes), table.indexes)
        expected = (
            "CREATE INDEX ix_notes_body_band{} ON notes (simhash_band(body, {}), simhash_size(body), simhash(body))"
        )
        self.assertEqual(created(indexes), [expected.format(number, number) for number in range(6)])
        self.assertEqual(
            created(band_indexes(table.c.body, 2, scope=[table.c.tenant], name="ix", ngram=2))[0],
            """CREATE INDEX ix_band0 ON notes (tenant, simhash_band(body, 0, '{"ngram": 2}'::jsonb),"""
            """ simhash_size(body, '{"ngram": 2}'::jsonb), simhash(body, '{"ngram": 2}'::jsonb))""",
        )

    def test_band_indexes_of_an_expression(self):
        table = notes()
        text = func.coalesce(table.c.title, "") + table.c.body
        with self.assertRaisesRegex(ArgumentError, "^band_indexes needs a column of a table, or a name"):
            band_indexes(text)
        indexes = band_indexes(text, 1, name="ix")
        self.assertEqual(set(indexes), table.indexes)
        expected = (
            "CREATE INDEX ix_band0 ON notes (simhash_band(coalesce(title, '') || body, 0),"
            " simhash_size(coalesce(title, '') || body), simhash(coalesce(title, '') || body))"
        )
        self.assertEqual(created(indexes), [expected])

    def test_block_indexes(self):
        table = notes()
        indexes = block_indexes(table.c.simhash)
        self.assertEqual(set(indexes), table.indexes)
        expected = "CREATE INDEX ix_notes_simhash_block{0} ON notes (simhash_block(simhash, {0}), simhash)"
        self.assertEqual(created(indexes), [expected.format(number) for number in range(4)])
        self.assertEqual(
            created(block_indexes(table.c.simhash, 2, scope=[table.c.tenant]))[0],
            "CREATE INDEX ix_notes_simhash_2_block0 ON notes (tenant, simhash_block(simhash, 0, 2), simhash)",
        )


QUERY = simhash(TEXT)
SEARCHES = {
    "near": select(Document.id).where(near(Document.simhash, QUERY)).order_by(Document.id),
    "near texts": select(Document.id).where(near(Document.body, TEXT)).order_by(Document.id),
    "by a criterion": select(Document.id).where(near(Document.body, TEXT, {"resemblance": 0.9})).order_by(Document.id),
    "within": select(Document.id).where(distance(Document.simhash, QUERY) <= 3).order_by(Document.id),
    "hamming": select(Document.id).where(func.hamming(Document.simhash, QUERY) < 4).order_by(Document.id),
    "nearest": select(Document.id).order_by(distance(Document.simhash, QUERY), Document.id).limit(2),
}


class Searches(DatabaseTest):
    def setUp(self):
        super().setUp()
        database.Base.metadata.create_all(self.engine)
        with self.engine.begin() as connection:
            connection.execute(sqlalchemy.insert(Document), [{"body": body} for body in (TEXT, NEAR, OTHER)])
        # The table is too small for an index to be worth it.
        self.execute(f"ALTER DATABASE {database.NAME} SET enable_seqscan = off")
        self.execute(f"ALTER DATABASE {database.NAME} SET plan_cache_mode = force_generic_plan")
        self.engine.dispose()
        (self.fingerprint,) = self.execute("SELECT simhash(%s)", TEXT)[0]

    def test_psycopg(self):
        with self.engine.connect() as connection:
            for name, search in SEARCHES.items():
                with self.subTest(name):
                    self.assertEqual(connection.scalars(search).all(), [1, 2])

    def test_plans(self):
        """Statements that are prepared search by the indexes too, with a plan for any parameters."""
        numbers = {
            "number": select(Document.id).where(near(Document.simhash, self.fingerprint, 5)),
            "nearest to a number": select(Document.id).order_by(distance(Document.simhash, self.fingerprint)),
        }
        for name, search in {**SEARCHES, **numbers}.items():
            # asyncpg's dialect numbers the parameters, as PREPARE does.
            compiled = search.compile(dialect=asyncpg.dialect())
            values = [sql.Literal(compiled.params[parameter]) for parameter in compiled.positiontup]
            with self.subTest(name), database.connect() as connection:
                connection.execute(f"PREPARE search AS {compiled}".encode())
                execute = sql.SQL("EXPLAIN (COSTS OFF) EXECUTE search({})").format(sql.SQL(", ").join(values))
                plan = str(connection.execute(execute).fetchall())
                self.assertIn("Custom Scan (SimhashScan) on documents", plan)
                self.assertIn("$1", plan)

    def test_asyncpg(self):
        """asyncpg prepares every statement, and takes an argument only in the type that the server has for it."""

        async def use(connection):
            for name, search in SEARCHES.items():
                with self.subTest(name):
                    self.assertEqual((await connection.scalars(search)).all(), [1, 2])
            # An int is a bigint, however small it is.
            search = select(Document.id).where(near(Document.simhash, 0, 64))
            self.assertEqual(len((await connection.scalars(search)).all()), 3)

        database.run_with_asyncpg(use)
