"""Looks up a sample of the rows, as a guard looks up new rows, and reads the texts of pairs.

The queries run in one snapshot, in which a row keeps its RowId: (oid of the table, ctid).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from psycopg.sql import SQL, Composable, Composed, Identifier, Literal

from .table import LIMITS, Column, Table

RowId = tuple[int, str]

MAX_NEAR_ROWS = 20
"""How many earlier rows are read for each row: the nearest."""

SAMPLED_PAGES_FACTOR = 10
"""Neighbours in the table are often alike: the sample is from so many times as many pages as its rows take."""

SEARCHED_BITS_BEYOND = 2
MIN_SEARCHED_DISTANCE = 10
"""How far the look-ups search: so many bits beyond the limit, and at least to this distance."""

MAX_KEY_CHARACTERS = 100
MAX_TEXT_CHARACTERS = 20_000
"""Characters that are read to be shown."""

# The condition is about the earlier row: its names are those of the innermost query.
LOOK_UPS = """
SELECT own.tableoid::oid, own.ctid::text, near.*
FROM (
    SELECT tableoid, ctid, {columns}
    FROM {table} TABLESAMPLE SYSTEM ({percent}) REPEATABLE (0)
    WHERE {fingerprint} IS NOT NULL
    ORDER BY hashtid(ctid)
    LIMIT {size}
) AS own
LEFT JOIN LATERAL (
    SELECT earlier.tableoid::oid, earlier.ctid::text, distance, resemblance, is_near,
        {least} IS NULL OR resemblance >= {least} AS is_like
    FROM (
        SELECT tableoid, ctid, {column}, {distance} AS distance, {is_near} AS is_near
        FROM {table} AS other
        WHERE {within} AND {other_order} < {own_order} AND ({among}
        ) IS TRUE
        ORDER BY {distance}
        LIMIT {most_near}
    ) AS earlier
    CROSS JOIN LATERAL coalesce({resemblance}({own_text}, {earlier_text}, {options}::jsonb), 0) AS resemblance
    ORDER BY is_like DESC, is_near DESC, resemblance DESC, distance
    LIMIT 1
) AS near ON true
"""

# As the server prints names: a cast to text may call a function of whoever owns the type.
TEXT = """
SELECT left(concat_ws(', ', {labels}), {key_characters}), left({text}, {text_characters}), length({text})
FROM {table} AS own
WHERE tableoid = {tableoid} AND ctid = {ctid}::tid
"""


class Pair(NamedTuple):
    """A sampled row, and the earlier row that decides about it. A row is earlier if its primary key is smaller; without
    one, if its RowId is."""

    row_id: RowId
    earlier: RowId
    distance: int
    resemblance: float
    is_near: bool
    """Whether a guard compares the texts of the two."""
    is_like: bool
    """Whether the texts resemble each other enough."""


class Text(NamedTuple):
    """One of the two texts of a pair: what names its row, its beginning, and its length."""

    key: str
    text: str
    length: int


def searched_distance(table: Table) -> int:
    limit: int = table.criterion["max_distance"]
    return min(max(limit + SEARCHED_BITS_BEYOND, MIN_SEARCHED_DISTANCE), 64)


def look_ups(table: Table, size: int) -> Iterator[Pair | None]:
    """For each sampled row, as soon as it has been looked up, the pair with the earlier row that decides about it."""
    with table.connection.cursor(name="report") as cursor:
        cursor.itersize = 100
        cursor.execute(_query(table, size))
        for oid, ctid, other_oid, other_ctid, *found in cursor:
            yield None if other_oid is None else Pair((oid, ctid), (other_oid, other_ctid), *found)


def _query(table: Table, size: int) -> Composed:
    own, other = Identifier("own", table.fingerprint), Identifier("other", table.fingerprint)
    near = SQL("{}({}, {}, {})").format(table.function("simhash_near"), other, own, Literal(searched_distance(table)))
    # Columns that are not needed, such as other long texts, are not read.
    columns = [table.fingerprint, table.column, *table.key, *(column.name for column in table.scope)]
    return SQL(LOOK_UPS).format(
        columns=SQL(", ").join(map(Identifier, dict.fromkeys(columns))),
        table=table.sql,
        percent=Literal(min(100 * SAMPLED_PAGES_FACTOR * size / max(table.rows, 1), 100)),
        fingerprint=Identifier(table.fingerprint),
        size=Literal(size),
        least=Literal(table.criterion["resemblance"]),
        column=Identifier(table.column),
        distance=SQL("{} OPERATOR({}.<~>) {}").format(other, Identifier(table.extension), own),
        is_near=_is_near(table),
        within=SQL(" AND ").join([near, *map(_is_in_scope, table.scope)]),
        other_order=_order(table, "other"),
        own_order=_order(table, "own"),
        among=SQL(table.among or "true"),
        most_near=Literal(MAX_NEAR_ROWS),
        resemblance=table.function("simhash_resemblance"),
        own_text=table.text("own"),
        earlier_text=table.text("earlier"),
        options=Literal(json.dumps(table.compared_with())),
    )


def _is_near(table: Table) -> Composable:
    """Whether a guard that searches for the row `own` finds the row `other`, whatever its text is."""
    criterion, near = table.criterion, table.function("simhash_near")
    if criterion["resemblance"] is not None and table.options is not None:
        limits = {key: criterion[key] for key in LIMITS if key in criterion}
        document = json.dumps({**table.options, **limits, "resemblance": 0})
        return SQL("{}({}, {}, {}::jsonb)").format(near, table.text("other"), table.text("own"), Literal(document))
    # Without the text, the flips are not known.
    limit = [Literal(criterion["max_distance"])]
    if criterion["radii"]:
        limit.append(Literal(criterion["radii"]))
    fingerprints = Identifier("other", table.fingerprint), Identifier("own", table.fingerprint)
    return SQL("{}({}, {}, {})").format(near, *fingerprints, SQL(", ").join(limit))


def _is_in_scope(column: Column) -> Composable:
    """Whether the row `other` has the same value in this column of the scope, and not NULL.

    The operator on two values of the same type may be another one, by casts of whoever owns the type: that on a domain
    over an enum is. Records are compared by the btree operators of their types, which no index serves.
    """
    names = {"other": Identifier("other", column.name), "own": Identifier("own", column.name)}
    if column.is_plain:
        return SQL("{other} = {own}").format(**names)
    # Unlike IS NOT NULL, this is true of a composite value with a NULL in it.
    return SQL("({own} IS DISTINCT FROM NULL AND ROW({other})::record = ROW({own})::record)").format(**names)


def _order(table: Table, row: str) -> Composable:
    """What rows are ordered by, as a record: records are compared by the order of btrees on their types.

    Operators on the columns themselves might be others, by casts of whoever owns the types.
    """
    columns = SQL(", ").join(Identifier(row, column) for column in (*table.key, "tableoid", "ctid"))
    return SQL("ROW({})::record").format(columns)


def text(table: Table, row_id: RowId) -> Text:
    query = SQL(TEXT).format(
        labels=SQL(", ").join(Identifier("own", column) for column in table.labels),
        key_characters=Literal(MAX_KEY_CHARACTERS),
        text=table.text("own"),
        text_characters=Literal(MAX_TEXT_CHARACTERS),
        table=table.sql,
        tableoid=Literal(row_id[0]),
        ctid=Literal(row_id[1]),
    )
    # The snapshot has the row. Without parameters, names may contain %.
    [found] = table.connection.execute(query)
    return Text(*found)
