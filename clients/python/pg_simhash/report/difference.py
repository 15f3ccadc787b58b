"""Marks the words in which two texts differ, and cuts long texts around the marks.

Case, spaces and punctuation do not count, as they do not for fingerprints by default.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from typing import NamedTuple

MAX_MARKS = 6
MAX_MARK_CHARACTERS = 120
CONTEXT_CHARACTERS = 60
"""How many marks of a text are shown, and how much of each, before it and after it."""

MAX_COMPARED_WORDS = 2000
"""How many words of two texts are compared, from the first one on that differs: the time may grow with their cube."""

MAX_PLAIN_CHARACTERS = 320
"""What is shown of a text without marks."""

# Thai and its neighbours, Burmese, Khmer, and what is used for Chinese and Japanese: each letter is a word.
SPACELESS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
WORD = re.compile(rf"[{SPACELESS}]|[^\W{SPACELESS}]+")

INVISIBLE = {"Cc", "Cf", "Zl", "Zp"}
"""Categories of characters without a shape of their own, which may change how others are shown: controls, marks of
direction, separators of lines."""

SHOWN = "\t\n\u200c\u200d"
"""Those of these categories that belong to the text: joiners of letters, and spaces."""


class Piece(NamedTuple):
    """A part of a text to show."""

    text: str
    is_marked: bool


def compare(a: str, b: str) -> tuple[list[Piece], list[Piece]]:
    """What to show of two texts."""
    words = [list(WORD.finditer(text)) for text in (a, b)]
    compared = [[word[0].casefold() for word in of_text] for of_text in words]
    begin = _common(*compared)
    after = _common(*(of_text[: begin - len(of_text) - 1 : -1] for of_text in compared))
    differing = [of_text[begin : len(of_text) - after][:MAX_COMPARED_WORDS] for of_text in compared]
    marks: tuple[list[slice], list[slice]] = [], []
    for kind, *ends in difflib.SequenceMatcher(None, differing[0], differing[1]).get_opcodes():
        for of_text, found, first, last in zip(marks, words, ends[::2], ends[1::2]):
            if kind != "equal" and first < last:
                of_text.append(slice(found[begin + first].start(), found[begin + last - 1].end()))
    return _excerpt(a, marks[0]), _excerpt(b, marks[1])


def _common(a: list[str], b: list[str]) -> int:
    """With how many equal words two lists begin."""
    return next((at for at, (one, other) in enumerate(zip(a, b)) if one != other), min(len(a), len(b)))


def visible(text: str) -> str:
    """The text with a sign instead of each invisible character."""
    return "".join("\ufffd" if unicodedata.category(c) in INVISIBLE and c not in SHOWN else c for c in text)


def _excerpt(text: str, marks: list[slice]) -> list[Piece]:
    if not marks:
        return [Piece(_cut(text, MAX_PLAIN_CHARACTERS, 0), False)]
    pieces: list[Piece] = []
    at = 0
    for mark in marks[:MAX_MARKS]:
        pieces.append(Piece(_cut(text[at : mark.start], CONTEXT_CHARACTERS if at else 0, CONTEXT_CHARACTERS), False))
        pieces.append(Piece(_cut(text[mark], MAX_MARK_CHARACTERS, 0), True))
        at = mark.stop
    return [*pieces, Piece(_cut(text[at:], CONTEXT_CHARACTERS, 0), False)]


def _cut(text: str, before: int, after: int) -> str:
    """The beginning and the end of a text; all of it if it is short."""
    if len(text) > before + after:
        text = f"{text[:before]} … {text[len(text) - after :]}"
    return visible(text)
