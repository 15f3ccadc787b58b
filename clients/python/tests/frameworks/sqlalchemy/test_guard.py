"""What the unit of work, statements and the bulk methods of SQLAlchemy do under each action of a guard."""

from asyncio import run as run_async

import database
from database import NEAR, NEAR_RESEMBLANCE, OTHER, TEXT, THIRD, Document, GuardedTest
from sqlalchemy import ForeignKeyConstraint, orm, update
from sqlalchemy.dialects.postgresql import JSONB, insert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext import asyncio
from sqlalchemy.orm.exc import FlushError, ObjectDeletedError

from pg_simhash.sqlalchemy import near_duplicate

FIRST = (1, "/1", "TEXT", None)
FIRST_CHANGED = (1, "/1", "NEAR", None)


class Base(orm.DeclarativeBase):
    pass


class Plain(Base):
    """The table of `Document` with keys that the client makes, and without the column that the server computes."""

    __tablename__ = "documents"

    id: orm.Mapped[int] = orm.mapped_column(primary_key=True, autoincrement=False)
    body: orm.Mapped[str]


def upsert(url, body):
    """An INSERT that changes the text of the row with that URL, if there is one."""
    statement = insert(Document).values(url=url, body=body)
    return statement.on_conflict_do_update(
        index_elements=[Document.url], set_={"body": statement.excluded.body}
    ).returning(Document.id)


def do_nothing(url, body):
    return insert(Document).values(url=url, body=body).on_conflict_do_nothing().returning(Document.id)


THREE = [{"body": OTHER}, {"body": NEAR}, {"body": THIRD}]


class Guarded:
    """What is the same under each action: a test of each class below."""

    def setUp(self):
        super().setUp()
        self.session = orm.Session(self.engine)
        self.addCleanup(self.session.close)

    def add(self, *documents):
        self.session.add_all(documents)
        self.session.flush()
        return documents

    def test_others(self):
        """Texts that are near no other are stored, and the unit of work knows their keys and fingerprints."""
        other, third = self.add(Document(body=OTHER), Document(body=THIRD))
        self.assertEqual((other.id, third.id), (2, 3))
        self.assertIsNotNone(other.simhash)
        self.session.commit()
        self.assertEqual(self.stored(), [FIRST, (2, None, "OTHER", None), (3, None, "THIRD", None)])

    def test_own_key(self):
        """A row is not its own near-duplicate, in an UPDATE, in an upsert and in Session.merge."""
        self.session.get(Document, 1).body = NEAR
        self.session.commit()
        self.assertEqual(self.stored(), [FIRST_CHANGED])
        self.assertEqual(self.session.scalars(upsert("/1", TEXT)).all(), [1])
        self.session.commit()
        self.assertEqual(self.stored(), [FIRST])
        self.assertEqual(self.session.scalars(do_nothing("/1", NEAR)).all(), [])
        self.assertEqual(self.stored(), [FIRST])
        self.session.merge(Document(id=1, url="/1", body=NEAR))
        self.session.commit()
        self.assertEqual(self.stored(), [FIRST_CHANGED])


class Reject(Guarded, GuardedTest):
    action = "reject"

    def check(self, *arguments):
        with self.assertRaises(IntegrityError) as caught:
            arguments[0](*arguments[1:])
        near = near_duplicate(caught.exception)
        self.assertEqual(near.key, {"id": 1})
        self.assertEqual(near.resemblance, NEAR_RESEMBLANCE)
        self.assertEqual(near, near_duplicate(caught.exception.orig))
        self.session.rollback()
        self.assertEqual(self.stored(), [FIRST])

    def test_add(self):
        self.check(self.add, Document(body=NEAR))

    def test_add_all(self):
        """The whole flush fails."""
        self.check(self.add, *(Document(**values) for values in THREE))

    def test_insert(self):
        self.check(self.session.execute, insert(Document), THREE)

    def test_upsert(self):
        self.check(self.session.scalars, upsert("/2", NEAR))
        self.check(self.session.scalars, do_nothing("/2", NEAR))

    def test_update(self):
        self.add(Document(body=OTHER))
        self.check(self.session.execute, update(Document).where(Document.id == 2).values(body=NEAR))

    def test_savepoint(self):
        """With a savepoint, the transaction goes on without the rejected row."""
        self.add(Document(body=OTHER))
        with self.assertRaises(IntegrityError), self.session.begin_nested():
            self.add(Document(body=NEAR))
        self.add(Document(body=THIRD))
        self.session.commit()
        self.assertEqual([row[2] for row in self.stored()], ["TEXT", "OTHER", "THIRD"])


class Skip(Guarded, GuardedTest):
    action = "skip"

    def check(self, error, message, call, *arguments):
        with self.assertRaisesRegex(error, message) as caught:
            call(*arguments)
        self.assertIsNone(near_duplicate(caught.exception))
        self.session.rollback()
        self.assertEqual(self.stored(), [FIRST])

    def test_add(self):
        """The unit of work misses the row of RETURNING, with the key that the server makes or with its own."""
        single = "Single-row INSERT statement .* did not produce"
        self.check(FlushError, single, self.add, Document(body=NEAR))
        self.check(FlushError, single, self.add, Document(id=5, body=NEAR))

    def test_add_all(self):
        """One skipped row fails the whole flush: no key is given to the wrong object."""
        message = "Multi-row INSERT statement .* did not produce the correct number"
        self.check(FlushError, message, self.add, *(Document(**values) for values in THREE))

    def test_without_returning(self):
        """If the unit of work needs nothing back, it takes the skipped row for stored."""
        (near,) = self.add(Plain(id=5, body=NEAR))
        self.assertIs(self.session.get(Plain, 5), near)
        self.session.commit()
        self.assertEqual(self.stored(), [FIRST])
        with self.assertRaises(ObjectDeletedError):
            near.body  # noqa: B018

    def test_savepoint(self):
        """A skipped row in a savepoint leaves the rest of the transaction alone."""
        self.add(Document(body=OTHER))
        with self.assertRaises(FlushError), self.session.begin_nested():
            self.add(Document(body=NEAR))
        self.session.commit()
        self.assertEqual([row[2] for row in self.stored()], ["TEXT", "OTHER"])

    def test_insert(self):
        self.session.execute(insert(Document), THREE)
        self.session.commit()
        self.assertEqual([row[2] for row in self.stored()], ["TEXT", "OTHER", "THIRD"])

    def test_insert_returning(self):
        """A statement returns only the rows that were stored, also with sort_by_parameter_order."""
        for sort in False, True:
            with self.subTest(sort=sort):
                statement = insert(Document).returning(Document, sort_by_parameter_order=sort)
                stored = self.session.scalars(statement, THREE).all()
                self.assertEqual([document.body for document in stored], [OTHER, THIRD])
                self.assertEqual([document.id for document in stored], [2, 4] if not sort else [5, 7])
                self.session.rollback()

    def test_upsert(self):
        """A statement that stores nothing returns no row, so `scalar()` is None."""
        self.assertEqual(self.session.scalars(upsert("/2", NEAR)).all(), [])
        self.assertIsNone(self.session.scalar(do_nothing("/2", NEAR)))
        self.session.commit()
        self.assertEqual(self.stored(), [FIRST])


class Mark(Guarded, GuardedTest):
    action = "mark"

    def test_add(self):
        """The row is stored. Its mark is what the server has, after a refresh or a commit."""
        (near,) = self.add(Document(body=NEAR))
        self.assertIsNone(near.near)
        self.session.refresh(near)
        self.assertEqual(near.near, 1)
        self.session.commit()
        self.assertEqual(self.stored(), [FIRST, (2, None, "NEAR", 1)])

    def test_add_all(self):
        other, near, third = self.add(*(Document(**values) for values in THREE))
        self.session.commit()
        self.assertEqual((other.near, near.near, third.near), (None, 1, None))


class Letter(Base):
    """A table whose key has two columns, of which one is in the guard's scope."""

    __tablename__ = "letters"

    tenant: orm.Mapped[int] = orm.mapped_column(primary_key=True, autoincrement=False)
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True, autoincrement=False)
    body: orm.Mapped[str]
    near_id: orm.Mapped[int | None]
    near_key: orm.Mapped[dict | None] = orm.mapped_column(JSONB)
    near: orm.Mapped["Letter | None"] = orm.relationship(remote_side=[tenant, id], viewonly=True)
    __table_args__ = (ForeignKeyConstraint(["tenant", "near_id"], ["letters.tenant", "letters.id"]),)


class MarkWithKeys(database.DatabaseTest):
    def setUp(self):
        super().setUp()
        Letter.__table__.create(self.engine)
        self.execute("SELECT simhash_attach('letters', 'body')")

    def stored(self, mark):
        self.execute(f"SELECT simhash_guard('letters', 'mark', scope => '{{tenant}}', mark_column => '{mark}')")
        with orm.Session(self.engine) as session:
            session.add_all(Letter(tenant=tenant, id=5, body=TEXT) for tenant in (1, 2))
            session.flush()
            session.add(Letter(tenant=2, id=6, body=NEAR))
            session.commit()
            near = session.get(Letter, (2, 6))
            return near.near_id, near.near_key, near.near and (near.near.tenant, near.near.id)

    def test_rest_of_key(self):
        self.assertEqual(self.stored("near_id"), (5, None, (2, 5)))

    def test_whole_key(self):
        self.assertEqual(self.stored("near_key"), (None, {"tenant": 2, "id": 5}, None))


class AsyncSession(GuardedTest):
    """The unit of work on an asynchronous engine, with asyncpg. Its errors are wrapped twice."""

    action = "reject"

    def run_with(self, use):
        async def run():
            engine = database.engine("asyncpg")
            try:
                async with asyncio.AsyncSession(engine) as session:
                    await use(session)
            finally:
                await engine.dispose()

        run_async(run())

    def test_add(self):
        async def use(session):
            other = Document(body=OTHER)
            session.add(other)
            await session.commit()
            session.add(Document(body=NEAR))
            with self.assertRaises(IntegrityError) as caught:
                await session.commit()
            near = near_duplicate(caught.exception)
            self.assertEqual((near.key, near.resemblance), ({"id": 1}, NEAR_RESEMBLANCE))

        self.run_with(use)
        self.assertEqual([row[2] for row in self.stored()], ["TEXT", "OTHER"])
