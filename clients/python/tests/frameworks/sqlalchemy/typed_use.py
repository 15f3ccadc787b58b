"""What a type checker knows of the expressions. test_types.py gives this file to mypy; nothing runs it."""

from typing import assert_type

from alembic.runtime.environment import EnvironmentContext
from sqlalchemy import BigInteger, ColumnElement, Index, Select, Table, func, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, aliased, mapped_column

from pg_simhash.alembic import include_object
from pg_simhash.errors import NearDuplicate, near_duplicate
from pg_simhash.sqlalchemy import (
    band,
    band_indexes,
    block,
    block_indexes,
    distance,
    near,
    resemblance,
    simhash,
    simhash_of_features,
    size,
)


class Base(DeclarativeBase):
    pass


class Document(Base):
    __tablename__ = "documents"

    id: Mapped[int] = mapped_column(primary_key=True)
    body: Mapped[str]
    simhash: Mapped[int | None] = mapped_column(BigInteger)


def expressions(table: Table) -> None:
    assert_type(simhash("text", ngram=2), ColumnElement[int])
    assert_type(simhash_of_features(["a", "b"], [1, 0.5]), ColumnElement[int])
    assert_type(simhash(func.to_tsvector("a")), ColumnElement[int])
    assert_type(near(Document.simhash, simhash(Document.body), 6), ColumnElement[bool])
    assert_type(near(table.c.simhash, -1), ColumnElement[bool])
    assert_type(near(Document.body, "text", {"resemblance": 0.9}), ColumnElement[bool])
    assert_type(near(1, select(Document.simhash).scalar_subquery()), ColumnElement[bool])
    assert_type(distance(Document.simhash, aliased(Document).simhash), ColumnElement[int])
    assert_type(resemblance(Document.body, "text", tokens="chars"), ColumnElement[float])
    assert_type(band(Document.body, 0, ngram=2), ColumnElement[int])
    assert_type(size(table.c.body), ColumnElement[int])
    assert_type(band_indexes(Document.body, 12, scope=[Document.id], markup="html"), list[Index])
    assert_type(band_indexes(Document.body + " " + Document.body, name="ix"), list[Index])
    assert_type(block(Document.simhash, 0, 2), ColumnElement[int])
    assert_type(block_indexes(Document.simhash, scope=[Document.id, table.c.tenant]), list[Index])


def search(session: Session, text: str) -> list[tuple[int, int]]:
    query = (
        select(Document.id, distance(Document.simhash, simhash(text)))
        .where(near(Document.simhash, simhash(text)))
        .order_by(distance(Document.simhash, simhash(text)))
    )
    assert_type(query, Select[int, int])
    return [(id, bits) for id, bits in session.execute(query)]


def error(raised: Exception) -> None:
    near = near_duplicate(raised)
    assert_type(near, NearDuplicate | None)
    if near is not None:
        assert_type(near.distance, int | None)
        assert_type(near.resemblance, float | None)


def environment(context: EnvironmentContext) -> None:
    context.configure(include_object=include_object)


simhash("text", ngrams=2)  # type: ignore[call-arg]
simhash(1)  # type: ignore[arg-type]
near("text", "text", "0.9")  # type: ignore[arg-type]
band_indexes(Document.body, ngrams=2)  # type: ignore[call-arg]
block_indexes("simhash")  # type: ignore[arg-type]
