"""Histograms: how many rows each bar stands for. The template draws them as tables."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import NamedTuple

from .summary import SIZES, Kind, Pair, Summary

BIN_WIDTH = 0.05
BINS_BELOW_LIMIT = 6
"""The histogram of resemblances has bins of this width, so many below the limit. The limit is between two bins. All
resemblances below them are one bar."""


class Bar(NamedTuple):
    name: str
    duplicates: int
    others: int
    is_beyond: bool = False
    """Whether it is the first bar on the other side of the limit."""


@dataclass
class Chart:
    name: str
    bars: list[Bar]
    limit: str | None = None

    @property
    def most(self) -> int:
        """The length of the longest bar."""
        return max([bar.duplicates + bar.others for bar in self.bars] + [1])


def distances(summary: Summary, farthest: int) -> Chart:
    """The sampled rows by the distance to the earlier row that decides."""
    limit = summary.criterion.max_distance
    bars = [
        _bar(str(distance), [pair for pair in summary.pairs if pair.distance == distance], distance == limit + 1)
        for distance in range(farthest + 1)
    ]
    return Chart("Distance, in bits", bars, f"limit {limit}")


def resemblances(summary: Summary) -> Chart:
    """The sampled rows by the resemblance to the earlier row that decides."""
    limit = summary.criterion.resemblance
    center = 0.9 if limit is None else limit
    first = max(-BINS_BELOW_LIMIT, -int(center / BIN_WIDTH))
    last = int((1 - center) / BIN_WIDTH + 1e-9)
    by_bin: defaultdict[int, list[Pair]] = defaultdict(list)
    for pair in summary.pairs:
        by_bin[max(_bin(pair.resemblance, center), first - 1)].append(pair)
    bars = [_bar(f"below {center + BIN_WIDTH * first:.2f}", by_bin[first - 1])]
    for number in range(first, last + 1):
        edges = center + BIN_WIDTH * number, min(center + BIN_WIDTH * (number + 1), 1.0)
        bars.append(_bar(f"{edges[0]:.2f} to {edges[1]:.2f}", by_bin[number], number == 0 and limit is not None))
    return Chart("Resemblance of the texts", bars, None if limit is None else f"limit {limit:.2f}")


def sizes(summary: Summary) -> Chart:
    """The sampled rows by the size of their group."""
    bars = []
    for name, smallest, largest in SIZES:
        count = sum(rows for size, rows in summary.sizes.items() if smallest <= size <= largest)
        bars.append(Bar("alone", 0, count) if largest == 1 else Bar(name, count, 0))
    return Chart("Rows in a group, themselves included", bars)


def _bin(resemblance: float, center: float) -> int:
    """The number of the bin: negative below the limit, whatever rounding does."""
    number = int(abs(resemblance - center) / BIN_WIDTH)
    return number if resemblance >= center else -number - 1


def _bar(name: str, pairs: list[Pair], is_beyond: bool = False) -> Bar:
    kinds = Counter(pair.kind is Kind.DUPLICATE for pair in pairs)
    return Bar(name, kinds[True], kinds[False], is_beyond)
