"""What the catalogue says about the table: its fingerprint column, what that is made from, its key, and its guard."""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import dataclass
from typing import Any

from psycopg import Connection
from psycopg.rows import class_row
from psycopg.sql import SQL, Composable, Identifier, Literal

LIMITS = ("max_distance", "radii", "flips", "resemblance")
"""The keys of a criterion that are no options of fingerprints."""

MAX_COUNTED_ROWS = 10_000
"""Tables that the planner takes for smaller are counted."""

EXTENSION = """
SELECT nspname, quote_ident(nspname), extversion
FROM pg_extension JOIN pg_namespace AS n ON n.oid = extnamespace
WHERE extname = 'pg_simhash'
"""

# A view calls functions of its owner with the rights of whoever reads it.
RELATION = """
SELECT c.oid, c.oid::regclass::text, nspname, relname
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = relnamespace
WHERE c.oid = to_regclass(%s) AND relkind IN ('r', 'p', 'm')
"""

COLUMNS = """
SELECT attname AS name, format_type(atttypid, NULL) AS type, t.typcategory = 'S' AS is_text,
    CASE WHEN attgenerated <> '' THEN pg_get_expr(adbin, adrelid) END AS generation,
    ARRAY[quote_ident(attname), format('(%%I)::text', attname)] AS expressions,
    base.typnamespace = 'pg_catalog'::regnamespace
        OR t.typtype = 'e'
        AND NOT EXISTS (SELECT FROM pg_cast WHERE castsource = t.oid AND castcontext = 'i') AS is_plain,
    array_position(indkey::smallint[], attnum) AS key_position
FROM pg_attribute
JOIN pg_type AS t ON t.oid = atttypid
JOIN pg_type AS base ON base.oid = coalesce(nullif(t.typbasetype, 0), t.oid)
LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
LEFT JOIN pg_index ON indrelid = attrelid AND indisprimary
    AND array_position(indkey::smallint[], attnum) < indnkeyatts
WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped
ORDER BY attnum
"""

# Guards that cannot be read come first.
GUARD = """
SELECT guard, criterion, scope, among, error FROM {}()
WHERE target = %s::oid AND enabled <> 'D' AND (error IS NOT NULL OR fingerprint = %s::name)
ORDER BY error
"""

CALL = r"\.simhash\((.*?)(?:, (E?)'((?:[^']|'')*)'::jsonb)?\)"
"""How PostgreSQL prints a fingerprint, after the schema: with the text and, in a literal, the options."""


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
    generation: str | None
    expressions: list[str]
    """How PostgreSQL prints the column, as a text."""
    is_plain: bool
    """Whether ``=`` of two values is PostgreSQL's own: no cast of others can make it another, nor an ambiguous one."""
    key_position: int | None
    """Its position in the primary key."""


@dataclass(frozen=True)
class Table:
    connection: Connection[Any]
    name: str
    """As the user sees it: with its schema, if that is not on the search path."""
    sql: Identifier
    column: str
    fingerprint: str
    extension: str
    """The extension's schema."""
    version: str
    options: dict[str, Any] | None
    """The options of the fingerprints; None if they are not made from the column alone."""
    made_from: str | None
    """The expression that the fingerprint is made from, if that is not the column."""
    key: list[str]
    """The columns of the primary key."""
    labels: list[str]
    """The columns by which the page names a row."""
    scope: list[Column]
    rows: int
    is_estimate: bool
    criterion: dict[str, Any]
    """What makes a row a near-duplicate, complete, as simhash_guards shows it."""
    limits_from: str
    """Where the criterion is from: "given" by the user, that of the "guard", or the "default" of a new guard."""
    among: str | None
    """A condition on the earlier row, in SQL that the user of the command has written; None if all rows count."""
    condition: str | None
    """The condition of the guard, if the user gives no other. Who may create triggers has written it, so the user of
    the command must not run it."""

    def function(self, name: str) -> Identifier:
        return Identifier(self.extension, name)

    def text(self, row: str) -> Composable:
        # The column is of a string type: a superuser has made the cast.
        return SQL("{}::text").format(Identifier(row, self.column))

    def compared_with(self) -> dict[str, Any]:
        """The options with which texts are compared."""
        return {key: value for key, value in self.criterion.items() if key not in LIMITS}


def find(connection: Connection[Any], given: argparse.Namespace) -> Table:
    """Reads the catalogue, for the arguments of the command."""
    found = connection.execute(EXTENSION).fetchone()
    if found is None:
        hint = "Create it: CREATE EXTENSION pg_simhash."
        raise ReportError("this database does not have the extension pg_simhash", hint)
    extension, quoted_extension, version = found
    found = connection.execute(RELATION, [given.table]).fetchone()
    if found is None:
        hint = "Name a table as in SQL, with its schema if needed. The report reads no views."
        raise ReportError(f'table "{given.table}" does not exist', hint)
    oid, name, *qualified = found
    sql = Identifier(*qualified)
    # From here on, all names have their schemas, and names that PostgreSQL prints have theirs.
    connection.execute("SET LOCAL search_path = ''")
    with connection.cursor(row_factory=class_row(Column)) as cursor:
        columns = {column.name: column for column in cursor.execute(COLUMNS, [oid])}
    source, options = _check_columns(columns, name, given, quoted_extension)
    query = SQL(GUARD).format(Identifier(extension, "simhash_guards"))
    found = connection.execute(query, [oid, given.fingerprint]).fetchone()
    guard, criterion, scope, condition, error = found or (None, None, [], None, None)
    if error is not None:
        raise ReportError(f'guard "{guard}" cannot be read: {error}', "Drop this trigger, or create it anew.")
    is_given = given.criterion is not None or given.among is not None
    if criterion is None or given.criterion is not None:
        criterion = _complete(connection, extension, {**options, **(given.criterion or {})})
    is_of_column = source in columns[given.column].expressions
    keys = sorted((column.key_position, column.name) for column in columns.values() if column.key_position is not None)
    key = [name for _, name in keys]
    rows, is_estimate = _rows(connection, sql, given.fingerprint)
    return Table(
        connection=connection,
        name=name,
        sql=sql,
        column=given.column,
        fingerprint=given.fingerprint,
        extension=extension,
        version=version,
        options=options if is_of_column else None,
        made_from=None if is_of_column else source,
        key=key,
        labels=given.label or key or ["ctid"],
        scope=[columns[name] for name in given.scope or scope],
        rows=rows,
        is_estimate=is_estimate,
        criterion=criterion,
        limits_from="given" if is_given else "default" if guard is None else "guard",
        among=given.among,
        condition=None if given.among is not None else condition,
    )


def _check_columns(
    columns: dict[str, Column], table: str, given: argparse.Namespace, extension: str
) -> tuple[str | None, dict[str, Any]]:
    """The expression that the fingerprints are made from, and their options. None if the application makes them."""
    for name in [given.column, *(given.label or []), *(given.scope or [])]:
        if name not in columns:
            raise ReportError(f'column "{name}" of table {table} does not exist', f"It has: {', '.join(columns)}.")
    if not columns[given.column].is_text:
        message = f'column "{given.column}" is of type {columns[given.column].type}'
        raise ReportError(message, "The report compares texts.")
    fingerprint = columns.get(given.fingerprint)
    if fingerprint is None or fingerprint.type != "bigint":
        raise ReportError(
            f'table {table} has no fingerprint column "{given.fingerprint}"',
            f"Attach it first: SELECT simhash_attach({_literal(table)}, {_literal(given.column)}). "
            "Or name another fingerprint column with --fingerprint.",
        )
    if fingerprint.generation is None:
        return None, {}
    call = re.fullmatch(re.escape(extension) + CALL, fingerprint.generation, re.DOTALL)
    if call is None:
        return fingerprint.generation, {}
    source, escape, literal = call.groups()
    if any(source in columns[name].expressions for name in columns if name != given.column):
        raise ReportError(
            f'the fingerprints in "{given.fingerprint}" are made from {source}, not from "{given.column}"',
            "Name that column, or the fingerprint column of this one with --fingerprint.",
        )
    options = (literal or "{}").replace("''", "'")
    return source, json.loads(options.replace("\\\\", "\\") if escape else options)


def _complete(connection: Connection[Any], extension: str, document: dict[str, Any]) -> dict[str, Any]:
    """The criterion of a guard that is given this document. Default radii are for four blocks."""
    # The server says what is wrong with the document.
    near = SQL("SELECT {}('', '', %s::jsonb)").format(Identifier(extension, "simhash_near"))
    connection.execute(near, [json.dumps(document)])
    # What the trigger of a guard by hand would do.
    arguments = b"\0".join([b"reject", json.dumps(document).encode(), b"simhash", b""])
    definition = SQL("SELECT {}(%s) -> 'criterion'").format(Identifier(extension, "simhash_guard_definition"))
    [[complete]] = connection.execute(definition, [arguments])
    return dict(complete)


def _rows(connection: Connection[Any], table: Identifier, fingerprint: str) -> tuple[int, bool]:
    """The number of rows with a fingerprint, and whether it is the planner's estimate."""
    names = {"table": table, "fingerprint": Identifier(fingerprint)}
    query = SQL("EXPLAIN (FORMAT JSON) SELECT FROM {table} WHERE {fingerprint} IS NOT NULL").format(**names)
    [[[explained]]] = connection.execute(query)
    if (estimate := explained["Plan"]["Plan Rows"]) > MAX_COUNTED_ROWS:
        return estimate, True
    [[count]] = connection.execute(SQL("SELECT count({fingerprint}) FROM {table}").format(**names))
    return count, False


def _literal(text: str) -> str:
    return Literal(text).as_string(None)
