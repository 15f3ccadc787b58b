"""The database of these tests, and a mapped class whose table can be guarded."""

import asyncio
import unittest

import psycopg
import sqlalchemy.ext.asyncio
from sqlalchemy import BigInteger, Computed, Identity, column, orm
from texts import NEAR, OTHER, TEXT

from pg_simhash.sqlalchemy import band_indexes, block_indexes, simhash

NAME = "frameworks_sqlalchemy"


class Base(orm.DeclarativeBase):
    pass


class Document(Base):
    __tablename__ = "documents"

    id: orm.Mapped[int] = orm.mapped_column(BigInteger, Identity(), primary_key=True)
    body: orm.Mapped[str]
    simhash: orm.Mapped[int | None] = orm.mapped_column(BigInteger, Computed(simhash(column("body")), persisted=True))


band_indexes(Document.body)
block_indexes(Document.simhash)


def create():
    with psycopg.connect(autocommit=True) as connection:
        connection.execute("SET client_min_messages = warning")
        connection.execute(f"DROP DATABASE IF EXISTS {NAME}")
        connection.execute(f"CREATE DATABASE {NAME}")


def drop():
    with psycopg.connect(autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {NAME} WITH (FORCE)")


def engine(driver="psycopg", **arguments):
    """An engine for the database. The drivers take the address of the server from the environment."""
    make = sqlalchemy.ext.asyncio.create_async_engine if driver == "asyncpg" else sqlalchemy.create_engine
    return make(f"postgresql+{driver}:///{NAME}", **arguments)


def connect(**arguments):
    return psycopg.connect(dbname=NAME, **arguments)


def run_with_asyncpg(use):
    """Runs a coroutine with a connection of an engine."""

    async def run():
        asynchronous = engine("asyncpg")
        try:
            async with asynchronous.connect() as connection:
                await use(connection)
        finally:
            await asynchronous.dispose()

    asyncio.run(run())


class DatabaseTest(unittest.TestCase):
    """Begins with a database that has nothing but the extension."""

    maxDiff = None

    def setUp(self):
        self.engine = engine()
        self.addCleanup(self.engine.dispose)
        self.execute("DROP SCHEMA IF EXISTS other, extensions CASCADE")
        self.execute("DROP SCHEMA public CASCADE")
        self.execute("CREATE SCHEMA public")
        self.execute("CREATE EXTENSION pg_simhash")

    def execute(self, statement, *parameters):
        """Runs SQL outside of a transaction, and returns the rows if there are any."""
        with connect(autocommit=True) as connection:
            cursor = connection.execute(statement, parameters or None)
            return cursor.fetchall() if cursor.description else None


class GuardedTest(DatabaseTest):
    """Begins with the table of `Document`, with a guard and the row 1, whose text is TEXT."""

    action = "reject"

    def setUp(self):
        super().setUp()
        Base.metadata.create_all(self.engine)
        self.execute("SELECT simhash_guard('documents', %s)", self.action)
        self.execute("INSERT INTO documents (body) VALUES (%s)", TEXT)

    def stored(self):
        """The names of the stored texts, in the order of their rows."""
        names = {TEXT: "TEXT", NEAR: "NEAR", OTHER: "OTHER"}
        return [names[body] for (body,) in self.execute("SELECT body FROM documents ORDER BY id")]
