"""Counts the sampled rows, and chooses the pairs to show."""

from __future__ import annotations

import enum
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from .sample import Pair, RowId

T = TypeVar("T")

SHOWN_PAIRS = 4
"""Pairs of each kind that are shown, as far as there are any."""

COUNTED_GROUPS = 20
"""Groups of which the rows are counted."""

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
    """A bar of a histogram: how many rows it stands for, and whether they are duplicates."""

    name: str
    rows: int
    is_duplicate: bool


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
        found = narrow + spread(later, SHOWN_PAIRS - len(narrow))
        return found + spread(others, SHOWN_PAIRS - len(found))

    def kind_of(self, pair: Pair) -> Kind:
        return Kind.DUPLICATE if pair.resemblance >= self.criterion["resemblance"] else Kind.OTHER

    def _margin(self, pair: Pair) -> float:
        """How far a pair is from being of another kind."""
        return abs(float(pair.resemblance - self.criterion["resemblance"]))

    def at_least(self, resemblance: float) -> int:
        """How many rows would be duplicates by this limit: below that of the criterion, at least so many."""
        return sum(pair.resemblance >= resemblance for pair in self.pairs)

    def groups(self) -> list[RowId]:
        """The rows that the most duplicates lead to, from one to the next: mostly those of the largest groups."""
        duplicates = [pair for pair in self.pairs if self.kind_of(pair) is Kind.DUPLICATE]
        family = _families(duplicates)
        sizes = Counter(family(pair.row_id) for pair in duplicates)
        return [first for first, _ in sizes.most_common(COUNTED_GROUPS)]

    def resemblances(self) -> list[Bar]:
        """The sampled rows by the resemblance to the earlier row that decides."""
        limit = self.criterion["resemblance"]
        first = max(-BINS_BELOW_LIMIT, -math.floor(limit / BIN_WIDTH))
        rows: Counter[int] = Counter()
        for pair in self.pairs:
            number = max(math.floor((pair.resemblance - limit) / BIN_WIDTH), first - 1)
            rows[max(number, 0) if self.kind_of(pair) is Kind.DUPLICATE else min(number, -1)] += 1
        bars = [Bar(f"below {limit + BIN_WIDTH * first:.2f}", rows[first - 1], False)]
        for number in range(first, max([*rows, 0]) + 1):
            low, high = (min(limit + BIN_WIDTH * edge, 1) for edge in (number, number + 1))
            bars.append(Bar(f"{low:.2f} to {high:.2f}", rows[number], number >= 0))
        return bars


def interval(count: int, of: int) -> tuple[float, float]:
    """The shares of a table between which that of a sample lies in 95 of 100 samples (Wilson 1927)."""
    z, share = 1.96, count / of
    middle, width = share + z * z / (2 * of), z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    low, high = ((middle + side * width) / (1 + z * z / of) for side in (-1, 1))
    return max(low, 0), min(high, 1)


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
        while (parent := parents.get(row)) is not None:
            parents[row] = parents.get(parent, parent)
            row = parent
        return row

    for pair in pairs:
        if (row := root(pair.row_id)) != (earlier := root(pair.earlier)):
            parents[row] = earlier
    return root


def spread(found: list[T], number: int) -> list[T]:
    """So many of these, at equal distances in their order."""
    count = min(number, len(found))
    return [found[(2 * n + 1) * len(found) // (2 * count)] for n in range(count)]
