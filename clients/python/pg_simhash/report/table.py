"""What the catalogue says about the table: the bands of its column that are indexed, its key, and its guard.

Other users may have set the database's search path, and made functions and operators in the schemas on it. So the first
query names all schemas, and the later ones run under a path of their own.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from psycopg import Connection
from psycopg.rows import class_row
from psycopg.sql import SQL, Composed, Identifier

LIMITS = ("resemblance", "bands")  # The keys of a criterion that are not options of comparing texts.
MAX_COUNTED_ROWS = 10_000  # In a table of more rows, by the planner's estimate, the estimate is shown.

EXTENSION_SQL = """
SELECT nspname, quote_ident(nspname), extversion
FROM pg_extension JOIN pg_namespace AS n ON n.oid = extnamespace
WHERE extname = 'pg_simhash'
"""

TABLE_OID_SQL = "SELECT pg_catalog.to_regclass(%s::pg_catalog.text)::pg_catalog.oid"

# A view calls functions of its owner with the rights of whoever reads it.
RELATION_SQL = """
SELECT c.oid::regclass::text, nspname, relname
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = relnamespace
WHERE c.oid = %s::oid AND relkind IN ('r', 'p', 'm')
"""

# Rows of tables that inherit from another may have the same primary key.
COLUMNS_SQL = """
SELECT attname AS name, format_type(atttypid, NULL) AS type, t.typcategory = 'S' AS is_text,
    ARRAY[quote_ident(attname), format('(%%I)::text', attname)] AS expressions,
    base.typnamespace = 'pg_catalog'::regnamespace
        OR t.typtype = 'e'
        AND NOT EXISTS (SELECT FROM pg_cast WHERE castsource = t.oid AND castcontext = 'i') AS is_plain,
    array_position(indkey::smallint[], attnum) AS key_position
FROM pg_attribute
JOIN pg_type AS t ON t.oid = atttypid
JOIN pg_type AS base ON base.oid = coalesce(nullif(t.typbasetype, 0), t.oid)
LEFT JOIN pg_index ON indrelid = attrelid AND indisprimary
    AND array_position(indkey::smallint[], attnum) < indnkeyatts
    AND NOT EXISTS (SELECT FROM pg_inherits JOIN pg_class ON oid = inhparent WHERE oid = attrelid AND relkind <> 'p')
WHERE attrelid = %s::oid AND attnum > 0 AND NOT attisdropped
ORDER BY attnum
"""

# The expression of each band that is indexed for all rows.
BANDS_SQL = """
SELECT DISTINCT pg_get_indexdef(indexrelid, key, false) AS band
FROM pg_index, generate_series(1, indnkeyatts) AS key
WHERE indrelid = %s::oid AND indisvalid AND indpred IS NULL
    AND strpos(pg_get_indexdef(indexrelid, key, false), 'simhash_band(') > 0
ORDER BY band
"""

# How PostgreSQL prints a band, after the schema: with the text, its number and, in a literal, the options.
BAND_PATTERN = r"\.simhash_band\((.*?), (\d+)(?:, (E?)'((?:[^']|'')*)'::jsonb)?\)"

# A guard that cannot be read has no criterion, and comes first.
GUARD_SQL = """
SELECT guard, action, criterion, scope, mark_column, among, unless, error FROM {extension}.simhash_guards()
WHERE target = {table}::oid AND enabled <> 'D' AND (criterion IS NULL OR source = ANY ({sources}::text[]))
ORDER BY criterion IS NULL DESC
"""


class ReportError(Exception):
    """An error of the user, with a hint about what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True)
class Column:
    name: str
    type: str
    is_text: bool
    expressions: list[str]
    """How PostgreSQL prints the column, as a text."""
    is_plain: bool
    """Whether ``=`` of two values is PostgreSQL's own: no cast by another user can make it another, or ambiguous."""
    key_position: int | None
    """Its position in the primary key."""


@dataclass(frozen=True)
class Guard:
    """The guard of the table. Its conditions are only shown: whoever may create triggers wrote them, so the user of the
    command must not run them."""

    name: str
    action: str | None
    criterion: dict[str, Any] | None
    scope: list[str] | None
    mark_column: str | None
    among: str | None
    unless: str | None
    error: str | None

    def parts(self) -> dict[str, str]:
        """The arguments that the guard was created with, by their names."""
        parts = {
            "criterion": json.dumps(self.criterion, ensure_ascii=False),
            "action": self.action,
            "mark_column": self.mark_column,
            "scope": ", ".join(self.scope or []),
            "among": self.among,
            "unless": self.unless,
        }
        return {name: value for name, value in parts.items() if value}


@dataclass(frozen=True)
class Table:
    connection: Connection[Any]
    name: str
    """As SQL, with its schema."""
    sql: Identifier
    column: str
    source: str
    """The column as SQL."""
    extension: str
    """The extension's schema."""
    version: str
    key: list[str]
    """The columns of the primary key; empty if it does not identify a row."""
    order: list[str]
    """The columns whose values decide which of two rows is earlier: the column of --order, and the primary key."""
    order_column: str | None
    is_order_random: bool
    """Whether rows are ordered by a key that begins with a UUID, without a column of --order."""
    labels: list[str]
    """The columns by which the page names a row."""
    scope: list[Column]
    rows: int
    is_estimate: bool
    criterion: dict[str, Any]
    """The criterion with all its keys, as simhash_guards shows it."""
    limits_from: str
    """Where the criterion is from, as the page says it after "the limits"."""
    among: str | None
    """A condition on the earlier row, in SQL that the user of the command has written; None if all rows count."""
    guard: Guard | None

    def allows_duplicates(self) -> bool:
        """Whether rows near an earlier one may be stored on purpose: by a condition, or with a mark."""
        guard = self.guard
        return self.among is not None or guard is not None and any([guard.among, guard.unless, guard.mark_column])

    def query(self, template: str, **parts: Any) -> Composed:
        """A query with the names of the table, of its column and of the extension's schema, and these parts."""
        names = {"table": self.sql, "column": Identifier(self.column), "extension": Identifier(self.extension)}
        return SQL(template).format(**names, **parts)

    def options(self) -> dict[str, Any]:
        """The options with which texts are compared."""
        return {key: value for key, value in self.criterion.items() if key not in LIMITS}


def read_table(connection: Connection[Any], arguments: argparse.Namespace) -> Table:
    [[oid]] = connection.execute(TABLE_OID_SQL, [arguments.table])
    connection.execute("SET LOCAL search_path = pg_catalog, pg_temp")
    extension, quoted_extension, version = _read_extension(connection)
    name, *qualified = _read_relation(connection, oid, arguments.table)
    sql = Identifier(*qualified)
    with connection.cursor(row_factory=class_row(Column)) as cursor:
        columns = {column.name: column for column in cursor.execute(COLUMNS_SQL, [oid])}
    _check_columns(columns, name, arguments)
    column = columns[arguments.column]
    options = _read_options(connection, oid, name, column, quoted_extension)
    guard = _read_guard(connection, oid, column, extension)
    is_given = arguments.criterion is not None or arguments.among is not None
    criterion = None if guard is None else guard.criterion
    if criterion is None or arguments.criterion is not None:
        criterion = _complete_criterion(connection, extension, {**options, **(arguments.criterion or {})})
    scope = arguments.scope or (guard and guard.scope) or []
    keys = sorted((column.key_position, column.name) for column in columns.values() if column.key_position is not None)
    key = [name for _, name in keys]
    rows, is_estimate = _count_rows(connection, sql, arguments.column)
    return Table(
        connection=connection,
        name=name,
        sql=sql,
        column=arguments.column,
        source=column.expressions[0],
        extension=extension,
        version=version,
        key=key,
        order=list(dict.fromkeys([*([arguments.order] if arguments.order else []), *key])),
        order_column=arguments.order,
        is_order_random=not arguments.order and bool(key) and columns[key[0]].type == "uuid",
        labels=arguments.label or key or ["ctid"],
        scope=[columns[name] for name in scope],
        rows=rows,
        is_estimate=is_estimate,
        criterion=criterion,
        limits_from="that were asked for" if is_given else "of the table's guard" if guard else "of a new guard",
        among=arguments.among,
        guard=guard,
    )


def _read_extension(connection: Connection[Any]) -> tuple[str, ...]:
    """The name of the extension's schema, this name quoted for SQL, and the extension's version."""
    if (row := connection.execute(EXTENSION_SQL).fetchone()) is None:
        hint = "Create it: CREATE EXTENSION pg_simhash."
        raise ReportError("this database does not have the extension pg_simhash", hint)
    return tuple(row)


def _read_relation(connection: Connection[Any], oid: int, table: str) -> tuple[str, ...]:
    """The table as SQL, its schema, and its name."""
    if (row := connection.execute(RELATION_SQL, [oid]).fetchone()) is None:
        hint = "Name a table as in SQL, with its schema if needed. The report reads no views."
        raise ReportError(f'table "{table}" does not exist', hint)
    return tuple(row)


def _check_columns(columns: dict[str, Column], table: str, arguments: argparse.Namespace) -> None:
    for name in [arguments.column, *arguments.label, *arguments.scope, *([arguments.order] if arguments.order else [])]:
        if name not in columns:
            raise ReportError(f'column "{name}" of table {table} does not exist', f"It has: {', '.join(columns)}.")
    if not columns[arguments.column].is_text:
        message = f'column "{arguments.column}" is of type {columns[arguments.column].type}'
        raise ReportError(message, "The report compares texts.")


def _read_options(connection: Connection[Any], oid: int, table: str, column: Column, extension: str) -> dict[str, Any]:
    """The options of the column's bands that are indexed; if there are several, those with the most bands."""
    numbers: defaultdict[str, set[int]] = defaultdict(set)
    other_sources = set()
    for (band,) in connection.execute(BANDS_SQL, [oid]):
        if call := re.fullmatch(re.escape(extension) + BAND_PATTERN, band, re.DOTALL):
            source, number, escape, literal = call.groups()
            options = (literal or "{}").replace("''", "'")
            if source in column.expressions:
                numbers[options.replace("\\\\", "\\") if escape else options].add(int(number))
            else:
                other_sources.add(source)
    if not numbers:
        command = SQL("SELECT simhash_index({}, {})").format(table, column.expressions[0])
        hint = f"Make them first: {command.as_string()}."
        if other_sources:
            hint = f"There are bands of {', '.join(sorted(other_sources))}: name a column of it."
        raise ReportError(f'no index of table {table} has bands of column "{column.name}"', hint)
    options = max(numbers, key=lambda options: len(numbers[options]))
    try:
        return dict(json.loads(options))
    except (ValueError, TypeError, RecursionError):
        # An index of an empty table may have any document.
        hint = "Drop these indexes, and call simhash_index."
        raise ReportError(f"the options of the indexes of table {table} cannot be read", hint) from None


def _read_guard(connection: Connection[Any], oid: int, column: Column, extension: str) -> Guard | None:
    """The guard that compares the texts of the column."""
    query = SQL(GUARD_SQL).format(extension=Identifier(extension), table=oid, sources=column.expressions)
    for row in connection.execute(query):
        guard = Guard(*row)
        if guard.criterion is None:
            hint = "Drop this trigger, or create it anew."
            raise ReportError(f'guard "{guard.name}" cannot be read: {guard.error}', hint)
        if guard.criterion["resemblance"] is not None:
            return guard
    return None


def _complete_criterion(connection: Connection[Any], extension: str, document: dict[str, Any]) -> dict[str, Any]:
    """The criterion of a guard with this document."""
    schema, criterion = Identifier(extension), json.dumps(document)
    # The server says what is wrong with the document.
    connection.execute(SQL("SELECT {}.simhash_near(''::text, ''::text, {}::jsonb)").format(schema, criterion))
    # The arguments that CREATE TRIGGER would store for a guard with this criterion.
    arguments = b"\0".join([b"reject", criterion.encode(), b"body", b""])
    definition = SQL("SELECT {}.simhash_guard_definition({}::bytea) -> 'criterion'").format(schema, arguments)
    [[complete]] = connection.execute(definition)
    return dict(complete)


def _count_rows(connection: Connection[Any], table: Identifier, column: str) -> tuple[int, bool]:
    """The number of rows with a text, and whether it is the planner's estimate."""
    names = {"table": table, "column": Identifier(column)}
    query = SQL("EXPLAIN (FORMAT JSON) SELECT FROM {table} WHERE {column} IS NOT NULL").format(**names)
    [[[explained]]] = connection.execute(query)
    if (estimate := explained["Plan"]["Plan Rows"]) > MAX_COUNTED_ROWS:
        return estimate, True
    [[count]] = connection.execute(SQL("SELECT count({column}) FROM {table}").format(**names))
    return count, False
