"""Marks the words in which two texts differ, and cuts long texts around the marks.

Spaces and punctuation around words do not count, as in the features of texts; nor does what the options leave out.
"""

from __future__ import annotations

import difflib
import itertools
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

# How much of a text is shown: marks, characters of a mark, of the text on each side of it, and of a text without marks.
MAX_MARKS, MAX_MARK_CHARACTERS, CONTEXT_CHARACTERS, MAX_PLAIN_CHARACTERS = 6, 120, 60, 320
# The words of a text that are compared: those in no run, from the first difference on.
MAX_COMPARED_WORDS = 1000

# In Thai and its neighbours, Burmese, Khmer, Chinese and Japanese, each letter is a word.
SPACELESS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
WORD = re.compile(rf"[{SPACELESS}]|[^\s{SPACELESS}]+")
# Runes, which hardly any text has, are put around both texts. The runes are long enough for a run, so words that both
# texts begin or end with are in a run with them, however few the words are.
BEGIN, END = "ᚠᚠ ᚢᚢ ᚦᚦ ", " ᚨᚨ ᚱᚱ ᚲᚲ"
PUNCTUATION = string.punctuation + "‐‑‒–—‘’“”…«»¡¿·、。，！？：；（）「」"

# The part of a word that a cut leaves, up to 20 characters.
PART_OF_FIRST_WORD, PART_OF_LAST_WORD = re.compile(r"^\S{1,20}(?=\s)"), re.compile(r"(?<=\s)\S{1,20}$")
# Categories of characters without a shape of their own, which may change how others are shown: controls, marks of
# direction, separators of lines. Spaces and joiners of letters are in these categories too, but belong to the text.
INVISIBLE_CATEGORIES = {"Cc", "Cf", "Zl", "Zp"}
SPACES_AND_JOINERS = "\t\n\u200c\u200d"


class Piece(NamedTuple):
    """A part of a text to show."""

    text: str
    is_marked: bool


class Word(NamedTuple):
    """A word without the punctuation around it, as it is compared, its number in the text, and its place."""

    folded: str
    number: int
    place: slice


def differences(a: str, b: str, options: Mapping[str, Any] | None = None) -> tuple[list[slice], list[slice]]:
    """The places of the words that only one of two texts without markup has, by the options of comparing texts. Runs of
    both texts do not differ, wherever they are. The other words are compared in their order."""
    options = {key: value for key, value in (options or {}).items() if key in ("tokens", "case_fold", "ignore")}
    # The demo shows a page without the compiled module.
    common_runs = runs(BEGIN + a + END, BEGIN + b + END, **options) if runs is not None else []
    runs_of_a = [(run.content_start, run.content_end) for run in common_runs]
    runs_of_b = sorted((run.clue_start, run.clue_end) for run in common_runs)
    fold = str.casefold if options.get("case_fold", True) else str
    words = _words_outside(a, runs_of_a, fold), _words_outside(b, runs_of_b, fold)
    folded = [[word.folded for word in of_text] for of_text in words]
    common_prefix = _count_common(*folded)
    common_suffix = _count_common(*(of_text[common_prefix:][::-1] for of_text in folded))
    differing = (of_text[common_prefix : len(of_text) - common_suffix] for of_text in words)
    only_a, only_b = (of_text[:MAX_COMPARED_WORDS] for of_text in differing)
    matcher = difflib.SequenceMatcher(None, [word.folded for word in only_a], [word.folded for word in only_b], False)
    for start_in_a, start_in_b, size in reversed(matcher.get_matching_blocks()):
        del only_a[start_in_a : start_in_a + size], only_b[start_in_b : start_in_b + size]
    return _join_neighbours(only_a), _join_neighbours(only_b)


def _words_outside(text: str, common_runs: list[tuple[int, int]], fold: Callable[[str], str]) -> list[Word]:
    """The words that are in none of these runs, whose positions include BEGIN."""
    words: list[Word] = []
    rest = iter([*common_runs, (len(BEGIN) + len(text) + 1, sys.maxsize)])
    run_start, run_end = next(rest)
    for number, match in enumerate(WORD.finditer(text)):
        start = match.end() - len(match[0].lstrip(PUNCTUATION))
        end = match.start() + len(match[0].rstrip(PUNCTUATION))
        while run_end < end + len(BEGIN):
            run_start, run_end = next(rest)
        if start < end and start + len(BEGIN) < run_start:
            words.append(Word(fold(text[start:end]), number, slice(start, end)))
    return words


def _count_common(a: list[str], b: list[str]) -> int:
    """How many words two lists have in common at their beginnings."""
    return next((count for count, (own, other) in enumerate(zip(a, b)) if own != other), min(len(a), len(b)))


def _join_neighbours(words: list[Word]) -> list[slice]:
    """The places of words; those of neighbours are joined to one."""
    joined: list[slice] = []
    last_number = None
    for word in words:
        if last_number == word.number - 1:
            joined[-1] = slice(joined[-1].start, word.place.stop)
        else:
            joined.append(word.place)
        last_number = word.number
    return joined


def overlap(a: slice, b: slice) -> bool:
    return bool(a.start < b.stop and b.start < a.stop)


def union(marks: Iterable[list[slice]]) -> list[slice]:
    """All marks of one text, in its order; those that overlap are one."""
    joined: list[slice] = []
    for mark in sorted(itertools.chain(*marks), key=lambda mark: mark.start):
        if joined and overlap(joined[-1], mark):
            joined[-1] = slice(joined[-1].start, max(joined[-1].stop, mark.stop))
        else:
            joined.append(mark)
    return joined


def visible(text: str) -> str:
    """The text with a sign instead of each invisible character."""
    return "".join("\ufffd" if _is_invisible(character) else character for character in text)


def _is_invisible(character: str) -> bool:
    return unicodedata.category(character) in INVISIBLE_CATEGORIES and character not in SPACES_AND_JOINERS


def excerpt(text: str, marks: list[slice]) -> list[Piece]:
    """The marks with some words around each; the beginning of a text without marks."""
    if not marks:
        return [Piece(_cut(text, MAX_PLAIN_CHARACTERS, 0), False)]
    pieces: list[Piece] = []
    end = 0
    for mark in marks[:MAX_MARKS]:
        pieces.append(Piece(_cut(text[end : mark.start], CONTEXT_CHARACTERS if end else 0, CONTEXT_CHARACTERS), False))
        pieces.append(Piece(_cut(text[mark], MAX_MARK_CHARACTERS, 0), True))
        end = mark.stop
    return [*pieces, Piece(_cut(text[end:], CONTEXT_CHARACTERS, 0), False)]


def _cut(text: str, first: int, last: int) -> str:
    """The `first` first and the `last` last characters of a text, without parts of words; a short text is not cut."""
    if len(text) > first + last:
        begin, end = text[:first], text[len(text) - last :]
        text = f"{PART_OF_LAST_WORD.sub('', begin)} … {PART_OF_FIRST_WORD.sub('', end)}"
    return visible(text)
