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
from .sample import MAX_NEAR_ROWS, Text, beginnings, searched_distance, texts
from .summary import Kind, Pair, Summary
from .table import Layout, Table

MAX_SHOWN_GROUPS = 8
MAX_SHOWN_KEYS = 5
BEGINNING_CHARACTERS = 160

FEW_ROWS = 200_000
"""Up to so many rows, the layout makes no difference that anybody notices (docs/choosing.md)."""


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
    texts: tuple[ShownText, ShownText]


@dataclass
class ShownGroup:
    size: int
    keys: list[str]
    text: str


def render(table: Table, summary: Summary, examples: int) -> str:
    """The page, with so many pairs of each kind."""
    reading = _reading(table)
    layouts = table.layouts(table.criterion.max_distance)

    def pairs(kind: Kind) -> list[ShownPair]:
        return [_shown(table, pair, reading) for pair in summary.examples(kind, examples)]

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
        layouts=layouts,
        indexed=[layout for layout in layouts if layout.indexed],
        best=next((layout for layout in layouts if layout.best), None),
        cheapest=min((layout for layout in layouts if layout.indexed), key=_cost, default=None),
        few_rows=FEW_ROWS,
        commands=_commands(table),
        most_near=MAX_NEAR_ROWS,
        visible=visible,
    )
    return html.strip()


def _reading(table: Table) -> Reading:
    options: Any = json.loads(table.options)
    return Reading(
        keeps_case=options.get("case_fold") is False,
        by_characters=options.get("tokens") == "chars",
        reads_tags=options.get("markup") != "html",
    )


def _shown(table: Table, pair: Pair, reading: Reading) -> ShownPair:
    earlier, later = texts(table, pair.earlier, pair.row_id)
    return ShownPair(pair.distance, pair.resemblance, (_shown_text(earlier, reading), _shown_text(later, reading)))


def _shown_text(text: Text, reading: Reading) -> ShownText:
    pieces, elsewhere = excerpt(text.text, text.length, text.only_here, reading)
    return ShownText(visible(text.key), pieces, text.length, text.features, len(text.only_here), elsewhere)


def _group(table: Table, size: int, row_ids: list[tuple[int, str]]) -> ShownGroup:
    found = beginnings(table, row_ids[:MAX_SHOWN_KEYS], BEGINNING_CHARACTERS)
    return ShownGroup(size, [visible(key) for key, _ in found], visible(found[0][1]))


def _commands(table: Table) -> str:
    """What to call next, with these limits."""
    guard = [_literal(table.name), "'reject'", *table.limits()]
    if table.fingerprint != "simhash":
        guard.append(f"fingerprint => {_literal(table.fingerprint)}")
    if table.scope:
        guard.append(f"scope => ARRAY[{', '.join(map(_literal, table.scope))}]")
    return f"SELECT simhash_guard({', '.join(guard)});"


def _literal(text: str) -> str:
    return Literal(text).as_string(None)


def _cost(layout: Layout) -> float:
    return layout.cost


def _value(table: Table, expression: str) -> str:
    found = table.connection.execute(SQL("SELECT {}").format(SQL(expression))).fetchone()
    assert found is not None
    return str(found[0])
