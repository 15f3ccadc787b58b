"""What the catalogue says about the table: its fingerprint column, what that is made from, its key, and its guard."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import Connection, sql
from psycopg.sql import SQL, Composable, Composed, Identifier

from .criterion import Criterion

PREFERRED_BLOCKS = (4, 3, 5, 6, 2, 7, 8)
"""Numbers of blocks, in the order in which a guard takes a table's layouts for its default radii."""


class ReportError(Exception):
    """An error of the user, with a hint about what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True)
class Table:
    connection: Connection[Any]
    oid: int
    name: str
    """As the user sees it: with its schema, if that is not on the search path."""
    sql: Composable
    column: str
    fingerprint: str
    extension: str
    """The extension's schema."""
    version: str
    options: str | None
    """The options of the fingerprints, as JSON; None if they are not made from the column alone."""
    made_from: str | None
    """The expression that the fingerprint is made from, if that is not the column."""
    key: tuple[str, ...]
    """The columns of the primary key."""
    labels: tuple[str, ...]
    """The columns by which the page names a row: those of the key, unless others are given."""
    scope: tuple[str, ...]
    rows: int
    is_estimate: bool
    criterion: Criterion
    limits_from: str
    """Where the criterion is from: "given" by the user, that of the "guard", or the "default" of a new guard."""
    condition: str | None
    """The condition of the guard, if the user gives no other. It is not in the criterion: who may create triggers has
    written it, so the user of the command must not run it."""
    dismissed: Identifier | None
    """The table of pairs that are left out."""
    plain: frozenset[str]
    """The columns of types that are compared by PostgreSQL's own operators, whatever casts others have made."""

    def function(self, name: str) -> Composable:
        return Identifier(self.extension, name)

    def distance(self, a: Composable, b: Composable) -> Composable:
        return SQL("{} OPERATOR({}.<~>) {}").format(a, Identifier(self.extension), b)

    def equal(self, column: str, a: Composable, b: Composable) -> Composable:
        """Whether two values of this column's type are equal, and not NULL.

        The operator on two values of the same type may be another one, by casts of whoever owns the type: that on a
        domain over an enum is. Records are compared by the btree operators of their types, which no index serves.
        """
        if column in self.plain:
            return SQL("{} = {}").format(a, b)
        # Unlike IS NOT NULL, this is true of a composite value with a NULL in it.
        return SQL("({a} IS DISTINCT FROM NULL AND ROW({a})::record = ROW({b})::record)").format(a=a, b=b)

    def text(self, row: str) -> Composable:
        # The column is of a string type: a superuser has made the cast.
        return SQL("{}::text").format(Identifier(row, self.column))

    def names_of(self, row: str) -> Composable:
        """What names a row on the page; its ctid, if the table has no key."""
        return SQL(", ").join(Identifier(row, column) for column in self.labels or ("ctid",))

    def printed(self, query: Composed, parameters: Sequence[Any]) -> list[list[bytes | None]]:
        """The rows of a query, with all values as the server prints them, in its encoding or in UTF-8.

        A cast to text may call a function of whoever owns the type. What the driver makes of a value may be an error:
        Python has no timestamps before Christ.
        """
        with self.connection.cursor() as cursor:
            if self.is_ascii:  # The server would check that the values are UTF-8.
                cursor.execute("SET LOCAL client_encoding = SQL_ASCII")
            cursor.execute(query, parameters)
            result = cursor.pgresult
            assert result is not None
            values = [[result.get_value(row, n) for n in range(result.nfields)] for row in range(result.ntuples)]
            if self.is_ascii:
                cursor.execute("SET LOCAL client_encoding = UTF8")
        return values

    @property
    def is_ascii(self) -> bool:
        return self.connection.info.parameter_status("server_encoding") == "SQL_ASCII"

    def beginning(self, row: str, length: int) -> Composable:
        return SQL("left({}, {})").format(self.text(row), SQL(str(length)))

    def quoted(self, *names: str) -> str:
        """A list of names, as the server writes them in SQL."""
        found = self.connection.execute("SELECT quote_ident(name) FROM unnest(%s::text[]) AS name", [list(names)])
        return ", ".join(quoted for (quoted,) in found)


def find(
    connection: Connection[Any],
    name: str,
    column: str,
    fingerprint: str,
    scope: Sequence[str] | None,
    labels: Sequence[str],
    limits: dict[str, Any],
    dismissed: str | None = None,
) -> Table:
    """Reads the catalogue. ``limits`` has the criterion and the condition, if the user gives them, by their names."""
    extension, version = _extension(connection)
    given = limits.get("criterion", {})
    # The server says what is wrong with the document.
    near = SQL("SELECT {}('', '', %s::jsonb)").format(Identifier(extension, "simhash_near"))
    connection.execute(near, [json.dumps(given)])
    oid, shown, sql_name = _relation(connection, name)
    pairs = None if dismissed is None else _relation(connection, dismissed)
    # From here on, all names have their schemas, and names that PostgreSQL prints have theirs.
    connection.execute("SET LOCAL search_path = ''")
    columns = _columns(connection, oid)
    for named in [column, *labels, *(scope or ())]:
        if named not in columns:
            raise ReportError(f'column "{named}" of table {shown} does not exist', f"It has: {', '.join(columns)}.")
    if columns[column].category != "S":
        raise ReportError(f'column "{column}" is of type {columns[column].type}', "The report compares texts.")
    attach = f"Attach it first: SELECT simhash_attach({_literal(shown)}, {_literal(column)}). "
    other = "Or name another fingerprint column with --fingerprint."
    if fingerprint not in columns:
        raise ReportError(f'table {shown} has no fingerprint column "{fingerprint}"', attach + other)
    if columns[fingerprint].type != "bigint":
        raise ReportError(f'column "{fingerprint}" is of type {columns[fingerprint].type}, not bigint', attach + other)
    source, options = _source(connection, oid, columns[fingerprint], extension)
    made_from = None
    if source is not None and source not in columns[column].expressions:
        if any(source in other_column.expressions for other_column in columns.values()):
            raise ReportError(
                f'the fingerprints in "{fingerprint}" are made from {source}, not from "{column}"',
                "Name that column, or the fingerprint column of this one with --fingerprint.",
            )
        made_from = source
    of_guard, guarded_scope, condition = _guard(connection, oid, fingerprint, extension)
    scope = guarded_scope if scope is None else tuple(scope)
    if "among" in limits:
        condition = None
    document = of_guard
    if document is None or "criterion" in limits:
        document = _complete(connection, extension, oid, fingerprint, scope, {**json.loads(options), **given})
    rows, is_estimate = _rows(connection, oid, sql_name, fingerprint)
    key = _key(connection, oid)
    if pairs is not None:
        _check_pairs(pairs[1], _columns(connection, pairs[0]), shown, [columns[name] for name in key])
    return Table(
        connection=connection,
        oid=oid,
        name=shown,
        sql=sql_name,
        column=column,
        fingerprint=fingerprint,
        extension=extension,
        version=version,
        options=options if source is not None and made_from is None else None,
        made_from=made_from,
        key=key,
        labels=tuple(labels) or key,
        scope=scope,
        rows=rows,
        is_estimate=is_estimate,
        criterion=Criterion.read(document, limits.get("among")),
        limits_from="given" if limits else "guard" if of_guard is not None else "default",
        condition=condition,
        dismissed=pairs and pairs[2],
        plain=frozenset(name for name, found in columns.items() if found.is_plain),
    )


@dataclass(frozen=True)
class _Column:
    name: str
    type: str
    category: str
    generation: str | None
    expressions: tuple[str, ...]
    """How PostgreSQL prints the column, as a text."""
    is_plain: bool
    """Whether ``=`` of two values is PostgreSQL's own: no cast of others can make it another, nor an ambiguous one."""


def _extension(connection: Connection[Any]) -> tuple[str, str]:
    found = connection.execute(
        "SELECT nspname, extversion FROM pg_extension JOIN pg_namespace AS n ON n.oid = extnamespace"
        " WHERE extname = 'pg_simhash'"
    ).fetchone()
    if found is None:
        raise ReportError(
            "this database does not have the extension pg_simhash", "Create it: CREATE EXTENSION pg_simhash."
        )
    schema, version = found
    return schema, version


def _relation(connection: Connection[Any], name: str) -> tuple[int, str, Identifier]:
    """The oid of a table, its name as the user sees it, and with its schema."""
    found = connection.execute(
        "SELECT c.oid, c.oid::regclass::text, relkind IN ('r', 'p', 'm'), n.nspname,"
        " c.relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = relnamespace WHERE c.oid = to_regclass(%s)",
        [name],
    ).fetchone()
    if found is None:
        raise ReportError(f'relation "{name}" does not exist', "Name the table as in SQL, with its schema if needed.")
    oid, shown, is_table, *qualified = found
    if not is_table:
        # A view calls functions of its owner with the rights of whoever reads it.
        raise ReportError(f"{shown} is not a table", "Name the table itself.")
    return oid, shown, Identifier(*qualified)


def _check_pairs(name: str, columns: Mapping[str, _Column], of_table: str, key: Sequence[_Column]) -> None:
    if len(key) != 1:
        raise ReportError(f"the primary key of table {of_table} is not one column", "Dismissed pairs are pairs of it.")
    for column in ("a", "b"):
        if column not in columns:
            raise ReportError(f'column "{column}" of table {name} does not exist', f"It has: {', '.join(columns)}.")
        # Of two types, ``=`` may be that of a third one, by casts of whoever owns one of them.
        if columns[column].type != key[0].type:
            raise ReportError(
                f'column "{column}" of table {name} is of type {columns[column].type}, but the primary key'
                f' "{key[0].name}" of table {of_table} is of type {key[0].type}',
                f"Give the columns a and b of {name} the type {key[0].type}.",
            )


def _columns(connection: Connection[Any], oid: int) -> dict[str, _Column]:
    rows = connection.execute(
        "SELECT attname, format_type(atttypid, NULL), t.typcategory,"
        " CASE WHEN attgenerated <> '' THEN pg_get_expr(adbin, adrelid) END,"
        " ARRAY[quote_ident(attname), format('(%%I)::text', attname)],"
        " base.typnamespace = 'pg_catalog'::regnamespace OR t.typtype = 'e'"
        " AND NOT EXISTS (SELECT FROM pg_cast WHERE castsource = t.oid AND castcontext = 'i')"
        " FROM pg_attribute JOIN pg_type AS t ON t.oid = atttypid"
        " JOIN pg_type AS base ON base.oid = coalesce(nullif(t.typbasetype, 0), t.oid)"
        " LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum"
        " WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
        [oid],
    )
    return {
        name: _Column(name, data_type, category, generation, tuple(expressions), is_plain)
        for name, data_type, category, generation, expressions, is_plain in rows
    }


def _source(connection: Connection[Any], oid: int, fingerprint: _Column, extension: str) -> tuple[str | None, str]:
    """The expression that the fingerprints are made from, and their options. None if the application makes them."""
    if fingerprint.generation is not None:
        function = connection.execute("SELECT format('%%I.simhash(', %s::text)", [extension]).fetchone()
        assert function is not None
        call = re.fullmatch(
            re.escape(function[0]) + r"(?P<text>.*?)(?:, (?P<escaped>E)?'(?P<options>(?:[^']|'')*)'::jsonb)?\)",
            fingerprint.generation,
            re.DOTALL,
        )
        if call is None:
            return fingerprint.generation, "{}"
        options = (call["options"] or "{}").replace("''", "'")
        return call["text"], options.replace("\\\\", "\\") if call["escaped"] else options
    return None, "{}"


def _guard(
    connection: Connection[Any], oid: int, fingerprint: str, extension: str
) -> tuple[dict[str, Any] | None, tuple[str, ...], str | None]:
    """The criterion of the table's guard, its scope, and its condition."""
    query = SQL(
        "SELECT guard, criterion, scope, among, error FROM {}() WHERE target = %s::oid AND enabled <> 'D'"
        " AND (error IS NOT NULL OR fingerprint = %s::name)"
    ).format(Identifier(extension, "simhash_guards"))
    guards = connection.execute(query, [oid, fingerprint]).fetchall()
    for guard, *_, error in guards:
        if error is not None:
            raise ReportError(f'guard "{guard}" cannot be read: {error}', "Drop this trigger, or create it anew.")
    for _, criterion, scope, among, _ in guards:
        return criterion, tuple(scope), among
    return None, (), None


def _key(connection: Connection[Any], oid: int) -> tuple[str, ...]:
    """The columns of the primary key."""
    rows = connection.execute(
        "SELECT attname FROM pg_index, unnest(indkey) WITH ORDINALITY AS k (attnum, position)"
        " JOIN pg_attribute USING (attnum)"
        " WHERE indrelid = %s AND indisprimary AND attrelid = indrelid AND position <= indnkeyatts ORDER BY position",
        [oid],
    )
    return tuple(name for (name,) in rows)


def _rows(connection: Connection[Any], oid: int, name: Identifier, fingerprint: str) -> tuple[int, bool]:
    """The number of rows with a fingerprint, with those of partitions, and whether it is the planner's estimate."""
    found = connection.execute(
        "WITH RECURSIVE members AS (SELECT %s::oid AS oid UNION SELECT inhrelid FROM pg_inherits, members"
        " WHERE inhparent = oid)"
        " SELECT bool_and(reltuples >= 0), sum(reltuples)"
        " FROM pg_class JOIN members USING (oid) WHERE relkind IN ('r', 'm')",
        [oid],
    ).fetchone()
    if found is not None and found[0] and found[1] >= 10_000:
        # A table has statistics of its own rows and, if it has partitions, of theirs.
        nulls = connection.execute(
            "SELECT null_frac FROM pg_stats JOIN pg_class AS c ON relname = tablename JOIN pg_namespace AS n"
            " ON n.oid = relnamespace AND nspname = schemaname WHERE c.oid = %s AND attname = %s"
            " ORDER BY inherited DESC LIMIT 1",
            [oid, fingerprint],
        ).fetchone()
        return round(found[1] * (1 - (nulls[0] if nulls else 0))), True
    counted = connection.execute(SQL("SELECT count({}) FROM {}").format(Identifier(fingerprint), name)).fetchone()
    assert counted is not None
    return counted[0], False


def _complete(
    connection: Connection[Any],
    extension: str,
    oid: int,
    fingerprint: str,
    scope: Sequence[str],
    document: dict[str, Any],
) -> dict[str, Any]:
    """The criterion of a guard that is given this document. Default radii depend on the table's layout."""
    query = SQL("SELECT blocks FROM {}(%s::regclass, %s::name, 3, %s::text[]) WHERE indexed").format(
        Identifier(extension, "simhash_layouts")
    )
    indexed = {blocks for (blocks,) in connection.execute(query, [oid, fingerprint, list(scope)])}
    blocks = next((blocks for blocks in PREFERRED_BLOCKS if blocks in indexed), None)
    # The server's defaults are for four blocks.
    if blocks not in (None, 4) and document.get("resemblance", "default") is not None:
        # A radius of 1 would read too many rows in seven and eight blocks.
        document = {"radii": [0 if blocks >= 7 else 1] * blocks, **document}
    # What the trigger of a guard by hand would do.
    arguments = b"\0".join([b"reject", json.dumps(document).encode(), b"simhash", b""])
    definition = SQL("SELECT {}(%s)").format(Identifier(extension, "simhash_guard_definition"))
    found = connection.execute(definition, [arguments]).fetchone()
    assert found is not None
    if "error" in found[0]:
        raise ReportError(found[0]["error"], "The criterion is laid over the options of the fingerprint.")
    complete: dict[str, Any] = found[0]["criterion"]
    return complete


def _literal(text: str) -> str:
    return sql.Literal(text).as_string(None)
