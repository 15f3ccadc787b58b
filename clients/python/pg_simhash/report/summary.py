"""Counts the sampled rows, and chooses the pairs to show."""

from __future__ import annotations

import enum
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .criterion import Criterion
from .sample import MAX_NEAR_ROWS, Near, Row, RowId


class Kind(enum.Enum):
    """What a guard would make of a row that is inserted after an earlier one. Of several earlier rows, the first kind
    counts."""

    DUPLICATE = "duplicate"
    TOO_FAR = "too far"
    """Beyond the distance, though the texts resemble each other enough."""
    OTHER_TEXT = "other text"
    """Within the distance, but the texts do not resemble each other enough."""
    UNRELATED = "unrelated"


class Pair(NamedTuple):
    """A sampled row, and the earlier row that decides about it."""

    row_id: RowId
    earlier: RowId
    distance: int
    resemblance: float
    kind: Kind


class Example(NamedTuple):
    pair: Pair
    is_typical: bool
    """Not one of those that are closest to the limit."""


class Group(NamedTuple):
    """Rows that are duplicates of each other, perhaps through others."""

    size: int
    row_ids: list[RowId]


@dataclass
class Summary:
    criterion: Criterion
    rows: int = 0
    pairs: list[Pair] = field(default_factory=list)
    """One for each sampled row that an earlier row is near."""
    sizes: Counter[int] = field(default_factory=Counter)
    """How many sampled rows have so many duplicates, earlier or later, and themselves."""
    families: _Links = field(default_factory=lambda: _Links())
    """The rows that near rows link, whether they are duplicates or not: those of one template, for example."""
    groups: list[Group] = field(default_factory=list)
    """The groups of the sampled rows and the rows that were found, the largest first."""

    def count(self, kind: Kind) -> int:
        return sum(pair.kind is kind for pair in self.pairs)

    def examples(self, kind: Kind, number: int) -> list[Example]:
        """Pairs of this kind: those closest to the limit, and then typical ones.

        One from each family, and a second one if there are fewer families: the rows of one template would be all pairs.
        """
        families: defaultdict[RowId, list[Pair]] = defaultdict(list)
        for pair in sorted((pair for pair in self.pairs if pair.kind is kind), key=self._margin):
            families[self.families.root(pair.row_id)].append(pair)
        firsts = [pairs[0] for pairs in families.values()]
        narrow = firsts[: (number + 1) // 2]
        # Of a family, the pair in the middle of its order is typical.
        later = [pairs[len(pairs) // 2] for pairs in list(families.values())[len(narrow) :]]
        seconds = [pairs[len(pairs) // 2] for pairs in families.values() if len(pairs) > 1]
        typical = _spread(later, number - len(narrow))
        typical += _spread([pair for pair in seconds if pair not in typical], number - len(narrow) - len(typical))
        return [Example(pair, False) for pair in narrow] + [Example(pair, True) for pair in typical]

    def _margin(self, pair: Pair) -> tuple[float, ...]:
        """How far a pair is from being of another kind."""
        if pair.kind is Kind.TOO_FAR:
            return (pair.distance, -pair.resemblance)
        if self.criterion.resemblance is None:
            return (-pair.distance, pair.resemblance)
        return (abs(pair.resemblance - self.criterion.resemblance), -pair.distance)


def summarize(rows: Iterable[Row], criterion: Criterion) -> Summary:
    summary = Summary(criterion)
    links = _Links()
    for row in rows:
        summary.rows += 1
        pairs = [(near, _kind(near, criterion)) for near in row.near]
        earlier = [pair for pair in pairs if pair[0].is_earlier]
        if earlier:
            near, kind = min(earlier, key=_rank)
            summary.pairs.append(Pair(row.row_id, near.row_id, near.distance, near.resemblance, kind))
        for near in row.near:
            summary.families.add(row.row_id, near.row_id)
        duplicates = [near for near, kind in pairs if kind is Kind.DUPLICATE]
        summary.sizes[1 + len(duplicates)] += 1
        for near in duplicates:
            links.add(row.row_id, near.row_id)
    summary.groups = links.groups()
    return summary


def _spread(pairs: list[Pair], number: int) -> list[Pair]:
    """So many of the pairs, at equal distances in their order."""
    count = min(max(number, 0), len(pairs))
    return [pairs[(2 * n + 1) * len(pairs) // (2 * count)] for n in range(count)]


def _kind(near: Near, criterion: Criterion) -> Kind:
    is_like = criterion.resemblance is None or near.resemblance >= criterion.resemblance
    if near.is_near:
        return Kind.DUPLICATE if is_like else Kind.OTHER_TEXT
    return Kind.TOO_FAR if is_like else Kind.UNRELATED


def _rank(pair: tuple[Near, Kind]) -> tuple[int, float, int]:
    """The smallest is that of the row that decides."""
    near, kind = pair
    return (list(Kind).index(kind), -near.resemblance, near.distance)


class _Links:
    """Rows that are linked, as sets that are joined (union-find)."""

    def __init__(self) -> None:
        self._parents: dict[RowId, RowId] = {}

    def add(self, a: RowId, b: RowId) -> None:
        self._parents[self.root(a)] = self.root(b)

    def root(self, row_id: RowId) -> RowId:
        while (parent := self._parents.setdefault(row_id, row_id)) != row_id:
            self._parents[row_id] = row_id = self._parents[parent]
        return row_id

    def groups(self) -> list[Group]:
        members: defaultdict[RowId, list[RowId]] = defaultdict(list)
        for row_id in list(self._parents):
            members[self.root(row_id)].append(row_id)
        groups = [Group(len(row_ids), sorted(row_ids, key=_order)) for row_ids in members.values()]
        return sorted(groups, key=lambda group: -group.size)


def _order(row_id: RowId) -> tuple[int, ...]:
    oid, ctid = row_id
    return (oid, *map(int, ctid.strip("()").split(",")))


SIZES: Sequence[tuple[str, int, int]] = [
    ("1", 1, 1),
    ("2", 2, 2),
    ("3", 3, 3),
    ("4–5", 4, 5),
    ("6–10", 6, 10),
    (f"11–{MAX_NEAR_ROWS}", 11, MAX_NEAR_ROWS),
    (f"> {MAX_NEAR_ROWS}", MAX_NEAR_ROWS + 1, 2 * MAX_NEAR_ROWS + 1),
]
"""Classes of the sizes of groups: name, smallest and largest. No more rows than that are read."""
