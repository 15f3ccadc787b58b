"""What keeps Alembic's autogenerate from changing the columns and indexes that the extension made.

``simhash_attach`` marks its columns by comments, which ``simhash_detach`` needs. Indexes are recognised by what they
index: a marked block column, or the expressions ``simhash_block(...)`` and the fingerprint under a name that the
extension gives, each with the size of the text or without it. The schemas of the table and of the extension do not
matter, nor does the prefix. Alembic compares neither triggers nor the comments of indexes.
"""

from __future__ import annotations

import json
import re
import warnings
from typing import Any

from sqlalchemy import Column, Computed, FetchedValue, Index, TextClause, text
from sqlalchemy.dialects.postgresql.base import PGDialect
from sqlalchemy.engine import Dialect
from sqlalchemy.schema import SchemaItem
from sqlalchemy.sql.elements import ClauseElement

__all__ = ["include_object"]

_ATTACHED = "made by simhash_attach, prefix "

# With this style of parameters, SQLAlchemy does not double percent signs.
_DIALECT: Dialect = PGDialect(paramstyle="named")  # type: ignore[no-untyped-call]

_IDENTIFIER = r'(?:"(?:[^"]|"")*"|\w+)'
_STRING = re.compile(r"'((?:[^']|'')*)'")
_CAST = re.compile(rf"::\s*(?:{_IDENTIFIER}\.)?(?:character varying|{_IDENTIFIER})(?:\(\d+\))?(?:\[\])*")
_SCHEMA_OF_FUNCTION = re.compile(rf"{_IDENTIFIER}\.(?=simhash(?:_block|_size)?\()")
_BLOCK_CALL = re.compile(r"simhash_block\((.+?),(\d+)(?:,(\d+))?\)")

# The name that the extension gives to the index on a block: the columns of a scope follow the block, and an interrupted
# command leaves another suffix. Names of more than 63 bytes are cut.
_INDEX_NAME = r".*_block{number}(?:_.*)?_idx\d*(?:_cc(?:new|old)\d*)?"
_CUT_NAME = r".*_idx\d*(?:_cc(?:new|old)\d*)?"
_LONGEST_NAME = 63


def include_object(
    object: SchemaItem, name: str | None, type_: str, reflected: bool, compare_to: SchemaItem | None
) -> bool:
    """Whether autogenerate should compare an object: False for what the extension made. For
    ``context.configure(include_object=...)``.

    - Columns and indexes that the extension made and that the model does not have are not dropped.
    - An attached column that the model has is not altered: Alembic would remove the comment that ``simhash_detach``
      needs. If the model has another definition, there is a warning.
    - An index of the model on the same block as the index of the database is not replaced because it is written in
      another way.

    Everything else is included, also generated columns and indexes that only a model makes. Combine it with a filter
    of your own by ``and``.
    """
    if type_ == "column" and isinstance(object, Column):
        if reflected:
            return not _is_attached(object)
        if isinstance(compare_to, Column) and _is_attached(compare_to):
            if not _is_same_column(object, compare_to):
                warnings.warn(
                    f'the definition of the attached column "{object.table.fullname}.{name}" differs in the model and '
                    "in the database; Alembic cannot change it: detach and attach the table in a migration",
                    stacklevel=2,
                )
            return False
    if type_ == "index" and isinstance(object, Index):
        if reflected:
            return not _is_made_index(object)
        if isinstance(compare_to, Index):
            return not _is_same_block_index(object, compare_to)
    return True


def _is_attached(column: Column[Any]) -> bool:
    return any(line.startswith(_ATTACHED) for line in (column.comment or "").split("\n"))


def _is_same_column(modelled: Column[Any], attached: Column[Any]) -> bool:
    """Whether a column of the model may stand for an attached one."""
    if modelled.type.compile(dialect=_DIALECT) != attached.type.compile(dialect=_DIALECT):
        return False
    if isinstance(modelled.server_default, Computed):
        return isinstance(attached.server_default, Computed) and (
            _plain(modelled.server_default.sqltext) == _plain(attached.server_default.sqltext)
        )
    # The model need not repeat how the server computes the column: FetchedValue() is enough.
    return isinstance(modelled.server_default, FetchedValue) or attached.server_default is None


def _is_made_index(index: Index) -> bool:
    """Whether the extension made an index of the database: on a block, after the columns of a scope."""
    block = _block(_keys(index))
    if isinstance(block, Column):
        generated = block.server_default
        return _is_attached(block) and isinstance(generated, Computed) and _block_call(generated.sqltext) is not None
    call = _block_call(block)
    return call is not None and _is_given_name(index.name or "", call[1])


def _block(keys: list[ClauseElement]) -> ClauseElement:
    """The key that may be a block: the last one, or the one before the size and the fingerprint."""
    calls = [key for key in keys[-3:] if _block_call(key)]
    columns = [key for key in keys if not _is_size(key)]
    return calls[-1] if calls else columns[-1] if columns else keys[-1]


def _is_size(key: ClauseElement) -> bool:
    generated = key.server_default if isinstance(key, Column) else None
    return isinstance(generated, Computed) and _plain(generated.sqltext).startswith("simhash_size(")


def _keys(index: Index) -> list[ClauseElement]:
    return [text(key) if isinstance(key, str) else key for key in index.expressions]


def _is_given_name(name: str, number: int) -> bool:
    # A character of several bytes is not cut in two.
    is_cut = len(name.encode()) > _LONGEST_NAME - 4
    return bool(re.fullmatch(_CUT_NAME if is_cut else _INDEX_NAME.format(number=number), name, re.DOTALL))


def _is_same_block_index(modelled: Index, existing: Index) -> bool:
    ours, theirs = _keys(modelled), _keys(existing)
    if len(ours) != len(theirs) or modelled.unique or existing.unique:
        return False
    call, other = _block_call(_block(ours)), _block_call(_block(theirs))
    plain = [[_plain(key) for key in keys if _block_call(key) is None] for keys in (ours, theirs)]
    return call is not None and call == other and plain[0] == plain[1]


def _block_call(expression: ClauseElement) -> tuple[str, int, int] | None:
    """The fingerprint, the number of the block and the number of blocks of a call of `simhash_block`."""
    call = _BLOCK_CALL.fullmatch(_plain(expression))
    return (call[1], int(call[2]), int(call[3] or 4)) if call else None


def _plain(expression: ClauseElement) -> str:
    """An expression of the model, or of the server, without what can be written in several ways: the schema of the
    extension's functions, casts, parentheses around names, spaces, and the order of the keys in options."""
    if isinstance(expression, TextClause):
        sql = expression.text
    else:
        kwargs = {"literal_binds": True, "include_table": False}
        sql = str(expression.compile(dialect=_DIALECT, compile_kwargs=kwargs))
    strings: list[str] = []

    def keep(string: re.Match[str]) -> str:
        strings.append(_options(string[1]))
        return f"'{len(strings) - 1}'"

    sql = _STRING.sub(keep, sql)
    sql = _CAST.sub("", sql)
    sql = _SCHEMA_OF_FUNCTION.sub("", sql)
    sql = re.sub(r"\s", "", sql).replace('"', "")
    sql = re.sub(r"(?<!\w)\((\w+)\)", r"\1", sql)
    while sql.startswith("(") and sql.endswith(")"):
        sql = sql[1:-1]
    return re.sub(r"'(\d+)'", lambda string: f"'{strings[int(string[1])]}'", sql)


def _options(string: str) -> str:
    try:
        return json.dumps(json.loads(string.replace("''", "'")), sort_keys=True)
    except ValueError:
        return string
