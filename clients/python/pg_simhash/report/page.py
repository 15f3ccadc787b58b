"""The page: one HTML file without anything from elsewhere. Its only script is that of the slider."""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import math
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import psycopg
from psycopg.sql import SQL, Composable, Identifier

from .difference import Piece, differences, excerpt, overlap, union, visible
from .sample import MAX_GROUP_ROWS, MAX_NEAR_ROWS, MIN_SHOWN, Pair, RowId, Text, look_up_rows, read_group, read_text
from .summary import Summary, interval, spread, summarize
from .table import Table, read_table

HERE = Path(__file__).parent

SHOWN_GROUPS = 5
MAX_SHOWN_OF_GROUP = 4  # Rows that are compared with its first row.
SLIDER_STEPS = 100  # The slider sets the limit to hundredths.

DATABASE_SQL = "SELECT current_database(), to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI \"UTC\"')"

# Deletes the rows that a guard would have skipped, had it got the rows in their order.
CLEAN_UP_SQL = """
DELETE FROM {table} WHERE ({key}) IN (
    SELECT {key}
    FROM (SELECT {key},
              simhash_duplicate_of({first}, {text}, {criterion}) OVER ({scope}ORDER BY {order}) AS duplicate_of
          FROM {table}{in_scope}) AS found
    WHERE duplicate_of IS NOT NULL);
"""

GUARD_SQL = "SELECT simhash_guard({table}, {action}, {criterion}{arguments}, source => {source});"

# A column of type jsonb takes any key.
MARK_SQL = "ALTER TABLE {table} ADD copy_of jsonb;\n"

# The kinds of groups.
COPIES = "the same words in all that were compared"
EDITED = "copies of which some are edited"
TEMPLATE = "perhaps a template: in the same place, each has words of its own"


class ShownText(NamedTuple):
    name: str
    key: str
    length: int
    pieces: list[Piece]


class ShownPair(NamedTuple):
    resemblance: float
    texts: list[ShownText]


class ShownGroup(NamedTuple):
    size: str
    kind: str
    first: ShownText
    others: list[ShownText]


def make_page(arguments: argparse.Namespace) -> str:
    """The page that the arguments of the command ask for."""
    name = "pg_simhash report"
    with psycopg.connect(arguments.database, client_encoding="UTF8", fallback_application_name=name) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        connection.add_notice_handler(_warn)
        # Compiling costs more than it saves: each look-up is short.
        connection.execute("SET LOCAL jit = off")
        table = read_table(connection, arguments)
        summary = summarize(_with_progress(look_up_rows(table, arguments.sample)), table.criterion["resemblance"])
        return render(table, summary, is_sample=arguments.sample < table.rows)


def render(table: Table, summary: Summary, is_sample: bool) -> str:
    # Texts are hostile: what the template inserts is escaped.
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    [[database, time]] = table.connection.execute(DATABASE_SQL)
    script = (HERE / "page.js").read_text(encoding="utf-8")
    pairs_by_kind = {"duplicates": summary.duplicates, "others": summary.others}
    examples = {
        kind: [_show_pair(table, pair) for pair in summary.examples(pairs)] for kind, pairs in pairs_by_kind.items()
    }
    groups = _show_groups(table, summary)
    return environment.get_template("page.html").render(
        table=table,
        criterion=table.criterion,
        options=json.dumps(table.options(), ensure_ascii=False),
        database=database,
        time=time,
        rows=summary.rows,
        counts={kind: len(pairs) for kind, pairs in pairs_by_kind.items()},
        is_sample=is_sample,
        in_table=lambda count: _in_table(table, summary, count),
        resemblances=summary.resemblances(),
        slider=_slider_values(summary),
        groups=groups,
        has_template=any(group.kind == TEMPLATE for group in groups),
        pairs=examples,
        has_tags="markup" not in table.options() and _have_tags(examples),
        clean_up=None if table.allows_duplicates() else _clean_up_command(table).as_string().strip(),
        guard=None if table.guard else _guard_command(table).as_string(),
        max_near_rows=MAX_NEAR_ROWS,
        min_shown=MIN_SHOWN,
        visible=visible,
        script=script,
        # The browser runs this script and no other one.
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _in_table(table: Table, summary: Summary, count: int) -> str:
    """How many rows of the table this number of rows of the sample stands for."""
    low, high = (_rounded(share * table.rows) for share in interval(count, summary.rows))
    return f"about {_rounded(count * table.rows / summary.rows)} ({low} to {high})"


def _rounded(count: float) -> str:
    """A number of rows to three digits: more digits would be noise."""
    digits = 10 ** max(math.floor(math.log10(max(count, 1))) - 2, 0)
    return f"{round(count / digits) * digits:,}"


def _slider_values(summary: Summary) -> dict[str, Any]:
    """The limits that the slider can set, in its steps, and how many rows are duplicates by each."""
    first = math.ceil(min(summary.limit, MIN_SHOWN) * SLIDER_STEPS)
    counts = json.dumps([summary.at_least(step / SLIDER_STEPS) for step in range(first, SLIDER_STEPS + 1)])
    return {"first": first, "value": round(summary.limit * SLIDER_STEPS), "last": SLIDER_STEPS, "counts": counts}


def _warn(diagnostic: psycopg.errors.Diagnostic) -> None:
    """Shows the server's warnings, such as that no index serves the look-ups."""
    if diagnostic.severity_nonlocalized == "WARNING":
        message = ". ".join(filter(None, [diagnostic.message_primary, diagnostic.message_hint]))
        print(f"warning: {visible(message)}", file=sys.stderr)


def _with_progress(pairs: Iterable[Pair | None]) -> Iterator[Pair | None]:
    count = 0
    for count, pair in enumerate(pairs, 1):
        yield pair
        if count % 200 == 0:
            print(f"looked up {count} rows", file=sys.stderr, flush=True)
    print(f"looked up {count} rows; writing the page", file=sys.stderr)


def _show_pair(table: Table, pair: Pair) -> ShownPair:
    earlier, later = read_text(table, pair.earlier), read_text(table, pair.row_id)
    named = zip(("earlier row", "later row"), (earlier, later), differences(earlier.text, later.text, table.options()))
    return ShownPair(pair.resemblance, [_show_text(name, text, marks) for name, text, marks in named])


def _show_text(name: str, text: Text, marks: list[slice]) -> ShownText:
    return ShownText(name, visible(text.key), text.length, excerpt(text.text, marks))


def _have_tags(examples: dict[str, list[ShownPair]]) -> bool:
    """Whether more than half of the texts have an end tag, as HTML has them."""
    shown_texts = [text for pairs in examples.values() for pair in pairs for text in pair.texts]
    texts = ["".join(piece.text for piece in text.pieces) for text in shown_texts]
    return 2 * sum(bool(re.search("</[a-zA-Z]", text)) for text in texts) > len(texts)


def _show_groups(table: Table, summary: Summary) -> list[ShownGroup]:
    """The largest groups of three rows or more."""
    groups: list[tuple[RowId, list[RowId]]] = []
    for first in summary.groups():
        near = read_group(table, first)
        if len(near) > 1 and not any(first in members for _, members in groups):
            groups.append((first, near))
    groups.sort(key=lambda group: len(group[1]), reverse=True)
    return [_show_group(table, first, near) for first, near in groups[:SHOWN_GROUPS]]


def _show_group(table: Table, first_id: RowId, near: list[RowId]) -> ShownGroup:
    """Some of the other rows of a group, and its first row with marks where any of these other rows differs from it."""
    first = read_text(table, first_id)
    others = [read_text(table, row_id) for row_id in spread(near, MAX_SHOWN_OF_GROUP)]
    marks = [differences(first.text, other.text, table.options()) for other in others]
    return ShownGroup(
        f"{len(near) + 1} rows" if len(near) < MAX_GROUP_ROWS else f"More than {MAX_GROUP_ROWS:,} rows",
        _kind_of_group(marks),
        _show_text("first row", first, union(in_first for in_first, _ in marks)),
        [_show_text("row", other, in_other) for other, (_, in_other) in zip(others, marks)],
    )


def _kind_of_group(marks: list[tuple[list[slice], list[slice]]]) -> str:
    if not any(in_first or in_other for in_first, in_other in marks):
        return COPIES
    # A template has places where each row has words of its own.
    slots, *others = [in_first for in_first, _ in marks]
    is_template = any(all(any(overlap(slot, mark) for mark in other) for other in others) for slot in slots)
    return TEMPLATE if is_template and len(marks) > 2 else EDITED


def _clean_up_command(table: Table) -> Composable:
    """The command that deletes the rows that duplicate an earlier row that stays."""
    key = table.key or ["tableoid", "ctid"]
    scope = [Identifier(column.name) for column in table.scope]
    # Unlike IS NOT NULL, this is true of a composite value with a NULL in it.
    not_null = SQL(" AND ").join(SQL("{} IS DISTINCT FROM NULL").format(column) for column in scope)
    return SQL(CLEAN_UP_SQL).format(
        table=SQL(table.name),
        key=_names_sql(key),
        first=Identifier(key[0]),
        text=Identifier(table.column),
        criterion=json.dumps(table.criterion, ensure_ascii=False),
        order=_names_sql(table.order or key),
        scope=SQL("PARTITION BY {} ").format(SQL(", ").join(scope)) if scope else SQL(""),
        in_scope=SQL(" WHERE {}").format(not_null) if scope else SQL(""),
    )


def _guard_command(table: Table) -> Composable:
    """The commands that mark near-duplicates by these limits or, in a table without a key, keep them out."""
    scope = [column.name for column in table.scope]
    arguments = {"scope": scope, "among": table.among, "mark_column": "copy_of" if table.key else None}
    mark = SQL(MARK_SQL).format(table=SQL(table.name)) if table.key else SQL("")
    return mark + SQL(GUARD_SQL).format(
        action="mark" if table.key else "reject",
        table=table.name,
        criterion=json.dumps(table.criterion, ensure_ascii=False),
        source=table.source,
        arguments=SQL("").join(SQL(f", {name} => {{}}").format(value) for name, value in arguments.items() if value),
    )


def _names_sql(names: Iterable[str]) -> Composable:
    return SQL(", ").join(map(Identifier, names))
