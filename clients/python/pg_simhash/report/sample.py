"""Looks up a sample of the rows, as a guard looks up new rows, and reads the texts of pairs.

The queries run in one snapshot, in which a row keeps its RowId: (oid of the table, ctid).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from psycopg.sql import SQL, Composable, Composed, Identifier

from .table import Column, ReportError, Table

RowId = tuple[int, str]

# Each row is compared with at most this many earlier near-duplicates, and as many earlier rows that resemble it less.
MAX_NEAR_ROWS = 20
MAX_GROUP_ROWS = 1000  # Rows that are read, and counted.
# Texts of a smaller resemblance are not looked for: the bands find few of them.
MIN_SHOWN = 0.5
# Neighbours in the table are often alike: the sample is drawn from this many times the pages that its rows fill.
SAMPLED_PAGES_FACTOR = 10
# Of a text, more is read than is shown: the text of an HTML page may begin late.
MAX_KEY_CHARACTERS = 100
MAX_TEXT_CHARACTERS = 100_000

# The column is of a string type: a superuser has made its cast to text.
LOOK_UPS_SQL = """
SELECT own.tableoid::oid, own.ctid::text, near.*
FROM (
    SELECT tableoid, ctid, {columns}
    FROM {table} TABLESAMPLE SYSTEM ({percent}) REPEATABLE (0)
    WHERE {column} IS NOT NULL
    ORDER BY hashtid(ctid)
    LIMIT {size}
) AS own
LEFT JOIN LATERAL (
    SELECT earlier.tableoid::oid, earlier.ctid::text, resemblance
    FROM ({duplicates} UNION ALL {others}) AS earlier
    CROSS JOIN LATERAL
        {extension}.simhash_resemblance(own.{column}::text, earlier.content, {options}::jsonb) AS resemblance
    WHERE is_near OR resemblance < {limit}
    ORDER BY resemblance DESC, place
    LIMIT 1
) AS near ON true
WHERE {extension}.simhash_size(own.{column}::text, {options}::jsonb) IS NOT NULL
"""

# The names in the condition `among` are those of the earlier row, in the innermost query. The condition may end with a
# comment, which lasts to the end of its line.
NEAR_ROWS_SQL = """
(
    SELECT tableoid, ctid, {column}::text AS content, {place} AS place, {is_near} AS is_near
    FROM {table} AS other
    WHERE {extension}.simhash_near(other.{column}::text, own.{column}::text, {criterion}::jsonb)
        AND {within} AND ({among}
    ) IS TRUE
    LIMIT {max_near_rows}
)
"""

GROUP_SQL = """
SELECT near.* FROM {table} AS own CROSS JOIN LATERAL (
    SELECT other.tableoid::oid, other.ctid::text FROM {table} AS other
    WHERE {extension}.simhash_near(other.{column}::text, own.{column}::text, {criterion}::jsonb) AND {within}
    LIMIT {max_rows}
) AS near
WHERE own.tableoid = {tableoid} AND own.ctid = {ctid}::tid
"""

# The labels are concatenated as the server prints them: a cast to text may call a function of the type's owner.
TEXT_SQL = """
SELECT left(concat_ws(', ', {labels}), {key_characters}), left(own.{column}::text, {text_characters}),
    length(own.{column}::text)
FROM {table} AS own
WHERE tableoid = {tableoid} AND ctid = {ctid}::tid
"""


class Pair(NamedTuple):
    """A sampled row, and the earlier row that it resembles most; of several, the first one. A row is earlier if the
    columns of the order are smaller; without any, if it is stored before."""

    row_id: RowId
    earlier: RowId
    resemblance: float


class Text(NamedTuple):
    """A text to show: the labels of its row, its beginning without markup, and its length."""

    key: str
    text: str
    length: int


def look_up_rows(table: Table, size: int) -> Iterator[Pair | None]:
    """For each sampled row with a word, as soon as it has been looked up, the pair with the earlier row that decides
    about it."""
    with table.connection.cursor(name="report") as cursor:
        cursor.itersize = 100
        cursor.execute(_look_ups_sql(table, size))
        for oid, ctid, other_oid, other_ctid, resemblance in cursor:
            yield None if other_oid is None else Pair((oid, ctid), (other_oid, other_ctid), resemblance)


def _look_ups_sql(table: Table, size: int) -> Composed:
    # Columns that are not needed, such as other long texts, are not read.
    columns = [table.column, *table.order, *(column.name for column in table.scope)]
    least = table.criterion["resemblance"]
    return table.query(
        LOOK_UPS_SQL,
        columns=SQL(", ").join(map(Identifier, dict.fromkeys(columns))),
        percent=min(100 * SAMPLED_PAGES_FACTOR * size / max(table.rows, 1), 100),
        size=size,
        limit=least,
        duplicates=_near_rows_sql(table, least, is_near=True),
        others=_near_rows_sql(table, min(least, MIN_SHOWN), is_near=False),
        options=json.dumps(table.options()),
    )


def _near_rows_sql(table: Table, least: float, *, is_near: bool) -> Composed:
    """Some earlier rows that resemble the row `own` at least so much, by the bands of the criterion.

    ``is_near`` says whether that makes them near-duplicates. Of other rows, those do not count that resemble it as much
    as a near-duplicate: their fingerprints differ too much.
    """
    within = SQL("{} < {}").format(_order_sql(table, "other"), _order_sql(table, "own"))
    return table.query(
        NEAR_ROWS_SQL,
        place=_order_sql(table, "other"),
        is_near=is_near,
        criterion=json.dumps({**table.criterion, "resemblance": least}),
        within=SQL(" AND ").join([within, *map(_in_scope_sql, table.scope)]),
        among=SQL(table.among or "true"),
        max_near_rows=MAX_NEAR_ROWS,
    )


def read_group(table: Table, first: RowId) -> list[RowId]:
    """Rows that are near this one, in its scope; at most MAX_GROUP_ROWS."""
    is_other = SQL("(other.tableoid, other.ctid) <> (own.tableoid, own.ctid)")
    query = table.query(
        GROUP_SQL,
        criterion=json.dumps(table.criterion),
        within=SQL(" AND ").join([is_other, *map(_in_scope_sql, table.scope)]),
        max_rows=MAX_GROUP_ROWS,
        tableoid=first[0],
        ctid=first[1],
    )
    return list(table.connection.execute(query))


def _in_scope_sql(column: Column) -> Composable:
    """Whether the row `other` has the same value in this column of the scope, and not NULL.

    By casts that the owner of a type has made, ``=`` may be another operator: that of enums, for example, does not take
    a domain over an enum. So a column that is not plain is compared as a record, by the btree operators of its type. No
    index serves this comparison.
    """
    names = {"other": Identifier("other", column.name), "own": Identifier("own", column.name)}
    if column.is_plain:
        return SQL("{other} = {own}").format(**names)
    # Unlike IS NOT NULL, this is true of a composite value with a NULL in it.
    return SQL("({own} IS DISTINCT FROM NULL AND ROW({other})::record = ROW({own})::record)").format(**names)


def _order_sql(table: Table, row: str) -> Composable:
    """The columns that decide which row is earlier, as a record: records are compared by the btree operators of their
    types. Between the columns themselves, casts of the types' owners might make ``<`` another operator."""
    columns = SQL(", ").join(Identifier(row, column) for column in (*table.order, "tableoid", "ctid"))
    return SQL("ROW({})::record").format(columns)


def read_text(table: Table, row_id: RowId) -> Text:
    query = table.query(
        TEXT_SQL,
        labels=SQL(", ").join(Identifier("own", column) for column in table.labels),
        key_characters=MAX_KEY_CHARACTERS,
        text_characters=MAX_TEXT_CHARACTERS,
        tableoid=row_id[0],
        ctid=row_id[1],
    )
    # The snapshot has the row. Without parameters, names may contain %.
    rows = table.connection.execute(query).fetchall()
    if len(rows) != 1:
        hint = "Name a partition that is not foreign."
        raise ReportError(f"table {table.name} has foreign rows, which have no ctid", hint)
    [[key, begin, length]] = rows
    if markup := table.criterion.get("markup"):
        # Only documents with markup need the compiled part of the package.
        from pg_simhash._native import without_markup

        begin = " ".join(without_markup(begin, markup=markup).split())
    return Text(key, begin, length)
