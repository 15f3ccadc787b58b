"""Keeps Alembic's autogenerate from changing the columns and indexes that the extension made:

    from pg_simhash.alembic import include_object

    context.configure(connection=connection, target_metadata=metadata, include_object=include_object)

``simhash_attach`` marks its columns by comments, which ``simhash_detach`` needs. An index is the extension's if it has
a name as PostgreSQL makes it, and indexes a marked column, ``simhash_block(...)`` or ``simhash_band(...)``. The schemas
of the table and of the extension do not matter, nor does the prefix. Alembic compares neither triggers nor the comments
of indexes.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

from sqlalchemy import Column, Computed, FetchedValue, Index
from sqlalchemy.dialects.postgresql.base import PGDialect
from sqlalchemy.engine import Dialect
from sqlalchemy.schema import SchemaItem
from sqlalchemy.sql.elements import ClauseElement

__all__ = ["include_object"]

# How simhash_attach labels its columns, at the beginning of a line of their comments. The prefix follows.
_LABEL = "made by simhash_attach, prefix "

# A name such as docs_simhash_block0_idx. REINDEX CONCURRENTLY, if interrupted, leaves an index with _ccnew or _ccold.
_INDEX_NAME = re.compile(r".*_idx\d*(?:_cc(?:new|old)\d*)?", re.DOTALL)

# With this style of parameters, SQLAlchemy does not double percent signs.
_DIALECT: Dialect = PGDialect(paramstyle="named")  # type: ignore[no-untyped-call]


def include_object(
    object: SchemaItem, name: str | None, type_: str, reflected: bool, compare_to: SchemaItem | None
) -> bool:
    """Whether autogenerate should compare an object: False for what the extension made. For
    ``context.configure(include_object=...)``.

    - Columns and indexes that the extension made and that the model does not have are not dropped.
    - An attached column that the model has is not altered: Alembic would remove the comment that ``simhash_detach``
      needs. If the model has another definition, there is a warning.

    Everything else is included, also generated columns and indexes that only a model makes. Combine it with a filter
    of your own by ``and``.
    """
    if type_ == "column" and isinstance(object, Column):
        if reflected:
            return not _is_attached(object)
        if isinstance(compare_to, Column) and _is_attached(compare_to):
            if not _may_stand_for(object, compare_to):
                warnings.warn(
                    f'the definition of the attached column "{object.table.fullname}.{name}" differs in the model and '
                    "in the database; Alembic cannot change it: detach and attach the table in a migration",
                    stacklevel=2,
                )
            return False
    if type_ == "index" and isinstance(object, Index) and reflected:
        return not _is_of_extension(object)
    return True


def _is_attached(column: Column[Any]) -> bool:
    return any(line.startswith(_LABEL) for line in (column.comment or "").split("\n"))


def _is_of_extension(index: Index) -> bool:
    """Whether the extension made an index, by its name and by a column or an expression."""
    return bool(_INDEX_NAME.fullmatch(index.name or "")) and any(
        _is_attached(indexed)
        if isinstance(indexed, Column)
        else any(function in str(indexed) for function in ("simhash_block(", "simhash_band("))
        for indexed in index.expressions
    )


def _may_stand_for(modelled: Column[Any], attached: Column[Any]) -> bool:
    """Whether a model's column may be the attached one: they have the same type and compute the same."""
    if modelled.type.compile(dialect=_DIALECT) != attached.type.compile(dialect=_DIALECT):
        return False
    if isinstance(modelled.server_default, Computed):
        return isinstance(attached.server_default, Computed) and (
            _normalized(modelled.server_default.sqltext) == _normalized(attached.server_default.sqltext)
        )
    # The model need not repeat how the server computes the column: FetchedValue() is enough.
    return isinstance(modelled.server_default, FetchedValue) or attached.server_default is None


def _normalized(expression: ClauseElement) -> str:
    """The SQL of an expression without what the server writes in its own way: casts, schemas, quotes and spaces."""
    sql = str(expression.compile(dialect=_DIALECT, compile_kwargs={"literal_binds": True, "include_table": False}))
    return re.sub(r"::\w+|[\w\"]+\.(?=simhash)|[\s()\"]", "", sql)
