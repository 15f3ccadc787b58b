"""Marks what only one of two texts has, and cuts long texts around the marks.

What is marked is what the comparison counts: the server says which features only this text has, and how it reads the
words of the text, and this module finds the features among them. If features are of several words or characters, all
words of such a feature are marked.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

MAX_EXCERPT_CHARACTERS = 320
"""Characters of a text that are shown."""

CONTEXT_CHARACTERS = 60
"""Characters that are shown before and after a mark."""

PIECE = re.compile(r"[^\s!-/:-@\[-`{-~]+")
"""What is between spaces and the punctuation of ASCII."""

SPACELESS = {"CJK", "HIRAGANA", "HIRAGANA-KATAKANA", "KATAKANA", "KHMER", "LAO", "MYANMAR", "THAI"}
"""The first words in the names of letters that are tokens of their own."""

TAG = re.compile(r"<[^<>]*>")

INVISIBLE = {"Cc", "Cf", "Zl", "Zp"}
"""Categories of characters without a shape of their own, which may change how others are shown: controls, marks of
direction, separators of lines."""

SHOWN = frozenset(
    "\t\n\u200c\u200d\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)
"""Those of these categories that belong to the text: joiners of letters, and signs around numbers."""

EMPTY_LINES = re.compile(r"\r?\n(?:[ \t\r]*\n)*")


class Piece(NamedTuple):
    """A part of a text to show. A gap stands for a part that is left out."""

    text: str
    is_marked: bool = False
    is_gap: bool = False


class Token(NamedTuple):
    text: str
    start: int
    end: int


class Reading(NamedTuple):
    """How the options read a text."""

    tokens_of: Callable[[list[str]], dict[str, list[str]]]
    """The tokens of each piece of a text, as the server reads it."""
    by_characters: bool = False
    reads_tags: bool = True


def excerpt(text: str, length: int, only_here: list[str], reading: Reading) -> tuple[list[Piece], list[str]]:
    """The parts of a text around its marks, and the features that are marked in none of them.

    ``text`` is the beginning of a text of this length.
    """
    marks, found = _marks(text, only_here, reading)
    windows = _windows(text, marks)
    pieces: list[Piece] = []
    at = 0
    for start, end in windows:
        if start > at:
            pieces.append(Piece("…", is_gap=True))
        for is_marked, begin, stop in _split(start, end, marks):
            pieces.append(Piece(visible(text[begin:stop]), is_marked))
        at = end
    if at < length:
        pieces.append(Piece("…", is_gap=True))
    shown = {feature for feature, spans in found.items() if any(_is_inside(span, windows) for span in spans)}
    return pieces, [visible(feature) for feature in only_here if feature not in shown]


def visible(text: str) -> str:
    """The text with a sign instead of each invisible character, without empty lines."""
    return "".join(map(_shape, EMPTY_LINES.sub("\n", text)))


def _shape(character: str) -> str:
    if character in SHOWN or unicodedata.category(character) not in INVISIBLE:
        return character
    return chr(0x2400 + ord(character)) if character < "\x20" else "\ufffd"


def _pieces(text: str, reading: Reading) -> Iterator[tuple[int, int]]:
    """Where the words of a text are; letters of scripts without spaces, with their marks, are words of their own."""
    for match in PIECE.finditer(text):
        start = match.start()
        for at in range(start + 1, match.end()):
            is_apart = reading.by_characters or _is_spaceless(text[at]) or _is_spaceless(text[start])
            if is_apart and unicodedata.category(text[at])[0] != "M":
                yield start, at
                start = at
        yield start, match.end()


def _is_spaceless(character: str) -> bool:
    return unicodedata.name(character, "").split(" ")[0] in SPACELESS


def _tokens(texts: list[str], reading: Reading) -> list[list[Token]]:
    """The tokens of each text, and where the pieces are that they belong to."""
    pieces = [list(_pieces(text, reading)) for text in texts]
    words = {text[start:end] for text, found in zip(texts, pieces) for start, end in found}
    tokens_of = reading.tokens_of(sorted(words))
    return [
        [Token(token, start, end) for start, end in found for token in tokens_of[text[start:end]]]
        for text, found in zip(texts, pieces)
    ]


def _marks(text: str, only_here: list[str], reading: Reading) -> tuple[list[bool], dict[str, list[tuple[int, int]]]]:
    """Which characters are marked, and where each feature is."""
    # Tags are no words, but the positions count.
    read = text if reading.reads_tags else TAG.sub(lambda tag: " " * len(tag[0]), text)
    of_text, *of_features = _tokens([read, *only_here], reading)
    features = {tuple(token.text for token in of): feature for of, feature in zip(of_features, only_here)}
    marks = [False] * len(text)
    found: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for length in {len(feature) for feature in features} - {0}:
        for first in range(len(of_text) - length + 1):
            window = of_text[first : first + length]
            feature = features.get(tuple(token.text for token in window))
            if feature is not None:
                span = window[0].start, window[-1].end
                found[feature].append(span)
                marks[span[0] : span[1]] = [True] * (span[1] - span[0])
    return marks, found


def _windows(text: str, marks: list[bool]) -> list[tuple[int, int]]:
    """The parts to show: the marks with their context, as many as there is space for, or else the beginning."""
    length = len(text)
    windows: list[tuple[int, int]] = []
    space = MAX_EXCERPT_CHARACTERS
    for at, is_marked in enumerate(marks):
        if not is_marked or windows and at + CONTEXT_CHARACTERS <= windows[-1][1]:
            continue
        start = _at_space(text, max(at - CONTEXT_CHARACTERS, 0), -1)
        end = _at_space(text, min(at + CONTEXT_CHARACTERS, length), 1)
        if windows and start <= windows[-1][1] + 1:
            space -= end - windows[-1][1]
            start = windows.pop()[0]
        else:
            space -= end - start
        windows.append((start, end))
        if space <= 0:
            break
    if not windows:
        return [(0, min(length, MAX_EXCERPT_CHARACTERS))] if length else []
    if len(windows) == 1 and windows[0][1] <= MAX_EXCERPT_CHARACTERS:
        return [(0, min(length, MAX_EXCERPT_CHARACTERS))]
    return windows


def _at_space(text: str, at: int, step: int) -> int:
    """The next position in this direction at which a word ends, if one is near."""
    for position in range(at, at + step * CONTEXT_CHARACTERS // 3, step):
        if not 0 < position < len(text):
            return min(max(position, 0), len(text))
        if text[position - 1].isspace() or text[position].isspace():
            return position
    return at


def _split(start: int, end: int, marks: list[bool]) -> Iterator[tuple[bool, int, int]]:
    """The runs of characters that are marked, and those that are not."""
    begin = start
    for at in range(start + 1, end + 1):
        if at == end or marks[at] != marks[begin]:
            yield marks[begin], begin, at
            begin = at


def _is_inside(span: tuple[int, int], windows: list[tuple[int, int]]) -> bool:
    return any(start <= span[0] and span[1] <= end for start, end in windows)
