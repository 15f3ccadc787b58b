"""Counts the sampled rows, and chooses the pairs to show."""

from __future__ import annotations

import enum
import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .sample import Pair, RowId

SHOWN_PAIRS = 4
"""Pairs of each kind that are shown, as far as there are any."""

BIN_WIDTH = 0.05
BINS_BELOW_LIMIT = 6
"""The histogram of resemblances has bins of this width, so many below the limit. The limit is between two bins. All
resemblances below them are one bar."""


class Kind(enum.Enum):
    """What a guard would make of a row that is inserted after an earlier one."""

    DUPLICATE = "duplicate"
    OTHER = "other"
    """The texts do not resemble each other enough."""


class Bar(NamedTuple):
    """A bar of a histogram: how many rows it stands for."""

    name: str
    rows: int
    duplicates: int
    is_beyond: bool
    """Whether it is the first bar on the other side of the limit."""


@dataclass
class Summary:
    criterion: dict[str, Any]
    rows: int = 0
    pairs: list[Pair] = field(default_factory=list)
    """One for each sampled row that an earlier row is near."""

    def count(self, kind: Kind) -> int:
        return sum(self.kind_of(pair) is kind for pair in self.pairs)

    def examples(self, kind: Kind) -> list[Pair]:
        """Pairs of this kind: two that are closest to the limit, and then some of all.

        Of each family of near rows, one pair comes first: the rows of one template would be all pairs.
        """
        family = _families(self.pairs)
        families: defaultdict[RowId, list[Pair]] = defaultdict(list)
        for pair in sorted((pair for pair in self.pairs if self.kind_of(pair) is kind), key=self._margin):
            families[family(pair.row_id)].append(pair)
        firsts = [pairs[0] for pairs in families.values()]
        others = [pair for pairs in families.values() for pair in pairs[1:]]
        narrow, later = firsts[: SHOWN_PAIRS // 2], firsts[SHOWN_PAIRS // 2 :]
        found = narrow + _spread(later, SHOWN_PAIRS - len(narrow))
        return found + _spread(others, SHOWN_PAIRS - len(found))

    def kind_of(self, pair: Pair) -> Kind:
        return Kind.DUPLICATE if pair.resemblance >= self.criterion["resemblance"] else Kind.OTHER

    def _margin(self, pair: Pair) -> float:
        """How far a pair is from being of another kind."""
        return abs(float(pair.resemblance - self.criterion["resemblance"]))

    def resemblances(self) -> list[Bar]:
        """The sampled rows by the resemblance to the earlier row that decides."""
        limit = self.criterion["resemblance"]
        first = max(-BINS_BELOW_LIMIT, -math.floor(limit / BIN_WIDTH))
        by_bin: defaultdict[int, list[Pair]] = defaultdict(list)
        for pair in self.pairs:
            by_bin[max(math.floor((pair.resemblance - limit) / BIN_WIDTH), first - 1)].append(pair)
        bars = [self._bar(f"below {limit + BIN_WIDTH * first:.2f}", by_bin[first - 1])]
        for number in range(first, max([*by_bin, 0]) + 1):
            low, high = (min(limit + BIN_WIDTH * edge, 1) for edge in (number, number + 1))
            bars.append(self._bar(f"{low:.2f} to {high:.2f}", by_bin[number], number == 0))
        return bars

    def _bar(self, name: str, pairs: list[Pair], is_beyond: bool = False) -> Bar:
        duplicates = sum(self.kind_of(pair) is Kind.DUPLICATE for pair in pairs)
        return Bar(name, len(pairs), duplicates, is_beyond)


def summarize(pairs: Iterable[Pair | None], criterion: dict[str, Any]) -> Summary:
    summary = Summary(criterion)
    for pair in pairs:
        summary.rows += 1
        if pair is not None:
            summary.pairs.append(pair)
    return summary


def _families(pairs: Iterable[Pair]) -> Callable[[RowId], RowId]:
    """A row of the family of each row: of the rows that pairs connect, those of one template, for example."""
    parents: dict[RowId, RowId] = {}

    def root(row: RowId) -> RowId:
        while row in parents:
            row = parents[row]
        return row

    for pair in pairs:
        if (row := root(pair.row_id)) != (earlier := root(pair.earlier)):
            parents[row] = earlier
    return root


def _spread(pairs: list[Pair], number: int) -> list[Pair]:
    """So many of the pairs, at equal distances in their order."""
    count = min(number, len(pairs))
    return [pairs[(2 * n + 1) * len(pairs) // (2 * count)] for n in range(count)]
