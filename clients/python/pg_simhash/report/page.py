"""The page: one HTML file, without scripts and without anything from elsewhere."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import jinja2
import psycopg
from psycopg.sql import SQL, Composable, Identifier, Literal

from .difference import Piece, compare, visible
from .sample import LEAST_SHOWN, MAX_NEAR_ROWS, Pair, look_ups, text
from .summary import Kind, Summary, summarize
from .table import Table, find

DATABASE = "SELECT current_database(), to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI \"UTC\"')"

# What a guard would have skipped, row by row in the order of the key.
CLEAN_UP = """
DELETE FROM {table} WHERE ({key}) IN (
    SELECT {key}
    FROM (SELECT {key}, simhash_duplicate_of({first}, {text}, {criterion}) OVER ({scope}ORDER BY {key}) AS duplicate_of
          FROM {table}) AS found
    WHERE duplicate_of IS NOT NULL);
"""

GUARD = "SELECT simhash_guard({table}, 'reject', {criterion}{others}, source => {source});"


class ShownText(NamedTuple):
    name: str
    key: str
    length: int
    pieces: list[Piece]


class ShownPair(NamedTuple):
    resemblance: float
    texts: list[ShownText]


def write(given: argparse.Namespace) -> str:
    """The page for the arguments of the command."""
    application = "pg_simhash report"
    with psycopg.connect(given.database, client_encoding="UTF8", fallback_application_name=application) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        connection.add_notice_handler(_warn)
        # Compiling costs more than it saves: each look-up is short.
        connection.execute("SET LOCAL jit = off")
        table = find(connection, given)
        summary = summarize(_with_progress(look_ups(table, given.sample)), table.criterion)
        return render(table, summary)


def render(table: Table, summary: Summary) -> str:
    # Texts are hostile: what the template inserts is escaped.
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    [[database, time]] = table.connection.execute(DATABASE)
    return environment.get_template("page.html").render(
        table=table,
        criterion=table.criterion,
        options=json.dumps(table.compared_with(), ensure_ascii=False),
        database=database,
        time=time,
        rows=summary.rows,
        counts={kind.name: summary.count(kind) for kind in Kind},
        resemblances=summary.resemblances(),
        pairs={kind.name: [_shown(table, pair) for pair in summary.examples(kind)] for kind in Kind},
        clean_up=_clean_up(table).as_string().strip(),
        guard=None if table.guard else _guard(table).as_string(),
        most_near=MAX_NEAR_ROWS,
        least_shown=LEAST_SHOWN,
        visible=visible,
    )


def _warn(diagnostic: psycopg.errors.Diagnostic) -> None:
    """Shows what the server warns of: that no index serves the look-ups, for example."""
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


def _shown(table: Table, pair: Pair) -> ShownPair:
    earlier, later = text(table, pair.earlier), text(table, pair.row_id)
    pieces = compare(earlier.text, later.text)
    return ShownPair(
        pair.resemblance,
        [
            ShownText(name, visible(of.key), of.length, of_text)
            for name, of, of_text in zip(("earlier row", "later row"), (earlier, later), pieces)
        ],
    )


def _clean_up(table: Table) -> Composable:
    """The command that deletes the rows that duplicate an earlier row which stays."""
    key = table.key or ["tableoid", "ctid"]
    return SQL(CLEAN_UP).format(
        table=SQL(table.name),
        key=_names(key),
        first=Identifier(key[0]),
        text=Identifier(table.column),
        criterion=Literal(json.dumps(table.criterion, ensure_ascii=False)),
        scope=SQL("PARTITION BY {} ").format(_names(column.name for column in table.scope)) if table.scope else SQL(""),
    )


def _guard(table: Table) -> Composable:
    """The command that keeps near-duplicates out by these limits."""
    others = {"scope": [column.name for column in table.scope], "among": table.among}
    return SQL(GUARD).format(
        table=Literal(table.name),
        criterion=Literal(json.dumps(table.criterion, ensure_ascii=False)),
        source=Literal(table.source),
        others=SQL("").join(SQL(f", {name} => {{}}").format(Literal(value)) for name, value in others.items() if value),
    )


def _names(names: Iterable[str]) -> Composable:
    return SQL(", ").join(map(Identifier, names))
