"""Marks the words in which two texts differ, and cuts long texts around the marks.

Case, spaces and punctuation around words do not count, as they do not for the features of texts by default.
"""

from __future__ import annotations

import re
import string
import sys
import unicodedata
from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

from pg_simhash._native import runs

MAX_MARKS = 6
MAX_MARK_CHARACTERS = 120
CONTEXT_CHARACTERS = 60
"""How many marks of a text are shown, and how much of each, before it and after it."""

MAX_PLAIN_CHARACTERS = 320
"""What is shown of a text without marks."""

# Thai and its neighbours, Burmese, Khmer, and what is used for Chinese and Japanese: each letter is a word.
SPACELESS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
WORD = re.compile(rf"[{SPACELESS}]|[^\s{SPACELESS}]+")
# What both texts begin and end with, so that all words there are in a run with it.
BEGIN, END = "ᚠ ᚢ ᚦ ", " ᚨ ᚱ ᚲ"
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


def differences(a: str, b: str) -> tuple[list[slice], list[slice]]:
    """Where two texts have words that are in no run of at least three words, or five letters, which both have."""
    found = runs(BEGIN + a + END, BEGIN + b + END)
    of_b = sorted((run.clue_start, run.clue_end) for run in found)
    return _outside(a, [(run.content_start, run.content_end) for run in found]), _outside(b, of_b)


def _outside(text: str, shared: list[tuple[int, int]]) -> list[slice]:
    """The words that are in none of these parts, without the punctuation around them; neighbours are one mark."""
    words: list[tuple[bool, slice]] = []
    parts = iter([*shared, (len(BEGIN) + len(text), sys.maxsize)])
    start, end = next(parts)
    for found in WORD.finditer(text):
        first = len(BEGIN) + found.end() - len(found[0].lstrip(PUNCTUATION))
        last = len(BEGIN) + found.start() + len(found[0].rstrip(PUNCTUATION))
        while end < last:
            start, end = next(parts)
        if first < last:
            words.append((first < start, slice(first - len(BEGIN), last - len(BEGIN))))
    groups = (list(group) for is_marked, group in groupby(words, lambda word: word[0]) if is_marked)
    return [slice(group[0][1].start, group[-1][1].stop) for group in groups]


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
