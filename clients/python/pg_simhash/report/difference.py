"""Marks the words in which two texts differ, and cuts long texts around the marks.

Spaces and punctuation around words do not count, as they do not for the features of texts, nor what the options say.
"""

from __future__ import annotations

import difflib
import re
import string
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

try:
    from pg_simhash._native import runs
except ImportError:
    runs = None  # type: ignore[assignment]

MAX_MARKS = 6  # of a text
MAX_MARK_CHARACTERS = 120
CONTEXT_CHARACTERS = 60  # before a mark, and after it
MAX_PLAIN_CHARACTERS = 320  # of a text without marks
MAX_COMPARED_WORDS = 1000  # that are in no run, from the first one on that differs

# Thai and its neighbours, Burmese, Khmer, and what is used for Chinese and Japanese: each letter is a word.
SPACELESS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
WORD = re.compile(rf"[{SPACELESS}]|[^\s{SPACELESS}]+")
# Both texts are compared between these. Each is long enough for a run, so what both texts begin or end with is in a run
# with it, however short it is. They are runes, which hardly any text has.
BEGIN, END = "ᚠᚠ ᚢᚢ ᚦᚦ ", " ᚨᚨ ᚱᚱ ᚲᚲ"
PUNCTUATION = string.punctuation + "‐‑‒–—‘’“”…«»¡¿·、。，！？：；（）「」"

# What a cut leaves of a word.
PART_OF_FIRST_WORD, PART_OF_LAST_WORD = re.compile(r"^\S{1,20}(?=\s)"), re.compile(r"(?<=\s)\S{1,20}$")
# Categories of characters without a shape of their own, which may change how others are shown: controls, marks of
# direction, separators of lines. Spaces and joiners of letters among them belong to the text.
INVISIBLE = {"Cc", "Cf", "Zl", "Zp"}
SHOWN = "\t\n\u200c\u200d"


class Piece(NamedTuple):
    """A part of a text to show."""

    text: str
    is_marked: bool


class Word(NamedTuple):
    """A word without the punctuation around it, as it is compared, its number in the text, and where it is."""

    folded: str
    number: int
    where: slice


def differences(a: str, b: str, options: Mapping[str, Any] | None = None) -> tuple[list[slice], list[slice]]:
    """Where two texts, of which the markup was removed, have words that the other one lacks by options of comparing
    texts, among those that are in no run which both have."""
    options = {key: value for key, value in (options or {}).items() if key in ("tokens", "case_fold", "ignore")}
    # The demo shows a page without the compiled module.
    found = runs(BEGIN + a + END, BEGIN + b + END, **options) if runs is not None else []
    fold = str.casefold if options.get("case_fold", True) else str
    of_b = sorted((run.clue_start, run.clue_end) for run in found)
    words = _outside(a, [(run.content_start, run.content_end) for run in found], fold), _outside(b, of_b, fold)
    compared = [[word.folded for word in of_text] for of_text in words]
    common_prefix = _common(*compared)
    common_suffix = _common(*(list(reversed(of_text[common_prefix:])) for of_text in compared))
    differing = (of_text[common_prefix : len(of_text) - common_suffix] for of_text in words)
    first, second = (of_text[:MAX_COMPARED_WORDS] for of_text in differing)
    matcher = difflib.SequenceMatcher(None, [word.folded for word in first], [word.folded for word in second], False)
    for at, other, size in reversed(matcher.get_matching_blocks()):
        del first[at : at + size], second[other : other + size]
    return _joined(first), _joined(second)


def _outside(text: str, shared: list[tuple[int, int]], fold: Callable[[str], str]) -> list[Word]:
    """The words that are in none of these parts."""
    words: list[Word] = []
    parts = iter([*shared, (len(BEGIN) + len(text) + 1, sys.maxsize)])
    start, end = next(parts)
    for number, found in enumerate(WORD.finditer(text)):
        first = found.end() - len(found[0].lstrip(PUNCTUATION))
        last = found.start() + len(found[0].rstrip(PUNCTUATION))
        while end < last + len(BEGIN):
            start, end = next(parts)
        if first < last and first + len(BEGIN) < start:
            words.append(Word(fold(text[first:last]), number, slice(first, last)))
    return words


def _common(a: list[str], b: list[str]) -> int:
    """How many words the beginnings have in common."""
    return next((count for count, (own, other) in enumerate(zip(a, b)) if own != other), min(len(a), len(b)))


def _joined(words: list[Word]) -> list[slice]:
    """The places of words; neighbours are one."""
    joined: list[slice] = []
    last = None
    for word in words:
        if joined and last == word.number - 1:
            joined[-1] = slice(joined[-1].start, word.where.stop)
        else:
            joined.append(word.where)
        last = word.number
    return joined


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
