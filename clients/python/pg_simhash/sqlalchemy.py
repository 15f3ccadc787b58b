"""SQL expressions of pg_simhash for SQLAlchemy, and the indexes of texts and of fingerprints.

The functions of this module build expressions and send nothing to the server:

    select(Document).where(near(Document.body, text)).order_by(resemblance(Document.body, text).desc())

Fingerprints are ``bigint``: an ``int`` is sent as a parameter of type ``BigInteger``. PostgreSQL looks up the functions
in the search path of the session. For Alembic, see ``pg_simhash.alembic``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Double,
    Index,
    Integer,
    SQLColumnExpression,
    Text,
    func,
    literal,
    literal_column,
    null,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.exc import ArgumentError
from sqlalchemy.orm import ColumnProperty, InstrumentedAttribute

from pg_simhash.errors import NearDuplicate, near_duplicate

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from pg_simhash._options import Options

__all__ = [
    "NearDuplicate",
    "band",
    "band_indexes",
    "block",
    "block_indexes",
    "distance",
    "near",
    "near_duplicate",
    "resemblance",
    "simhash",
    "simhash_of_features",
    "size",
]

Fingerprint = SQLColumnExpression[Any] | int | None
"""A fingerprint: an expression of type bigint, or its value."""

Content = SQLColumnExpression[Any] | str | None
"""A text: an expression, or its value."""

DEFAULT_BANDS = 6
DEFAULT_BLOCKS = 4


def simhash(content: Content, /, **options: Unpack[Options]) -> ColumnElement[int]:
    """The fingerprint of ``content``, a text or a ``tsvector``; NULL if a text has no word.

    Options are those of the SQL function, for texts only: ``simhash(Document.body, ngram=2)``. They have to be the same
    wherever fingerprints are compared.
    """
    return func.simhash(_content(content), *_options(options), type_=BigInteger)


def simhash_of_features(
    features: SQLColumnExpression[Any] | Sequence[str],
    weights: SQLColumnExpression[Any] | Sequence[float] | None = None,
    /,
) -> ColumnElement[int]:
    """The fingerprint of ``features``, a ``text[]``, and of a weight for each of them; NULL without a feature."""
    arguments = [literal(list(features), ARRAY(Text)) if isinstance(features, Sequence) else features]
    if isinstance(weights, Sequence):
        weights = literal([float(weight) for weight in weights], ARRAY(Double))
    if weights is not None:
        arguments.append(weights)
    return func.simhash_of_features(*arguments, type_=BigInteger)


def near(
    a: Content | Fingerprint,
    b: Content | Fingerprint,
    limit: Mapping[str, Any] | int | ColumnElement[int] | None = None,
) -> ColumnElement[bool]:
    """Whether two texts are near-duplicates by a criterion, such as ``{"resemblance": 0.9}``; or whether two
    fingerprints differ in at most ``limit`` bits, by default 3.

    A table whose bands or blocks are indexed is searched by the indexes: ``select(Document).where(near(Document.body,
    text))``. If the bands have options, give them in the criterion.
    """
    arguments = [_text_or_fingerprint(side) for side in (a, b)]
    if isinstance(limit, Mapping):
        arguments.append(_document(limit))
    elif limit is not None:
        arguments.append(literal(limit, Integer) if isinstance(limit, int) else limit)
    return func.simhash_near(*arguments, type_=Boolean)


def distance(a: Fingerprint, b: Fingerprint) -> ColumnElement[int]:
    """The Hamming distance as the operator ``a <~> b``: the number of bits, 0 to 64, in which two fingerprints differ.

    ``order_by(distance(Document.simhash, query)).limit(10)`` returns the ten nearest rows by the indexes.
    """
    return _fingerprint(a).op("<~>", return_type=Integer())(_fingerprint(b))


def resemblance(a: Content, b: Content, **options: Unpack[Options]) -> ColumnElement[float]:
    """The resemblance of two texts, 0 to 1: the share of features and pairs of neighbouring features that they have in
    common. Give the options of the band indexes.

    NULL if one of the texts has no word.
    """
    return func.simhash_resemblance(_content(a), _content(b), *_options(options), type_=Double)


def block(fingerprint: Fingerprint, number: int, blocks: int = DEFAULT_BLOCKS) -> ColumnElement[int]:
    """A block of a fingerprint that is cut into ``blocks`` blocks, 2 to 8. Block 0 is the most significant.

    The numbers are constants in the SQL, so that the planner recognises the expression of an index.
    """
    arguments = [number] if blocks == DEFAULT_BLOCKS else [number, blocks]
    constants = [literal_column(str(int(argument)), Integer) for argument in arguments]
    return func.simhash_block(_fingerprint(fingerprint), *constants, type_=Integer)


def band(content: Content, number: int, **options: Unpack[Options]) -> ColumnElement[int]:
    """A band of a text, 0 to 63, for indexes.

    Number and options are constants in the SQL, so that the planner recognises the expression of an index.
    """
    constant = literal_column(str(int(number)), Integer)
    return func.simhash_band(_content(content), constant, *_options(options), type_=Integer)


def size(content: Content, **options: Unpack[Options]) -> ColumnElement[int]:
    """The size of a text, for indexes: the number of its features and pairs of neighbouring features, by weight.

    Give the options of the band indexes.
    """
    return func.simhash_size(_content(content), *_options(options), type_=Integer)


def band_indexes(
    content: Column[Any] | InstrumentedAttribute[Any] | ColumnElement[Any],
    bands: int = DEFAULT_BANDS,
    scope: Iterable[Column[Any] | InstrumentedAttribute[Any]] = (),
    *,
    name: str | None = None,
    **options: Unpack[Options],
) -> list[Index]:
    """Adds the indexes by which near texts are found to the table of a text, one for each band, and returns them.

    Call it after the table or the mapped class is complete:

        band_indexes(documents.c.body)
        band_indexes(Document.body, scope=[Document.tenant_id], markup="html")
        band_indexes(Document.subject + " " + Document.body, name="ix_documents_text")

    With columns in ``scope``, the indexes begin with these columns: they serve searches and guards of one tenant. Six
    bands serve searches for a resemblance of 0.8 or more, 12 for 0.7, and 24 for 0.6. Indexes are called
    ``ix_TABLE_COLUMN_band0`` and so on; ``name`` stands for ``ix_TABLE_COLUMN``, and an expression needs it.
    """
    text = _column(content)
    if name is None:
        if not isinstance(text, Column) or text.table is None:
            raise ArgumentError(
                "band_indexes needs a column of a table, or a name: call it after the table is complete"
            )
        name = f"ix_{text.table.name}_{text.name}"
    scope_columns = [_column(column) for column in scope]
    of_text = size(text, **options), simhash(text, **options)
    return [
        Index(f"{name}_band{number}", *scope_columns, band(text, number, **options), *of_text)
        for number in range(bands)
    ]


def block_indexes(
    fingerprint: Column[Any] | InstrumentedAttribute[Any],
    blocks: int = DEFAULT_BLOCKS,
    scope: Iterable[Column[Any] | InstrumentedAttribute[Any]] = (),
    *,
    name: str | None = None,
) -> list[Index]:
    """Adds the indexes by which near fingerprints are found to the table of a fingerprint column, one for each block,
    and returns them.

    Call it after the table or the mapped class is complete:

        block_indexes(documents.c.simhash)
        block_indexes(Document.simhash, scope=[Document.tenant_id])

    With columns in ``scope``, the indexes begin with these columns: they serve searches and guards of one tenant.
    Indexes are called ``ix_TABLE_COLUMN_block0`` and so on, or ``ix_TABLE_COLUMN_3_block0`` with 3 blocks instead of 4;
    ``name`` stands for what is before ``_block0``.
    """
    fingerprints = _column(fingerprint)
    if fingerprints.table is None:
        raise ArgumentError("block_indexes needs a column of a table: call it after the table is complete")
    scope_columns = [_column(column) for column in scope]
    if name is None:
        name = f"ix_{fingerprints.table.name}_{fingerprints.name}"
        name += "" if blocks == DEFAULT_BLOCKS else f"_{blocks}"
    return [
        Index(f"{name}_block{number}", *scope_columns, block(fingerprints, number, blocks), fingerprints)
        for number in range(blocks)
    ]


def _fingerprint(value: Fingerprint) -> ColumnElement[Any]:
    return literal(value, BigInteger) if value is None or isinstance(value, int) else cast("ColumnElement[Any]", value)


def _content(value: Content) -> ColumnElement[Any]:
    return literal(value, Text) if value is None or isinstance(value, str) else cast("ColumnElement[Any]", value)


def _text_or_fingerprint(value: Content | Fingerprint) -> ColumnElement[Any]:
    """``None`` becomes a NULL without a type, because it may be a text or a fingerprint, as the other side is."""
    if value is None:
        return null()
    return _content(value) if isinstance(value, str) else _fingerprint(value)


def _column(attribute: Any) -> Any:
    """The column of a table that a mapped attribute stands for; columns and expressions stay as they are."""
    if isinstance(attribute, InstrumentedAttribute):
        return cast("ColumnProperty[Any]", attribute.property).columns[0]
    return attribute


def _options(options: Mapping[str, Any]) -> list[ColumnElement[Any]]:
    return [_document(options)] if options else []


def _document(members: Mapping[str, Any]) -> ColumnElement[Any]:
    """Options or a criterion as a constant, which generated columns and indexes need, as PostgreSQL prints a jsonb."""
    document = _jsonb(members).replace("'", "''")
    return literal_column(f"'{document}'::jsonb", JSONB)


def _jsonb(value: Any) -> str:
    if isinstance(value, Mapping):
        keys = sorted(value, key=lambda key: (len(key.encode()), key.encode()))
        return "{" + ", ".join(f"{_jsonb(key)}: {_jsonb(value[key])}" for key in keys) + "}"
    if isinstance(value, float):  # Without an exponent.
        return format(Decimal(float.__repr__(value)), "f")
    return json.dumps(value, ensure_ascii=False)
