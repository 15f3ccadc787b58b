"""Looks up a sample of the rows, as a guard looks up new rows, and reads the texts of pairs.

The queries run in one snapshot, in which a row keeps its RowId: (oid of the table, ctid).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from psycopg.sql import SQL, Composable, Composed, Identifier

from .table import Table

RowId = tuple[int, str]

MAX_NEAR_ROWS = 20
"""How many near rows are read of each row: the nearest of those before it, and the nearest of those after it."""

MAX_SAMPLE_FACTOR = 4
"""The most rows that are looked up, as a multiple of the sample: the number of rows is an estimate."""

SAMPLED_PAGES_FACTOR = 10
"""Neighbours in the table are often alike: the sample is from so many times as many pages as its rows take."""

SEARCHED_BITS_BEYOND = 2
MIN_SEARCHED_DISTANCE = 10
"""How far the look-ups search: so many bits beyond the limit, and at least to this distance."""

COUNTS_COLUMN = "pg_simhash counts"
"""What the condition says about a sampled row, by a name that no column is likely to have."""

MAX_TEXT_CHARACTERS = 20_000
"""Characters of a text that are read to be shown."""

MAX_FEATURES = 2_000
MAX_FEATURE_BYTES = 200
"""How many of the features that one text alone has are read, and how long they may be, in bytes."""


class Near(NamedTuple):
    """A row that is near a sampled row."""

    row_id: RowId
    distance: int
    resemblance: float
    is_near: bool
    """Whether a guard compares the texts of the two."""
    is_earlier: bool


@dataclass
class Row:
    """A sampled row. A row is earlier if its primary key is smaller; without one, if its RowId is."""

    row_id: RowId
    near: list[Near] = field(default_factory=list)


class Text(NamedTuple):
    """One of the two texts of a pair."""

    key: str
    text: str
    length: int
    features: int
    only_here: list[str]
    """The features that the other text does not have, as texts are compared."""


def searched_distance(table: Table) -> int:
    return min(max(table.criterion.max_distance + SEARCHED_BITS_BEYOND, MIN_SEARCHED_DISTANCE), 64)


def rows(table: Table, size: int) -> Iterator[Row]:
    """The sampled rows, each as soon as it has been looked up."""
    with table.connection.cursor(name="report") as cursor:
        cursor.itersize = 100
        cursor.execute(_query(table, size))
        for row_id, found in groupby(cursor, key=lambda row: (row[0], row[1])):
            row = Row(row_id)
            for _, _, oid, ctid, distance, resemblance, is_near, is_earlier in found:
                # A text of another table, such as one without a feature, has no resemblance.
                if oid is not None:
                    row.near.append(Near((oid, ctid), distance, resemblance or 0.0, is_near, is_earlier))
            yield row


def _query(table: Table, size: int) -> Composed:
    own, other = Identifier("own", table.fingerprint), Identifier("other", table.fingerprint)
    limit: list[Composable] = [SQL(str(table.criterion.max_distance))]
    if table.criterion.radii:
        limit.append(SQL("ARRAY{}").format(SQL(str(list(table.criterion.radii)))))
    nearness = table.function("simhash_near")

    def order(row: str) -> Composable:
        key = [Identifier(row, column) for column in table.key]
        return SQL("({})").format(SQL(", ").join([*key, Identifier(row, "tableoid"), Identifier(row, "ctid")]))

    # The condition is about the earlier row. Its names are those of the innermost query.
    among = SQL("(({}\n) IS TRUE)").format(SQL(table.criterion.among or "true"))

    def near(compared: str, within: list[Composable], counts: Composable) -> Composable:
        """The nearest rows on one side of the sampled one, in the order of rows."""
        return SQL(
            "(SELECT tableoid, ctid, {distance} AS distance, {nearness}({other}, {own}, {limit}) AS is_near,"
            " {other_order} < {own_order} AS is_earlier, {column}"
            " FROM {table} AS other WHERE {nearness}({other}, {own}, {within})"
            " AND {other_order} {compared} {own_order}{scope} AND {counts} ORDER BY {distance} LIMIT {most_near})"
        ).format(
            distance=table.distance(other, own),
            nearness=nearness,
            other=other,
            own=own,
            limit=SQL(", ").join(limit),
            other_order=order("other"),
            own_order=order("own"),
            column=Identifier("other", table.column),
            table=table.sql,
            within=SQL(", ").join(within),
            compared=SQL(compared),
            scope=SQL("").join(
                SQL(" AND {} = {}").format(Identifier("other", name), Identifier("own", name)) for name in table.scope
            ),
            counts=counts,
            most_near=SQL(str(MAX_NEAR_ROWS)),
        )

    share = size / max(table.rows, 1)
    pages = min(share * SAMPLED_PAGES_FACTOR, 1.0)
    # Columns that are not needed, such as other long texts, are not read.
    columns = dict.fromkeys([table.fingerprint, table.column, *table.key, *table.scope])
    return SQL(
        "SELECT own.tableoid::oid, own.ctid::text, near.tableoid::oid, near.ctid::text, near.distance,"
        " {resemblance}({own_text}, {near_text}, {options}::jsonb), near.is_near, near.is_earlier"
        " FROM (SELECT tableoid, ctid, {columns}, {among} AS {counts}"
        " FROM {table} TABLESAMPLE SYSTEM ({percent}) REPEATABLE (0)"
        " WHERE {fingerprint} IS NOT NULL AND hashtid(ctid)::bigint & 65535 < {kept} LIMIT {most}) AS own"
        " LEFT JOIN LATERAL ({earlier} UNION ALL {later}) AS near ON true"
    ).format(
        resemblance=table.function("simhash_resemblance"),
        own_text=table.text("own"),
        near_text=table.text("near"),
        options=table.options,
        columns=SQL(", ").join(map(Identifier, columns)),
        among=among,
        counts=Identifier(COUNTS_COLUMN),
        table=table.sql,
        percent=SQL(f"{100 * pages:.6f}"),
        fingerprint=Identifier(table.fingerprint),
        kept=SQL(str(math.ceil(65536 * min(share / pages, 1)))),
        most=SQL(str(size * MAX_SAMPLE_FACTOR)),
        earlier=near("<", [SQL(str(searched_distance(table)))], among),
        later=near(">", limit, Identifier("own", COUNTS_COLUMN)),
    )


def texts(table: Table, a: RowId, b: RowId) -> tuple[Text, Text]:
    """The texts of a pair of rows, and what only one of them has."""
    features = table.function("simhash_features")

    def one(row: str, other: str) -> Composable:
        of_row, of_other = (
            SQL("{}({}, {}::jsonb)").format(features, table.text(name), table.options) for name in (row, other)
        )
        return SQL(
            "{key}, {beginning}, length({text}),"
            " (SELECT count(*) FROM {of_row}),"
            " ARRAY(SELECT feature FROM {of_row} WHERE octet_length(feature) <= {longest}"
            " EXCEPT SELECT feature FROM {of_other} LIMIT {most_features})"
        ).format(
            key=table.key_of(row),
            row=Identifier(row),
            text=table.text(row),
            beginning=table.beginning(table.text(row), MAX_TEXT_CHARACTERS),
            of_row=of_row,
            longest=SQL(str(MAX_FEATURE_BYTES)),
            of_other=of_other,
            most_features=SQL(str(MAX_FEATURES)),
        )

    query = SQL(
        "SELECT {}, {} FROM {table} AS a, {table} AS b"
        " WHERE a.tableoid = %s AND a.ctid = %s::tid AND b.tableoid = %s AND b.ctid = %s::tid"
    ).format(one("a", "b"), one("b", "a"), table=table.sql)
    found = table.connection.execute(query, [*a, *b]).fetchone()
    assert found is not None  # The snapshot has both rows.
    return _text(*found[:5]), _text(*found[5:])


def _text(key: bytes, text: bytes, length: int, features: int, only_here: list[str]) -> Text:
    return Text(_decode(key), _decode(text), length, features, only_here)


def _decode(text: bytes) -> str:
    return text.decode(errors="replace")


def beginnings(table: Table, row_ids: Sequence[RowId], length: int) -> list[tuple[str, str]]:
    """The keys of rows, and the beginnings of their texts."""
    query = SQL("SELECT {}, {} FROM {} AS own WHERE tableoid = %s AND ctid = %s::tid").format(
        table.key_of("own"), table.beginning(table.text("own"), length), table.sql
    )
    found = (table.connection.execute(query, row_id).fetchone() for row_id in row_ids)
    return [(_decode(row[0]), _decode(row[1])) for row in found if row is not None]
