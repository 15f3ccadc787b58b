"""Looks up a sample of the rows, as a guard looks up new rows, and reads the texts of pairs.

The queries run in one snapshot, in which a row keeps its RowId: (oid of the table, ctid).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, NamedTuple

from psycopg.sql import SQL, Composable, Composed, Identifier, Literal

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

MAX_TIMED_SEARCHES = 100
"""How many searches are timed."""

MAX_KEY_CHARACTERS = 100
"""Characters of a key that are shown."""

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


class Cost(NamedTuple):
    """What a search by the criterion costs, on average."""

    searches: int
    milliseconds: float
    look_ups: float
    entries: float


def cost(table: Table) -> Cost | None:
    """The cost of searches for sampled rows, as a guard makes them; None if they do not use indexes."""
    columns, is_near = [table.fingerprint, *table.scope], _is_found(table, "own", "other")
    if table.criterion.resemblance is not None and table.options is not None:
        columns.append(table.column)
        is_near = _near_texts(table, "own", "other", table.options, table.criterion.resemblance)
    query = SQL(
        "EXPLAIN (ANALYZE, FORMAT JSON) SELECT FROM"
        " (SELECT {columns} FROM {table} TABLESAMPLE SYSTEM ({percent}) REPEATABLE (0)"
        " WHERE {fingerprint} IS NOT NULL LIMIT {most}) AS own"
        " CROSS JOIN LATERAL (SELECT FROM {table} AS other WHERE {is_near}) AS found"
    ).format(
        columns=SQL(", ").join(map(Identifier, dict.fromkeys(columns))),
        table=table.sql,
        percent=SQL(f"{min(100 * MAX_TIMED_SEARCHES * SAMPLED_PAGES_FACTOR / max(table.rows, 1), 100):.6f}"),
        fingerprint=Identifier(table.fingerprint),
        most=SQL(str(MAX_TIMED_SEARCHES)),
        is_near=is_near + _in_scope(table),
    )
    # Of a small table, the planner would read all.
    table.connection.execute("SET LOCAL enable_seqscan = off")
    found = table.connection.execute(query).fetchone()
    table.connection.execute("SET LOCAL enable_seqscan = on")
    assert found is not None
    [explained] = found[0]
    scans = [node for node in _nodes(explained["Plan"]) if node.get("Custom Plan Provider") == "SimhashScan"]
    searches = max((node["Actual Loops"] for node in scans), default=0)
    if not searches:
        return None
    look_ups, entries = (sum(node.get(name, 0) for node in scans) for name in ("Index Descents", "Index Entries"))
    return Cost(searches, explained["Execution Time"] / searches, look_ups / searches, entries / searches)


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", []):
        yield from _nodes(part)


def _is_found(table: Table, searched: str, found: str) -> Composable:
    """Whether a search by the criterion for one row finds the fingerprint of the other one."""
    criterion = table.criterion
    if criterion.resemblance is not None and table.options is not None:
        return _near_texts(table, searched, found, table.options, 0)
    limit: list[Composable] = [SQL(str(criterion.max_distance))]
    if criterion.radii:
        limit.append(SQL("ARRAY{}").format(SQL(str(criterion.radii))))
    return _near(table, searched, found, limit)


def _near_texts(table: Table, searched: str, found: str, options: str, resemblance: float) -> Composable:
    """``simhash_near`` of texts, with the options of the table's fingerprints."""
    limits = {**table.criterion.limits, "resemblance": resemblance}
    document = replace(table.criterion, limits=limits, options=options).json()
    function = table.function("simhash_near")
    return SQL("{}({}, {}, {}::jsonb)").format(function, table.text(found), table.text(searched), Literal(document))


def _near(table: Table, searched: str, found: str, limit: list[Composable]) -> Composable:
    """``simhash_near`` of fingerprints."""
    fingerprints = Identifier(found, table.fingerprint), Identifier(searched, table.fingerprint)
    return SQL("{}({}, {}, {})").format(table.function("simhash_near"), *fingerprints, SQL(", ").join(limit))


def _in_scope(table: Table) -> Composable:
    """The condition on the row `other` that it is in the scope of the row `own`."""
    scope = (table.equal(name, Identifier("other", name), Identifier("own", name)) for name in table.scope)
    return SQL("").join(SQL(" AND ") + equal for equal in scope)


def _query(table: Table, size: int) -> Composed:
    own, other = Identifier("own", table.fingerprint), Identifier("other", table.fingerprint)

    def order(row: str) -> Composable:
        """What rows are ordered by, as a record: records are compared by the order of btrees on their types.

        Operators on the columns themselves might be others, by casts of whoever owns the types.
        """
        columns = SQL(", ").join(Identifier(row, column) for column in (*table.key, "tableoid", "ctid"))
        return SQL("ROW({})::record").format(columns)

    # The condition is about the earlier row. Its names are those of the innermost query.
    among = SQL("(({}\n) IS TRUE)").format(SQL(table.criterion.among or "true"))

    pairs: Composable = SQL("true")
    if table.dismissed is not None:
        [key] = table.key

        def equal(column: str, row: str) -> Composable:
            return table.equal(key, Identifier("dismissed", column), Identifier(row, key))

        pairs = SQL("NOT EXISTS (SELECT FROM {} AS dismissed WHERE {} AND {} OR {} AND {})").format(
            table.dismissed, equal("a", "own"), equal("b", "other"), equal("a", "other"), equal("b", "own")
        )

    def near(compared: str, within: Composable, is_found: Composable, counts: Composable) -> Composable:
        """The nearest rows on one side of the sampled one, in the order of rows."""
        return SQL(
            "(SELECT tableoid, ctid, {distance} AS distance, {is_found} AS is_near,"
            " {other_order} < {own_order} AS is_earlier, {column}"
            " FROM {table} AS other WHERE {within}"
            " AND {other_order} {compared} {own_order} AND {counts} AND {pairs} ORDER BY {distance} LIMIT {most_near})"
        ).format(
            distance=table.distance(other, own),
            is_found=is_found,
            other_order=order("other"),
            own_order=order("own"),
            column=Identifier("other", table.column),
            table=table.sql,
            within=within + _in_scope(table),
            compared=SQL(compared),
            counts=counts,
            pairs=pairs,
            most_near=SQL(str(MAX_NEAR_ROWS)),
        )

    # Of two rows, a guard searches for the later one.
    of_own, of_other = _is_found(table, "own", "other"), _is_found(table, "other", "own")
    nearby = _near(table, "own", "other", [SQL(str(searched_distance(table)))])
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
        options=table.criterion.options,
        columns=SQL(", ").join(map(Identifier, columns)),
        among=among,
        counts=Identifier(COUNTS_COLUMN),
        table=table.sql,
        percent=SQL(f"{100 * pages:.6f}"),
        fingerprint=Identifier(table.fingerprint),
        kept=SQL(str(math.ceil(65536 * min(share / pages, 1)))),
        most=SQL(str(size * MAX_SAMPLE_FACTOR)),
        earlier=near("<", nearby, of_own, among),
        later=near(">", of_other, of_other, Identifier("own", COUNTS_COLUMN)),
    )


def texts(table: Table, a: RowId, b: RowId) -> tuple[Text, Text]:
    """The texts of a pair of rows, and what only one of them has."""
    return _text(table, a, b), _text(table, b, a)


def _text(table: Table, row_id: RowId, other: RowId) -> Text:
    of_own, of_other = (
        SQL("{}({}, {}::jsonb)").format(table.function("simhash_features"), table.text(row), table.criterion.options)
        for row in ("own", "other")
    )
    query = SQL(
        "SELECT length({text}), (SELECT count(*) FROM {of_own}),"
        " ARRAY(SELECT feature FROM {of_own} WHERE octet_length(feature) <= {longest}"
        " EXCEPT SELECT feature FROM {of_other} LIMIT {most_features})"
        " FROM {table} AS own, {table} AS other"
        " WHERE own.tableoid = %s AND own.ctid = %s::tid AND other.tableoid = %s AND other.ctid = %s::tid"
    ).format(
        text=table.text("own"),
        of_own=of_own,
        longest=SQL(str(MAX_FEATURE_BYTES)),
        of_other=of_other,
        most_features=SQL(str(MAX_FEATURES)),
        table=table.sql,
    )
    found = table.connection.execute(query, [*row_id, *other]).fetchone()
    assert found is not None  # The snapshot has both rows.
    return Text(*beginning(table, row_id, MAX_TEXT_CHARACTERS), *found)


def tokens(table: Table, words: list[str], options: str) -> dict[str, list[str]]:
    """The features of each word."""
    query = SQL("SELECT word, ARRAY(SELECT feature FROM {}(word, {}::jsonb)) FROM unnest(%s::text[]) AS word").format(
        table.function("simhash_features"), options
    )
    return dict(table.connection.execute(query, [words]))


def beginning(table: Table, row_id: RowId, length: int) -> tuple[str, str]:
    """What names a row, and the beginning of its text."""
    query = SQL("SELECT {}, {} FROM {} AS own WHERE tableoid = %s AND ctid = %s::tid").format(
        table.beginning("own", length), table.names_of("own"), table.sql
    )
    [[text, *names]] = table.printed(query, row_id)
    return ", ".join(map(_decode, names))[:MAX_KEY_CHARACTERS], _decode(text)


def _decode(value: bytes | None) -> str:
    return "" if value is None else value.decode(errors="replace")
