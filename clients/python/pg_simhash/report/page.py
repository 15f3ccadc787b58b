"""The page: one HTML file, without scripts and without anything from elsewhere."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from psycopg.sql import SQL, Literal

from . import charts
from .difference import Piece, Reading, excerpt, visible
from .sample import MAX_NEAR_ROWS, RowId, Text, beginning, cost, searched_distance, texts, tokens
from .summary import Example, Kind, Summary
from .table import Table

MAX_SHOWN_GROUPS = 6
MAX_SHOWN_KEYS = 3
BEGINNING_CHARACTERS = 100


@dataclass
class ShownText:
    key: str
    pieces: list[Piece]
    length: int
    features: int
    only_here: int
    elsewhere: list[str]
    """Features that only this text has, and that are marked in no part that is shown."""


@dataclass
class ShownPair:
    distance: int
    resemblance: float
    is_typical: bool
    texts: tuple[ShownText, ShownText]


@dataclass
class ShownGroup:
    size: int
    keys: list[str]
    text: str


def render(table: Table, summary: Summary, examples: int) -> str:
    """The page, with so many pairs of each kind."""
    reading = _reading(table)

    def pairs(kind: Kind) -> list[ShownPair]:
        return [_shown(table, example, reading) for example in summary.examples(kind, examples)]

    # Texts are hostile: what the template inserts is escaped.
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    html = environment.get_template("page.html").render(
        table=table,
        criterion=table.criterion,
        dismissed=table.dismissed and table.dismissed.as_string(None),
        database=_value(table, "current_database()"),
        time=_value(table, "to_char(transaction_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI \"UTC\"')"),
        searched=searched_distance(table),
        rows=summary.rows,
        duplicates=summary.count(Kind.DUPLICATE),
        other_texts=summary.count(Kind.OTHER_TEXT),
        too_far=summary.count(Kind.TOO_FAR),
        unrelated=summary.count(Kind.UNRELATED),
        histograms=[charts.distances(summary, searched_distance(table)), charts.resemblances(summary)],
        sizes=charts.sizes(summary),
        groups=[_group(table, group.size, group.row_ids) for group in summary.groups[:MAX_SHOWN_GROUPS]],
        pairs={kind.name: pairs(kind) for kind in (Kind.DUPLICATE, Kind.OTHER_TEXT, Kind.TOO_FAR)},
        cost=cost(table),
        clean_up=_clean_up(table),
        guard=_guard(table),
        most_near=MAX_NEAR_ROWS,
        visible=visible,
    )
    return html.strip()


def _reading(table: Table) -> Reading:
    options: Any = json.loads(table.criterion.options)
    by_characters = options.get("tokens") == "chars"
    # Of these options, a single token is a feature.
    single = {key: options[key] for key in ("case_fold", "ignore") if key in options}
    document = json.dumps({**single, "ngram": 1, "tokens": "chars" if by_characters else "words"})
    return Reading(lambda words: tokens(table, words, document), by_characters, options.get("markup") != "html")


def _shown(table: Table, example: Example, reading: Reading) -> ShownPair:
    pair = example.pair
    earlier, later = texts(table, pair.earlier, pair.row_id)
    both = _shown_text(earlier, reading), _shown_text(later, reading)
    return ShownPair(pair.distance, pair.resemblance, example.is_typical, both)


def _shown_text(text: Text, reading: Reading) -> ShownText:
    pieces, elsewhere = excerpt(text.text, text.length, text.only_here, reading)
    return ShownText(visible(text.key), pieces, text.length, text.features, len(text.only_here), elsewhere)


def _group(table: Table, size: int, row_ids: list[RowId]) -> ShownGroup:
    found = [beginning(table, row_id, BEGINNING_CHARACTERS) for row_id in row_ids[:MAX_SHOWN_KEYS]]
    return ShownGroup(size, [visible(key) for key, _ in found], visible(found[0][1]))


def _clean_up(table: Table) -> str:
    """Deletes the rows that a guard with these limits would have skipped, one by one in the order of the key.

    A few rows may be others: simhash_duplicate_of compares all pairs by the radii, without flips.
    """
    key = table.key or ("tableoid", "ctid")
    columns = table.quoted(*key)
    compared = columns if len(key) == 1 else f"({columns})"
    content = table.made_from or table.quoted(table.column)
    duplicate_of = f"{table.quoted(key[0])}, {content}, {_literal(table.criterion.json())}"
    scope = f"PARTITION BY {table.quoted(*table.scope)} " if table.scope else ""
    return (
        f"DELETE FROM {table.name} WHERE {compared} IN (\n    SELECT {columns}\n"
        f"    FROM (SELECT {columns}, simhash_duplicate_of({duplicate_of})\n"
        f"            OVER ({scope}ORDER BY {columns}) AS duplicate_of\n          FROM {table.name}) AS found\n"
        "    WHERE duplicate_of IS NOT NULL);"
    )


def _guard(table: Table) -> str:
    """Keeps near-duplicates out by these limits."""
    guard = [_literal(table.name), "'reject'", _literal(table.criterion.json())]
    if table.scope:
        guard.append(f"scope => ARRAY[{', '.join(map(_literal, table.scope))}]")
    if among := table.criterion.among or table.condition:
        guard.append(f"among => {_literal(among)}")
    if table.fingerprint != "simhash":
        guard.append(f"fingerprint => {_literal(table.fingerprint)}")
    return f"SELECT simhash_guard({', '.join(guard)});"


def _literal(text: str) -> str:
    return Literal(text).as_string(None)


def _value(table: Table, expression: str) -> str:
    found = table.connection.execute(SQL("SELECT {}").format(SQL(expression))).fetchone()
    assert found is not None
    return str(found[0])
