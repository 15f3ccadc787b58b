"""What the catalogue says about the table: its fingerprint column, what that is made from, its key, and its guard."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from psycopg import Connection, sql
from psycopg.sql import SQL, Composable, Identifier

from .criterion import (
    DISTANCE,
    DISTANCE_ALONE,
    DISTANCE_BY_RADII,
    PREFERRED_BLOCKS,
    RESEMBLANCE,
    Criterion,
    default_radii,
)

MAX_KEY_CHARACTERS = 100
"""Characters of a key that are shown."""


class ReportError(Exception):
    """An error of the user, with a hint about what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True)
class Layout:
    """A line of simhash_skew."""

    blocks: int
    indexed: bool
    probes: int
    commonest: list[float]
    candidates: float
    worst: float
    cost: float
    best: bool


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
    options: str
    """The options with which texts are compared, as JSON: those of the fingerprint, unless the criterion has others."""
    made_from: str | None
    """The expression that the fingerprint is made from, if that is not the column."""
    key: tuple[str, ...]
    """The columns of the primary key, if they have an order."""
    labels: tuple[str, ...]
    """The columns by which the page names a row: those of the key, unless others are given."""
    scope: tuple[str, ...]
    rows: int
    is_estimate: bool
    criterion: Criterion
    limits_from: str
    """Where the criterion is from: "given" by the user, that of the "guard", or the "default" of a new guard."""
    left_out: str | None
    """The condition of the guard, if it is not the user's own code, and so is not in the criterion."""

    def function(self, name: str) -> Composable:
        return Identifier(self.extension, name)

    def distance(self, a: Composable, b: Composable) -> Composable:
        return SQL("{} OPERATOR({}.<~>) {}").format(a, Identifier(self.extension), b)

    def text(self, row: str) -> Composable:
        return SQL("{}::text").format(Identifier(row, self.column))

    def key_of(self, row: str) -> Composable:
        """What names a row on the page, cut; its ctid, if the table has no key."""
        if not self.labels:
            return self.beginning(SQL("{}::text").format(Identifier(row, "ctid")), MAX_KEY_CHARACTERS)
        columns = SQL(", ").join(SQL("{}::text").format(Identifier(row, column)) for column in self.labels)
        return self.beginning(SQL("concat_ws(', ', {})").format(columns), MAX_KEY_CHARACTERS)

    def beginning(self, text: Composable, length: int) -> Composable:
        """The beginning of a text, as bytes: a database in SQL_ASCII cuts texts within characters."""
        ascii = self.connection.info.parameter_status("server_encoding") == "SQL_ASCII"
        return SQL("convert_to(left({}, {}), {})").format(text, SQL(str(length)), "SQL_ASCII" if ascii else "UTF8")

    def limits(self) -> list[str]:
        """The arguments of simhash_guard that say these limits."""
        criterion = self.criterion
        resemblance = "NULL" if criterion.resemblance is None else f"{criterion.resemblance:g}"
        limits = [f"max_distance => {criterion.max_distance}", f"resemblance => {resemblance}"]
        if _radii_default(self) is not None:
            limits.append(f"radii => '{{{','.join(map(str, criterion.radii))}}}'")
        if criterion.options is not None and criterion.resemblance is not None:
            limits.append(f"options => {_literal(criterion.options)}")
        if among := criterion.among or self.left_out:
            limits.append(f"among => {_literal(among)}")
        return limits

    def layouts(self, max_distance: int) -> list[Layout]:
        query = SQL(
            "SELECT blocks, indexed, probes, commonest, candidates, worst, cost, best FROM {}(%s, %s, %s, %s::text[])"
        ).format(self.function("simhash_skew"))
        rows = self.connection.execute(query, [self.oid, self.fingerprint, max_distance, list(self.scope)])
        return [Layout(*row) for row in rows]


def find(
    connection: Connection[Any],
    name: str,
    column: str,
    fingerprint: str,
    scope: Sequence[str] | None,
    labels: Sequence[str],
    criterion: dict[str, Any],
) -> Table:
    """Reads the catalogue. ``criterion`` has those of the limits that the user gives, by their names."""
    extension, version = _extension(connection)
    found = connection.execute(
        "SELECT c.oid, c.oid::regclass::text, n.nspname, c.relname FROM pg_class AS c"
        " JOIN pg_namespace AS n ON n.oid = relnamespace WHERE c.oid = to_regclass(%s)",
        [name],
    ).fetchone()
    if found is None:
        raise ReportError(f'relation "{name}" does not exist', "Name the table as in SQL, with its schema if needed.")
    oid, shown, *qualified = found
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
    guarded, guarded_scope = _guard(connection, oid, fingerprint, extension)
    scope = guarded_scope if scope is None else tuple(scope)
    left_out = None
    if guarded and guarded.among and "among" not in criterion:
        if _is_own(connection, oid):
            _check_condition(connection, oid, fingerprint, extension, scope, guarded.among)
        else:
            left_out, guarded = guarded.among, replace(guarded, among=None)
    rows, is_estimate = _rows(connection, oid, Identifier(*qualified), fingerprint)
    key, is_ordered = _key(connection, oid)
    table = Table(
        connection=connection,
        oid=oid,
        name=shown,
        sql=Identifier(*qualified),
        column=column,
        fingerprint=fingerprint,
        extension=extension,
        version=version,
        options=_options(guarded, criterion) or options,
        made_from=made_from,
        key=key if is_ordered else (),
        labels=tuple(labels) or key,
        scope=scope,
        rows=rows,
        is_estimate=is_estimate,
        criterion=guarded or Criterion(DISTANCE, RESEMBLANCE),
        limits_from="given" if criterion else "guard" if guarded else "default",
        left_out=left_out,
    )
    return replace(table, criterion=_criterion(table, guarded, criterion))


@dataclass(frozen=True)
class _Column:
    name: str
    type: str
    category: str
    generation: str | None
    expressions: tuple[str, ...]
    """How PostgreSQL prints the column, as a text."""


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


def _columns(connection: Connection[Any], oid: int) -> dict[str, _Column]:
    rows = connection.execute(
        "SELECT attname, format_type(atttypid, NULL), typcategory,"
        " CASE WHEN attgenerated <> '' THEN pg_get_expr(adbin, adrelid) END,"
        " ARRAY[quote_ident(attname), format('(%%I)::text', attname)]"
        " FROM pg_attribute JOIN pg_type AS t ON t.oid = atttypid"
        " LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum"
        " WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
        [oid],
    )
    return {
        name: _Column(name, data_type, category, generation, tuple(expressions))
        for name, data_type, category, generation, expressions in rows
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
    for _, name, source, *options in _triggers(connection, oid, "simhash_update", extension):
        if name == fingerprint.name:
            quoted = connection.execute("SELECT quote_ident(%s)", [source]).fetchone()
            assert quoted is not None
            return quoted[0], options[0] if options else "{}"
    return None, "{}"


def _guard(
    connection: Connection[Any], oid: int, fingerprint: str, extension: str
) -> tuple[Criterion | None, tuple[str, ...]]:
    """The criterion of the table's guard, and its scope."""
    for _, _, criterion, column, *following in _triggers(connection, oid, "simhash_dedup", extension):
        if column == fingerprint:
            # After the mark column, empty arguments separate the scope and the condition.
            sections: list[list[str]] = [[]]
            for argument in following[1:]:
                if argument:
                    sections[-1].append(argument)
                else:
                    sections.append([])
            among = sections[1][0] if len(sections) > 1 and sections[1] else None
            return Criterion.parse(criterion, among), tuple(sections[0])
    return None, ()


def _is_own(connection: Connection[Any], oid: int) -> bool:
    """Whether the table belongs to the current user."""
    query = "SELECT pg_get_userbyid(relowner) = current_user FROM pg_class WHERE oid = %s"
    found = connection.execute(query, [oid]).fetchone()
    return found is not None and found[0]


def _check_condition(
    connection: Connection[Any], oid: int, fingerprint: str, extension: str, scope: Sequence[str], among: str
) -> None:
    """An error of the server if the condition of a guard calls code of another role than the owner or a superuser.

    Whoever may create triggers can write it. simhash_preview checks it as guards do.
    """
    query = SQL("SELECT FROM {}(%s, fingerprint => %s, scope => %s::text[], among => %s, sample => 1)").format(
        Identifier(extension, "simhash_preview")
    )
    connection.execute(query, [oid, fingerprint, list(scope), among])


def _options(guarded: Criterion | None, given: dict[str, Any]) -> str | None:
    options: str | None = given.get("options", guarded.options if guarded else None)
    return options


def _triggers(connection: Connection[Any], oid: int, function: str, extension: str) -> list[list[str]]:
    """The triggers of the table that call this function: the name of each, and its arguments."""
    rows = connection.execute(
        "SELECT tgname, tgargs FROM pg_trigger JOIN pg_proc AS p ON p.oid = tgfoid"
        " JOIN pg_namespace AS n ON n.oid = pronamespace"
        " WHERE tgrelid = %s AND proname = %s AND nspname = %s AND tgenabled <> 'D' ORDER BY tgname",
        [oid, function, extension],
    )
    return [[name, *_decoded(connection, args.split(b"\0")[:-1])] for name, args in rows]


def _decoded(connection: Connection[Any], texts: list[bytes]) -> list[str]:
    """Texts in the server's encoding."""
    encoding = connection.info.parameter_status("server_encoding")
    if encoding in ("UTF8", "SQL_ASCII"):
        return [text.decode(errors="replace") for text in texts]
    rows = connection.execute(
        "SELECT convert_from(text, %s) FROM unnest(%s::bytea[]) WITH ORDINALITY AS t (text, n) ORDER BY n",
        [encoding, texts],
    )
    return [text for (text,) in rows]


def _key(connection: Connection[Any], oid: int) -> tuple[tuple[str, ...], bool]:
    """The columns of the primary key, and whether queries can compare them. They name no operators of extensions."""
    rows = connection.execute(
        "SELECT attname, typnamespace = 'pg_catalog'::regnamespace OR typtype <> 'b'"
        " FROM pg_index, unnest(indkey) WITH ORDINALITY AS k (attnum, position)"
        " JOIN pg_attribute USING (attnum) JOIN pg_type AS t ON t.oid = atttypid"
        " WHERE indrelid = %s AND indisprimary AND attrelid = indrelid AND position <= indnkeyatts ORDER BY position",
        [oid],
    ).fetchall()
    return tuple(name for name, _ in rows), all(is_ordered for _, is_ordered in rows)


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


def _criterion(table: Table, guarded: Criterion | None, given: dict[str, Any]) -> Criterion:
    """The limits that the user gives, else those of the table's guard, else those of a guard without arguments."""
    if guarded is not None:
        return replace(guarded, **given)
    resemblance = given.get("resemblance", RESEMBLANCE)
    radii = given.get("radii")
    if radii is None:
        radii = () if resemblance is None else _default_radii(table)
    distance = DISTANCE_ALONE if resemblance is None else DISTANCE_BY_RADII if radii else DISTANCE
    named = {name: given.get(name) for name in ("options", "among")}
    return Criterion(given.get("max_distance", distance), resemblance, radii, **named)


def _default_radii(table: Table) -> tuple[int, ...]:
    """The radii of a guard that is given none: they depend on its version, and on the table's layout."""
    if not (_radii_default(table) or "").startswith("NULL"):
        return ()
    indexed = {layout.blocks for layout in table.layouts(DISTANCE_BY_RADII) if layout.indexed}
    blocks = next((blocks for blocks in PREFERRED_BLOCKS if blocks in indexed), None)
    return default_radii(blocks) if blocks else ()


def _radii_default(table: Table) -> str | None:
    """The default of the argument radii of simhash_guard; None if it has no such argument."""
    found = table.connection.execute(
        "SELECT pg_get_function_arg_default(p.oid, array_position(proargnames, 'radii'))"
        " FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = pronamespace"
        " WHERE proname = 'simhash_guard' AND nspname = %s AND 'radii' = ANY (proargnames)",
        [table.extension],
    ).fetchone()
    return found[0] if found else None


def _literal(text: str) -> str:
    return sql.Literal(text).as_string(None)
