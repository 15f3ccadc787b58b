"""Histograms as SVG: where each bar, tick and limit is. The template draws them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from .summary import SIZES, Kind, Pair, Summary

WIDTH, HEIGHT = 420, 210
LEFT, TOP, BOTTOM = 4, 34, 40
"""Above the bars is space for the limit's name and the counts, and below them for the ticks."""

BIN_WIDTH = 0.05
BINS_BELOW_LIMIT = 6
"""The histogram of resemblances has bins of this width, so many below the limit. The limit is between two bins. All
resemblances below them are one bar, apart from the others."""

CHARACTER_WIDTH = 7.5
"""A label that is wider than its bar is left out: it would touch the next one. The bar's title has it."""


class Segment(NamedTuple):
    y: float
    height: float
    kind: str


class Bar(NamedTuple):
    x: float
    width: float
    segments: list[Segment]
    label: str
    title: str

    @property
    def middle(self) -> float:
        return self.x + self.width / 2

    @property
    def top(self) -> float:
        return min((segment.y for segment in self.segments), default=HEIGHT - BOTTOM)


class Line(NamedTuple):
    x: float
    text: str


@dataclass
class Chart:
    name: str
    bars: list[Bar]
    ticks: list[Line]
    limit: Line | None = None
    width: int = WIDTH
    height: int = HEIGHT
    bottom: int = HEIGHT - BOTTOM


class Bin(NamedTuple):
    title: str
    tick: str
    duplicates: int
    others: int


GAP = Bin("", "", 0, 0)
"""A place without a bar."""


def distances(summary: Summary, farthest: int) -> Chart:
    """The sampled rows by the distance to the earlier row that decides."""
    bins = [
        Bin(f"distance {distance}", str(distance), *_split(pair for pair in summary.pairs if pair.distance == distance))
        for distance in range(farthest + 1)
    ]
    limit = summary.criterion.max_distance
    return _chart("Distance, in bits", bins, limit + 1, f"limit {limit}", middle_ticks=True)


def resemblances(summary: Summary) -> Chart:
    """The sampled rows by the resemblance to the earlier row that decides."""
    limit = summary.criterion.resemblance
    center = 0.9 if limit is None else limit
    first = max(-BINS_BELOW_LIMIT, -int(center / BIN_WIDTH))
    last = int((1 - center) / BIN_WIDTH + 1e-9)
    by_bin: dict[int, list[Pair]] = {}
    for pair in summary.pairs:
        by_bin.setdefault(max(_bin(pair.resemblance, center), first - 1), []).append(pair)
    lowest = center + BIN_WIDTH * first
    bins = [Bin(f"below {lowest:.2f}", f"< {_short(lowest)}", *_split(by_bin.get(first - 1, []))), GAP]
    for number in range(first, last + 1):
        edges = [center + BIN_WIDTH * number, min(center + BIN_WIDTH * (number + 1), 1.0)]
        title = f"resemblance {edges[0]:.2f} to {edges[1]:.2f}"
        bins.append(Bin(title, _short(edges[0]), *_split(by_bin.get(number, []))))
    position = len(bins) - 1 - last
    return _chart(
        "Resemblance of the texts",
        bins,
        position,
        None if limit is None else f"limit {_short(limit)}",
        middle_ticks=False,
    )


def sizes(summary: Summary) -> Chart:
    """The sampled rows by the size of their group."""
    bins = []
    for name, smallest, largest in SIZES:
        count = sum(rows for size, rows in summary.sizes.items() if smallest <= size <= largest)
        bins.append(Bin("alone" if name == "1" else f"groups of {name}", name, count, 0))
    chart = _chart("Rows in a group, themselves included", bins, 0, None, middle_ticks=True)
    first, *others = chart.bars
    alone = [segment._replace(kind="alone") for segment in first.segments]
    return replace(chart, bars=[first._replace(segments=alone), *others])


def _bin(resemblance: float, center: float) -> int:
    """The number of the bin: negative below the limit, whatever rounding does."""
    number = int(abs(resemblance - center) / BIN_WIDTH)
    return number if resemblance >= center else -number - 1


def _split(pairs: Iterable[Pair]) -> tuple[int, int]:
    kinds = Counter(pair.kind is Kind.DUPLICATE for pair in pairs)
    return kinds[True], kinds[False]


def _chart(name: str, bins: list[Bin], limit_at: int, limit: str | None, *, middle_ticks: bool) -> Chart:
    most = max([bin.duplicates + bin.others for bin in bins] + [1])
    step = (WIDTH - 2 * LEFT) / len(bins)
    gap = min(2.0, step / 10)
    every = math.ceil(CHARACTER_WIDTH * max(len(bin.tick) for bin in bins) / step)
    bars, ticks = [], []
    for number, bin in enumerate(bins):
        y = float(HEIGHT - BOTTOM)
        segments = []
        for kind, count in (("duplicate", bin.duplicates), ("stored", bin.others)):
            if count:
                height = max((HEIGHT - BOTTOM - TOP) * count / most, 1.5)
                y -= height
                segments.append(Segment(round(y, 1), round(height, 1), kind))
        total = bin.duplicates + bin.others
        x = LEFT + step * number
        title = f"{bin.title}: {total} rows"
        if bin.duplicates and bin.others:
            title += f", {bin.duplicates} of them duplicates"
        if bin is GAP:
            continue
        bars.append(Bar(round(x + gap / 2, 1), round(step - gap, 1), segments, _fitting(_count(total), step), title))
        if number % every == 0:
            is_middle = middle_ticks or bin.tick.startswith("<")
            ticks.append(Line(round(x + (step / 2 if is_middle else 0), 1), bin.tick))
    return Chart(name, bars, ticks, Line(round(LEFT + step * limit_at, 1), limit) if limit else None)


def _fitting(label: str, width: float) -> str:
    return label if CHARACTER_WIDTH * len(label) <= width else ""


def _count(count: int) -> str:
    if count >= 10_000:
        return f"{count / 1000:.0f}k"
    return str(count) if count else ""


def _short(number: float) -> str:
    return f"{number:.2f}".removeprefix("0")
