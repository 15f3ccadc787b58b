"""Counts the sampled rows, and chooses the pairs to show."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from .sample import Pair, RowId

T = TypeVar("T")

SHOWN_PAIRS = 4  # On each side of the limit.
COUNTED_GROUPS = 20
# The histogram of resemblances has bins of this width, and this many of them below the limit, which is the edge of a
# bin. One bar has all smaller resemblances.
BIN_WIDTH = 0.05
BINS_BELOW_LIMIT = 6


class Bar(NamedTuple):
    """A bar of a histogram: how many rows it stands for, and whether they are duplicates."""

    name: str
    rows: int
    is_duplicate: bool


@dataclass
class Summary:
    """The sampled rows. There is a pair for each of them that resembles an earlier row."""

    limit: float
    rows: int
    duplicates: list[Pair]
    others: list[Pair]
    """Pairs of texts that do not resemble each other enough."""

    def examples(self, pairs: list[Pair]) -> list[Pair]:
        """Some of the duplicates or of the others: two that are closest to the limit, and then some of all.

        One pair of each cluster comes first: otherwise, all pairs might be rows of one template.
        """
        cluster_of = _clusters(self.duplicates + self.others)
        clusters: defaultdict[RowId, list[Pair]] = defaultdict(list)
        for pair in sorted(pairs, key=lambda pair: abs(pair.resemblance - self.limit)):
            clusters[cluster_of(pair.row_id)].append(pair)
        firsts = [members[0] for members in clusters.values()]
        not_first = [pair for members in clusters.values() for pair in members[1:]]
        closest, farther = firsts[: SHOWN_PAIRS // 2], firsts[SHOWN_PAIRS // 2 :]
        examples = closest + spread(farther, SHOWN_PAIRS - len(closest))
        return examples + spread(not_first, SHOWN_PAIRS - len(examples))

    def at_least(self, resemblance: float) -> int:
        """The number of rows that would be duplicates by this limit; a lower bound below the limit of the criterion."""
        return sum(pair.resemblance >= resemblance for pair in self.duplicates + self.others)

    def groups(self) -> list[RowId]:
        """The rows that the most duplicates lead to, from one to the next: mostly those of the largest groups."""
        cluster_of = _clusters(self.duplicates)
        sizes = Counter(cluster_of(pair.row_id) for pair in self.duplicates)
        return [first for first, _ in sizes.most_common(COUNTED_GROUPS)]

    def resemblances(self) -> list[Bar]:
        """The sampled rows by the resemblance to the earlier row that decides."""
        first = max(-BINS_BELOW_LIMIT, -math.floor(self.limit / BIN_WIDTH))

        def bin_of(pair: Pair) -> int:
            return math.floor((pair.resemblance - self.limit) / BIN_WIDTH)

        # Rounding must not put a pair on the other side of the limit.
        rows = Counter(max(bin_of(pair), 0) for pair in self.duplicates)
        rows.update(max(min(bin_of(pair), -1), first - 1) for pair in self.others)
        bars = [Bar(f"below {self.limit + BIN_WIDTH * first:.2f}", rows[first - 1], False)]
        for number in range(first, max([*rows, 0]) + 1):
            low, high = (min(self.limit + BIN_WIDTH * edge, 1) for edge in (number, number + 1))
            bars.append(Bar(f"{low:.2f} to {high:.2f}", rows[number], number >= 0))
        return bars


def interval(count: int, rows: int) -> tuple[float, float]:
    """The 95 % confidence interval (Wilson 1927) of a share of the table's rows, if `count` of `rows` sampled rows are
    in this share."""
    z = 1.96  # 95 % of a normal distribution are within so many standard deviations.
    share = count / rows
    middle = share + z * z / (2 * rows)
    width = z * math.sqrt(share * (1 - share) / rows + z * z / (4 * rows * rows))
    low, high = ((middle + side * width) / (1 + z * z / rows) for side in (-1, 1))
    return max(low, 0), min(high, 1)


def summarize(rows: Iterable[Pair | None], limit: float) -> Summary:
    sampled = list(rows)
    pairs = [pair for pair in sampled if pair is not None]
    duplicates = [pair for pair in pairs if pair.resemblance >= limit]
    return Summary(limit, len(sampled), duplicates, [pair for pair in pairs if pair.resemblance < limit])


def _clusters(pairs: Iterable[Pair]) -> Callable[[RowId], RowId]:
    """A function that returns for each row the same row of its cluster. Pairs connect the rows of a cluster."""
    parents: dict[RowId, RowId] = {}

    def root(row: RowId) -> RowId:
        while (parent := parents.get(row)) is not None:
            parents[row] = parents.get(parent, parent)  # Path halving.
            row = parent
        return row

    for pair in pairs:
        if (row := root(pair.row_id)) != (earlier := root(pair.earlier)):
            parents[row] = earlier
    return root


def spread(items: list[T], number: int) -> list[T]:
    """At most `number` of the items, evenly spaced in their order."""
    count = min(number, len(items))
    return [items[(2 * position + 1) * len(items) // (2 * count)] for position in range(count)]
