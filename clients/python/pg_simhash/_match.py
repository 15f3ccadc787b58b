"""Matches of two texts."""

from typing import NamedTuple


class Match(NamedTuple):
    """What a text and a clue have in common: where it is in both, the words, and the changed words between them.

    >>> text = "a passage is a run of words"
    >>> [found] = matches(text, "It is a run of words")
    >>> text[found.content_start : found.content_end]
    'is a run of words'
    """

    content_start: int
    content_end: int
    clue_start: int
    clue_end: int
    words: int
    changed: int
