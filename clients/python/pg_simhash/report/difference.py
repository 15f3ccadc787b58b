"""Marks the words in which two texts differ, and cuts long texts around the marks.

Case, spaces and punctuation around words do not count, as they do not for the features of texts by default.
"""

from __future__ import annotations

import difflib
import re
import string
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

MAX_MARKS = 6
MAX_MARK_CHARACTERS = 120
CONTEXT_CHARACTERS = 60
"""How many marks of a text are shown, and how much of each, before it and after it."""

MAX_COMPARED_WORDS = 1000
"""How many words of two texts are compared, from the first one on that differs: the time may grow with their cube."""

MAX_PLAIN_CHARACTERS = 320
"""What is shown of a text without marks."""

# Thai and its neighbours, Burmese, Khmer, and what is used for Chinese and Japanese: each letter is a word.
SPACELESS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
WORD = re.compile(rf"[{SPACELESS}]|[^\s{SPACELESS}]+")
PUNCTUATION = string.punctuation + "‐‑‒–—‘’“”…«»¡¿·、。，！？：；（）「」"

PART_OF_FIRST_WORD, PART_OF_LAST_WORD = re.compile(r"^\S{1,20}(?=\s)"), re.compile(r"(?<=\s)\S{1,20}$")
"""What a cut leaves of a word."""

INVISIBLE = {"Cc", "Cf", "Zl", "Zp"}
"""Categories of characters without a shape of their own, which may change how others are shown: controls, marks of
direction, separators of lines."""

SHOWN = "\t\n\u200c\u200d"
"""Those of these categories that belong to the text: joiners of letters, and spaces."""


class Piece(NamedTuple):
    """A part of a text to show."""

    text: str
    is_marked: bool


class Word(NamedTuple):
    """A word of a text without the punctuation around it, as it is compared and where it is."""

    folded: str
    where: slice


def words_of(text: str) -> list[Word]:
    words = []
    for found in WORD.finditer(text):
        begin = found.end() - len(found[0].lstrip(PUNCTUATION))
        if word := found[0].strip(PUNCTUATION):
            words.append(Word(word.casefold(), slice(begin, begin + len(word))))
    return words


def differences(a: str, b: str) -> tuple[list[slice], list[slice]]:
    """Where two texts have words that the other one lacks."""
    words = words_of(a), words_of(b)
    compared = [[word.folded for word in of_text] for of_text in words]
    begin = _common(*compared)
    after = _common(*(of_text[: begin - len(of_text) - 1 : -1] for of_text in compared))
    differing = [of_text[begin : len(of_text) - after][:MAX_COMPARED_WORDS] for of_text in compared]
    marks: tuple[list[slice], list[slice]] = [], []
    for kind, *ends in difflib.SequenceMatcher(None, differing[0], differing[1]).get_opcodes():
        for of_text, found, first, last in zip(marks, words, ends[::2], ends[1::2]):
            if kind != "equal" and first < last:
                of_text.append(slice(found[begin + first].where.start, found[begin + last - 1].where.stop))
    return marks


def overlap(a: slice, b: slice) -> bool:
    return bool(a.start < b.stop and b.start < a.stop)


def union(marks: Iterable[list[slice]]) -> list[slice]:
    """All marks of one text, in its order; those that overlap are one."""
    found: list[slice] = []
    for mark in sorted((mark for some in marks for mark in some), key=lambda mark: mark.start):
        if found and overlap(found[-1], mark):
            found[-1] = slice(found[-1].start, max(found[-1].stop, mark.stop))
        else:
            found.append(mark)
    return found


def _common(a: list[str], b: list[str]) -> int:
    """With how many equal words two lists begin."""
    return next((at for at, (one, other) in enumerate(zip(a, b)) if one != other), min(len(a), len(b)))


def visible(text: str) -> str:
    """The text with a sign instead of each invisible character."""
    return "".join("\ufffd" if unicodedata.category(c) in INVISIBLE and c not in SHOWN else c for c in text)


def excerpt(text: str, marks: list[slice]) -> list[Piece]:
    """The marks with some words around each; the beginning of a text without marks."""
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
    """The beginning and the end of a text, to whole words; all of it if it is short."""
    if len(text) > before + after:
        begin, end = text[:before], text[len(text) - after :]
        text = f"{PART_OF_LAST_WORD.sub('', begin)} … {PART_OF_FIRST_WORD.sub('', end)}"
    return visible(text)
