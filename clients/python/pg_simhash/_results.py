"""The items of the lists that features, difference and matches return."""

from typing import Literal, NamedTuple


class Feature(NamedTuple):
    """A feature of a text: its text, its weight, and its hash as a signed 64-bit integer."""

    feature: str
    weight: float
    hash: int


class Difference(NamedTuple):
    """A feature that weighs more in one of two texts, or is only in that one: side says which, weight by how much."""

    side: Literal["a", "b"]
    feature: str
    weight: float


class Match(NamedTuple):
    """What a text and a clue have in common: where it is in both, the words, and the changed words between them.

    Positions count the characters of the str, and slice it.

    >>> text = "a passage is a run of words"
    >>> [match] = matches(text, "It is a run of words")
    >>> text[match.content_start : match.content_end]
    'is a run of words'
    """

    content_start: int
    content_end: int
    clue_start: int
    clue_end: int
    words: int
    changed: int
