"""Marks what only one of two texts has, and cuts long texts around the marks.

What is marked is what the comparison counts: the server says which features only this text has, and this module finds
them in the text. If features are of several words or characters, all words of such a feature are marked.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

MAX_EXCERPT_CHARACTERS = 320
"""Characters of a text that are shown."""

CONTEXT_CHARACTERS = 60
"""Characters that are shown before and after a mark."""

SPACELESS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005\u3007\u3021-\u3029\u3038-\u303b\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\ua9e0-\ua9fe\uaa60-\uaa7f\uf900-\ufaff\U0001aff0-\U0001b16f\U00020000-\U0003ffff]"
)
"""Letters of the scripts that are written without spaces: each is a token of its own."""

TAG = re.compile(r"<[^<>]*>")

IGNORABLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Default_Ignorable_Code_Point of Unicode: characters that are not seen, and do not count."""

OPTIONAL = re.compile(
    "[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7"
    "\u06e8\u06ea-\u06ed\u07fa\u0883-\u0885\u0897-\u089f\u08ca-\u08e1\u08e3-\u08ff\u180a\ufb1e\U000102e0\U00010efa-\U00010eff]"
)
"""Points of Arabic and Hebrew, and what stretches a connection of letters: writing may leave them out."""

GREEK = re.compile("[\u0370-\u03e1\u03f0-\u03ff\u1f00-\u1fff][\u0300\u0301\u0304\u0306\u0308\u0313\u0314\u0342\u0345]*")
"""A letter of Greek with its marks, which capitals leave out."""

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

    keeps_case: bool = False
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


def tokens(text: str, reading: Reading) -> list[Token]:
    """The tokens of a text, as the options read them, and where they are."""
    if not reading.reads_tags:
        text = TAG.sub(lambda match: " " * len(match[0]), text)
    found: list[Token] = []
    joins = False  # whether the character before is the end of a word
    adjacent = False  # whether it belongs to the last token
    for character, start, end in _normalised(text, reading.keeps_case):
        category = unicodedata.category(character)[0]
        if category == "M":
            if adjacent:
                found[-1] = Token(found[-1].text + character, found[-1].start, end)
        elif category not in "LN":
            adjacent = joins = False
        else:
            is_word = SPACELESS.match(character) is None or unicodedata.category(character) in ("Nd", "No")
            if is_word and joins and not reading.by_characters:
                found[-1] = Token(found[-1].text + character, found[-1].start, end)
            else:
                found.append(Token(character, start, end))
            adjacent, joins = True, is_word
    if reading.by_characters:  # A mark is a character too.
        found = [Token(character, token.start, token.end) for token in found for character in token.text]
    return found


def _normalised(text: str, keeps_case: bool) -> Iterator[tuple[str, int, int]]:
    """The characters of the normalised text, each with the position of its source: a character and its marks."""

    def is_attached(character: str) -> bool:
        is_mark = unicodedata.category(character)[0] == "M"
        return is_mark or any(read_over.match(character) for read_over in (IGNORABLE, OPTIONAL))

    start = 0
    while start < len(text):
        end = start + 1
        while end < len(text) and end - start < 32 and is_attached(text[end]):
            end += 1
        for character in _normal_form(text[start:end], keeps_case):
            yield character, start, end
        start = end


def _normal_form(text: str, keeps_case: bool) -> str:
    """The normal form of a character and its marks, as the fingerprint has it."""
    normal = unicodedata.normalize("NFKC", IGNORABLE.sub("", text))
    if not keeps_case:
        normal = GREEK.sub(lambda letter: unicodedata.normalize("NFD", letter[0])[0], normal.casefold())
    normal = OPTIONAL.sub("", normal)
    return normal if keeps_case else re.sub("i\u0307+", "i", normal.replace("\u0131", "i"))


def _marks(text: str, only_here: list[str], reading: Reading) -> tuple[list[bool], dict[str, list[tuple[int, int]]]]:
    """Which characters are marked, and where each feature is."""
    of_text = tokens(text, reading)
    as_read = reading._replace(reads_tags=True)
    features = {tuple(token.text for token in tokens(feature, as_read)): feature for feature in only_here}
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
