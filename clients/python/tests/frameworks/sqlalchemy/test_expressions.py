"""Expressions: their values, their SQL, and that searches use the indexes, with psycopg and with asyncpg."""

import asyncio
import unittest

import database
import sqlalchemy
from database import NEAR, OTHER, TEXT, THIRD, DatabaseTest, Document
from psycopg import sql
from psycopg.types.json import Jsonb
from sqlalchemy import (
    BigInteger,
    Column,
    Computed,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    column,
    func,
    literal,
    literal_column,
    null,
    orm,
    select,
    text,
)
from sqlalchemy.dialects.postgresql import asyncpg
from sqlalchemy.exc import ArgumentError
from sqlalchemy.schema import CreateIndex, CreateTable

from pg_simhash.sqlalchemy import (
    block,
    block_indexes,
    distance,
    hamming,
    near,
    resemblance,
    simhash,
)

# Features with all characters that SQL, SQLAlchemy or a driver may take for something else.
STRANGE = {"it's": 0.5, "100%s": 0.25, "a:b": 1, ':c"': 0, "\\x": 0.125, "ж": 0.75}


def rendered(expression):
    return str(expression.compile(dialect=asyncpg.dialect(), compile_kwargs={"literal_binds": True}))


class Values(DatabaseTest):
    def value(self, expression):
        with self.engine.connect() as connection:
            return connection.scalar(select(expression))

    def server(self, expression, *parameters):
        return self.execute(f"SELECT {expression}", *parameters)[0][0]

    def test_simhash(self):
        fingerprint = self.server("simhash(%s)", TEXT)
        self.assertEqual(self.value(simhash(TEXT)), fingerprint)
        self.assertEqual(self.value(simhash(literal(TEXT))), fingerprint)
        self.assertIsNone(self.value(simhash(None)))
        self.assertIsNone(self.value(simhash("")))

    def test_options(self):
        expected = self.server("""simhash(%s, '{"ngram": 2, "tokens": "words"}')""", TEXT)
        self.assertEqual(self.value(simhash(TEXT, ngram=2, tokens="words")), expected)
        self.assertNotEqual(expected, self.value(simhash(TEXT)))

    def test_strange_options(self):
        expected = self.server("simhash('a b', jsonb_build_object('weights', %s::jsonb))", Jsonb(STRANGE))
        self.assertEqual(self.value(simhash("a b", weights=STRANGE)), expected)

    def test_features(self):
        expected = self.server("simhash(ARRAY['a', 'b', 'c'])")
        self.assertEqual(self.value(simhash(["a", "b", "c"])), expected)
        expected = self.server("simhash(ARRAY['a', 'b'], ARRAY[1, 2.5])")
        self.assertEqual(self.value(simhash(["a", "b"], [1, 2.5])), expected)
        weights = literal_column("'{1,2.5}'::double precision[]")
        self.assertEqual(self.value(simhash(["a", "b"], weights)), expected)
        expected = self.server("simhash('a b'::tsvector)")
        self.assertEqual(self.value(simhash(func.array_to_tsvector(text("ARRAY['a', 'b']")))), expected)

    def test_distances(self):
        for a, b, bits in (0, 0, 0), (-1, 0, 64), (-(2**63), 2**63 - 1, 64), (2**62, 1, 2):
            with self.subTest(a=a, b=b):
                self.assertEqual(self.value(distance(a, b)), bits)
                self.assertEqual(self.value(hamming(a, b)), bits)
                self.assertEqual(self.value(near(a, b, bits)), True)
                self.assertEqual(self.value(near(a, b, bits - 1)), False)
        self.assertEqual(self.value(hamming([1, -1], [0, 0])), 65)
        self.assertIsNone(self.value(distance(None, 1)))
        self.assertIsNone(self.value(near(null(), 1)))
        self.assertEqual([self.value(near(0, query)) for query in (7, 15)], [True, False])

    def test_precedence(self):
        self.assertEqual(self.value(distance(3, 0) + 1), 3)
        self.assertIs(self.value(distance(3, 0) <= 1), False)
        self.assertIs(self.value(~near(3, 0, 1)), True)

    def test_resemblance(self):
        self.assertEqual(self.value(resemblance(TEXT, NEAR)), self.server("simhash_resemblance(%s, %s)", TEXT, NEAR))
        expected = self.server("""simhash_resemblance(%s, %s, '{"ngram": 3}')""", TEXT, NEAR)
        self.assertEqual(self.value(resemblance(TEXT, NEAR, ngram=3)), expected)
        self.assertIsNone(self.value(resemblance(None, TEXT)))

    def test_block(self):
        for blocks in 2, 3, 4, 8:
            for number in range(blocks):
                expected = self.server(f"simhash_block(4868664287543311633, {number}, {blocks})")
                self.assertEqual(self.value(block(4868664287543311633, number, blocks)), expected)


class Sql(unittest.TestCase):
    def test_block(self):
        """Blocks are written as simhash_attach and simhash_index_commands read them."""
        fingerprint = column("simhash")
        self.assertEqual(rendered(block(fingerprint, 1)), "simhash_block(simhash, 1)")
        self.assertEqual(rendered(block(fingerprint, 1, 2)), "simhash_block(simhash, 1, 2)")

    def test_options(self):
        """Options are constants, in the order in which PostgreSQL prints a jsonb."""
        written = rendered(simhash(column("body"), tokens="words", weights={"bb": 1, "a": 0.5}, ngram=2))
        self.assertEqual(
            written, """simhash(body, '{"ngram": 2, "tokens": "words", "weights": {"a": 0.5, "bb": 1}}'::jsonb)"""
        )

    def table(self, *columns):
        return Table("notes", MetaData(), Column("body", Text), Column("simhash", BigInteger), *columns)

    def test_block_indexes(self):
        table = self.table()
        indexes = block_indexes(table.c.simhash)
        self.assertEqual(set(indexes), table.indexes)
        self.assertEqual(
            [rendered(CreateIndex(index)) for index in indexes],
            [
                f"CREATE INDEX ix_notes_simhash_block{number} ON notes (simhash_block(simhash, {number}))"
                " INCLUDE (simhash)"
                for number in range(4)
            ],
        )

    def test_block_indexes_with_scope(self):
        table = self.table(Column("tenant", Integer), Column("Kind", Text))
        indexes = block_indexes(table.c.simhash, 2, scope=[table.c.tenant, table.c.Kind], covering=False)
        self.assertEqual(
            [rendered(CreateIndex(index)) for index in indexes],
            [
                f'CREATE INDEX ix_notes_simhash_2_block{number} ON notes (tenant, "Kind",'
                f" simhash_block(simhash, {number}, 2))"
                for number in range(2)
            ],
        )

    def test_names(self):
        table = self.table()
        names = [index.name for index in block_indexes(table.c.simhash, 3, name="by")]
        self.assertEqual(names, ["by_block0", "by_block1", "by_block2"])

    def test_no_table(self):
        with self.assertRaisesRegex(ArgumentError, "block_indexes needs a column of a table"):
            block_indexes(Column("simhash", BigInteger))

    def test_mapped_column(self):
        """In the body of a class, a mapped column stands for its column."""

        class Note(orm.declarative_base()):
            __tablename__ = "notes"
            id = orm.mapped_column(BigInteger, primary_key=True)
            body = orm.mapped_column(Text)
            fingerprint = orm.mapped_column(BigInteger, Computed(simhash(body, ngram=2), persisted=True))
            __table_args__ = (Index("by_block", block(fingerprint, 0)),)

        created = rendered(CreateTable(Note.__table__))
        self.assertIn("""GENERATED ALWAYS AS (simhash(body, '{"ngram": 2}'::jsonb)) STORED""", created)
        (index,) = Note.__table__.indexes
        self.assertEqual(rendered(CreateIndex(index)), "CREATE INDEX by_block ON notes (simhash_block(fingerprint, 0))")

    def test_computed(self):
        table = Table(
            "notes",
            MetaData(),
            Column("fingerprint", BigInteger, Computed(simhash(column("Body"), ngram=2), persisted=True)),
        )
        self.assertIn(
            """GENERATED ALWAYS AS (simhash("Body", '{"ngram": 2}'::jsonb)) STORED""", rendered(CreateTable(table))
        )


ROWS = [{"body": body} for body in (TEXT, NEAR, OTHER, THIRD)]
QUERY = simhash(TEXT)
SEARCHES = {
    "near": select(Document.id).where(near(Document.simhash, QUERY)).order_by(Document.id),
    "within": select(Document.id).where(distance(Document.simhash, QUERY) <= 3).order_by(Document.id),
    "hamming": select(Document.id).where(hamming(Document.simhash, QUERY) < 4).order_by(Document.id),
    "nearest": select(Document.id).order_by(distance(Document.simhash, QUERY), Document.id).limit(2),
}


class SearchTest(DatabaseTest):
    def setUp(self):
        super().setUp()
        database.Base.metadata.create_all(self.engine)
        with self.engine.begin() as connection:
            connection.execute(sqlalchemy.insert(Document), ROWS)
        # The table is too small for an index to be worth it.
        self.execute(f"ALTER DATABASE {database.NAME} SET enable_seqscan = off")
        self.execute(f"ALTER DATABASE {database.NAME} SET plan_cache_mode = force_generic_plan")
        self.engine.dispose()
        (self.fingerprint,) = self.execute("SELECT simhash(%s)", TEXT)[0]


class Psycopg(SearchTest):
    def test_found(self):
        with self.engine.connect() as connection:
            for name, search in SEARCHES.items():
                with self.subTest(name):
                    self.assertEqual(connection.scalars(search).all(), [1, 2])

    def test_number(self):
        """The query is an integer of the application."""
        with self.engine.connect() as connection:
            for k, found in (3, [1, 2]), (64, [1, 2, 3, 4]):
                search = select(Document.id).where(near(Document.simhash, self.fingerprint, k)).order_by(Document.id)
                self.assertEqual(connection.scalars(search).all(), found)

    def test_plans(self):
        """Statements that are prepared search by the indexes too, with a plan for any parameters."""
        numbers = {
            "number": select(Document.id).where(near(Document.simhash, self.fingerprint, 5)),
            "nearest to a number": select(Document.id).order_by(distance(Document.simhash, self.fingerprint)),
        }
        for name, search in {**SEARCHES, **numbers}.items():
            # asyncpg's dialect numbers the parameters, as PREPARE does.
            compiled = search.compile(dialect=asyncpg.dialect())
            values = [compiled.params[parameter] for parameter in compiled.positiontup]
            with self.subTest(name), database.connect() as connection:
                connection.execute(f"PREPARE search AS {compiled}".encode())
                execute = sql.SQL("EXPLAIN (COSTS OFF) EXECUTE search({})").format(
                    sql.SQL(", ").join(map(sql.Literal, values))
                )
                plan = "\n".join(line for (line,) in connection.execute(execute))
                self.assertIn("Custom Scan (SimhashScan) on documents", plan)
                self.assertIn("$1", plan)

    def test_join(self):
        other = orm.aliased(Document)
        pairs = (
            select(Document.id, other.id)
            .join(other, near(other.simhash, Document.simhash) & (other.id > Document.id))
            .order_by(Document.id, other.id)
        )
        with self.engine.connect() as connection:
            self.assertEqual([tuple(pair) for pair in connection.execute(pairs)], [(1, 2)])

    def test_columns(self):
        """Attributes of a mapped class are arguments of every function."""
        body, fingerprint = Document.body, Document.simhash
        same = (
            (simhash(body) == fingerprint)
            & near(fingerprint, fingerprint, 0)
            & (distance(fingerprint, fingerprint) == hamming(fingerprint, fingerprint))
            & (resemblance(body, body) == 1)
            & (block(fingerprint, 0) == block(simhash(body), 0))
        )
        with self.engine.connect() as connection:
            self.assertEqual(connection.scalars(select(Document.id).where(same)).all(), [1, 2, 3, 4])

    def test_verified(self):
        like = select(Document.id).where(near(Document.simhash, QUERY, 8), resemblance(Document.body, TEXT) >= 0.999)
        with self.engine.connect() as connection:
            self.assertEqual(connection.scalars(like).all(), [1])

    def test_subquery(self):
        query = select(Document.simhash).where(Document.id == 1).scalar_subquery()
        search = select(Document.id).where(near(Document.simhash, query)).order_by(Document.id)
        with self.engine.connect() as connection:
            self.assertEqual(connection.scalars(search).all(), [1, 2])


class Asyncpg(SearchTest):
    """asyncpg prepares every statement, and takes an argument only in the type that the server has for it."""

    def run_with(self, use):
        async def run():
            engine = database.engine("asyncpg")
            async with engine.connect() as connection:
                await use(connection)
            await engine.dispose()

        asyncio.run(run())

    def test_found(self):
        async def use(connection):
            for name, search in SEARCHES.items():
                with self.subTest(name):
                    self.assertEqual((await connection.scalars(search)).all(), [1, 2])
            for query in self.fingerprint, -(2**63), 2**63 - 1:
                for k in 3, 64:
                    search = select(Document.id).where(near(Document.simhash, query, k)).order_by(Document.id)
                    expected = [1, 2, 3, 4] if k == 64 else [1, 2] if query == self.fingerprint else []
                    self.assertEqual((await connection.scalars(search)).all(), expected)

        self.run_with(use)

    def test_values(self):
        async def use(connection):
            for expression, expected in (
                (hamming([1, -1], [0, 0]), 65),
                (distance(-1, 0), 64),
                (resemblance("a b c", "a b c d"), 0.75),
                (simhash(["a", "b"], [1, 2.5]) == simhash(func.array_append(["a"], "b"), [1, 2.5]), True),
                (simhash(TEXT), self.fingerprint),
            ):
                self.assertEqual(await connection.scalar(select(expression)), expected)

        self.run_with(use)
