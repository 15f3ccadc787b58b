"""What SQLAlchemy does if a guard skips a row: the traps of docs/frameworks/sqlalchemy.md."""

from database import Document, GuardedTest
from sqlalchemy import insert, orm, update
from sqlalchemy.orm.exc import FlushError, ObjectDeletedError, StaleDataError
from texts import NEAR, OTHER, TEXT


class Base(orm.DeclarativeBase):
    pass


class Plain(Base):
    """The table of `Document` with keys that the client makes, and without the column that the server computes."""

    __tablename__ = "documents"

    id: orm.Mapped[int] = orm.mapped_column(primary_key=True, autoincrement=False)
    body: orm.Mapped[str]


class Skip(GuardedTest):
    action = "skip"

    def setUp(self):
        super().setUp()
        self.session = orm.Session(self.engine)
        self.addCleanup(self.session.close)

    def test_add(self):
        """The unit of work misses the row of RETURNING. In a savepoint, the transaction goes on."""
        for bodies in [NEAR], [OTHER, NEAR]:
            with self.assertRaises(FlushError), self.session.begin_nested():
                self.session.add_all(Document(body=body) for body in bodies)
        self.session.add(Document(body=OTHER))
        self.session.commit()
        self.assertEqual(self.stored(), ["TEXT", "OTHER"])

    def test_add_without_returning(self):
        """If the unit of work needs nothing back, it takes the skipped row for stored."""
        near = Plain(id=5, body=NEAR)
        self.session.add(near)
        self.session.commit()
        self.assertEqual(self.stored(), ["TEXT"])
        with self.assertRaises(ObjectDeletedError):
            near.body  # noqa: B018

    def test_insert(self):
        """A statement returns only the rows that were stored, also with sort_by_parameter_order."""
        for sort in False, True:
            statement = insert(Document).returning(Document.body, sort_by_parameter_order=sort)
            stored = self.session.scalars(statement, [{"body": NEAR}, {"body": OTHER}]).all()
            self.assertEqual(stored, [OTHER])
            self.session.rollback()

    def test_update(self):
        self.session.add(Document(id=2, body=OTHER))
        self.session.commit()
        near = update(Document).where(Document.id == 2).values(body=NEAR)
        self.assertEqual(self.session.execute(near).rowcount, 0)
        self.session.get(Document, 2).body = TEXT
        with self.assertRaises(StaleDataError):
            self.session.flush()
