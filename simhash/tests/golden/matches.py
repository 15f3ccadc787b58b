"""Matches in plain Python: a second implementation, written from what simhash/src/within/matches.rs says.

It computes the golden vectors of matches: `python matches.py` writes coverage and matches into each line of
matches.jsonl, which has a content, a clue, and perhaps options; also contains, by the default share, where passages
decide nothing. Its Unicode is that of Python, and its HTML is what `without_markup` reads; of addresses and ids it
knows the plain ones.
"""

import html
import json
import re
import sys
from functools import cache
from pathlib import Path
from unicodedata import category, combining, decimal, decomposition, name, normalize

SPACELESS = "CJK ", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR"
WITH_ACCENTS = "LATIN", "GREEK", "CYRILLIC"
POINTS = {0x640, *range(0x64B, 0x660)}
IN_URL = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:/?#[]@!$&'()*+,;=%")
BREAK = re.compile(r"[ \t\f]*(\r\n|\n|\r)[ \t\f]*(?![ \t\f]*[\r\n])")
MARKUP = re.compile(r"<!--.*?-->|<script>.*?</script>|</?(\w+)[^>]*>|&#?\w+;", re.DOTALL)
WORD, LETTER, RUN = 5, 3, 15

# A text is a list of pieces: a character, or none, and where it starts and ends in the source.


@cache
def composed_with_the_last():
    """What normalisation may join with the character before it."""
    found = {chr(c) for c in range(0x1161, 0x1176)} | {chr(c) for c in range(0x11A8, 0x11C3)}
    for c in map(chr, range(sys.maxunicode + 1)):
        parts = decomposition(c).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            found.add(chr(int(parts[1], 16)))
    return found


@cache
def is_boundary(c):
    first = normalize("NFKD", c)[0]
    is_joined = combining(first) or ord(first) in POINTS or first in composed_with_the_last()
    return not (category(c) == "Cf" or combining(c) or is_joined)


def main_part(text):
    """Of a simple page: what is not in `nav`, in `main`, or in articles if these have at least half."""
    kept = [True] * len(text)
    for dropped in re.finditer("<nav>.*?</nav>", text, re.DOTALL):
        kept[slice(*dropped.span())] = [False] * len(dropped[0])
    only = [part.span() for part in re.finditer("<(main|article)>.*?</\\1>", text, re.DOTALL)]
    return [keeps and (not only or any(start <= at < end for start, end in only)) for at, keeps in enumerate(kept)]


def without_markup(text, options):
    at, found = 0, []
    if options.get("markup") == "main":
        kept, pieces = main_part(text), without_markup(text, {"markup": "html"})
        main = [piece for piece in pieces if kept[piece[2] - 1]]
        return main if any(c > " " for c, _, _ in main) else pieces
    if options.get("markup") == "html":
        for markup in MARKUP.finditer(text):
            start, end = markup.span()
            found += ((text[i], i, i + 1) for i in range(at, start))
            if text[start] == "&":
                found += ((c, start, end) for c in html.unescape(markup[0]))
            elif markup[1] in ("p", "br", "div", "li", "nav", "main", "article"):
                found.append(("\n", end, end))
            at = end
    return found + [(text[i], i, i + 1) for i in range(at, len(text))]


def line_break(pieces, at):
    """Where the line break ends that starts here."""
    found = BREAK.match("".join(c for c, _, _ in pieces[at:]))
    return at + found.end() if found else at


def normal_form(pieces, options):
    clusters, at = [], 0
    while at < len(pieces):
        c, start, end = pieces[at]
        at += 1
        if c in "\u00ad\u2010" and line_break(pieces, at) > at:
            at = line_break(pieces, at)
            c, end = c if c == "\u00ad" else "", pieces[at - 1][2]
        if clusters and c and not is_boundary(c):
            clusters[-1] = clusters[-1][0] + c, clusters[-1][1], end
        else:
            clusters.append((c, start, end))
    normal = []
    for cluster, start, end in clusters:
        form, before = "".join(c for c in cluster if category(c) != "Cf"), None
        while form != before:
            before, form = form, normalize("NFKC", form)
            form = form.casefold() if options.get("case_fold", True) else form
            form = "".join(str(decimal(c)) if category(c) == "Nd" else c for c in form if ord(c) not in POINTS)
        normal += ((c, start, end) for c in form)
    return normal


def kind(c):
    if category(c)[0] in "LN":
        return "spaceless" if category(c) in ("Lo", "Lm", "Nl") and name(c).startswith(SPACELESS) else "word"
    return "mark" if category(c)[0] == "M" else "separator"


def without_accents(pieces):
    found, is_after_letter = [], False
    for c, start, end in pieces:
        if is_after_letter and kind(c) == "mark":
            found[-1] = *found[-1][:2], end
            continue
        is_after_letter = category(c)[0] == "L" and name(c).startswith(WITH_ACCENTS)
        found.append((normalize("NFD", c)[0] if is_after_letter else c, start, end))
    return found


def without_hyphens(pieces):
    found, at, copied = [], 0, 0
    is_letter = lambda c: kind(c) == "word" and not c.isdigit()  # noqa: E731
    while at < len(pieces):
        after = line_break(pieces, at + 1)
        is_word = at > copied and (is_letter(pieces[at - 1][0]) or kind(pieces[at - 1][0]) == "mark")
        before_letter = after < len(pieces) and is_letter(pieces[after][0])
        if pieces[at][0] == "-" and after > at + 1 and is_word and before_letter:
            at = copied = after
        else:
            found.append(pieces[at])
            at += 1
    return found


def without_urls(pieces):
    text, found, at = "".join(c for c, _, _ in pieces), [], 0
    while at < len(text):
        is_www = text[at : at + 4].lower() == "www." and not (
            found and found[-1][0].isascii() and found[-1][0].isalnum()
        )
        scheme = 0
        if text.startswith("://", at):
            before = re.search(r"[a-zA-Z0-9+.-]*\Z", "".join(c for c, _, _ in found))[0]
            scheme = len(before) - next((i for i, c in enumerate(before) if c.isalpha()), len(before))
        if not is_www and not scheme:
            found.append(pieces[at])
            at += 1
            continue
        del found[len(found) - scheme :]
        found.append((" ", 0, 0))
        while at < len(text) and text[at] in IN_URL:
            at += 1
    return found


def tokens(text, options):
    """The tokens of a text: each with whether it is spaceless, and where it starts and ends."""
    ignored = options.get("ignore", ())
    pieces = normal_form(without_markup(text, options), options)
    pieces = without_hyphens(pieces) if "hyphenation" in ignored else pieces
    pieces = without_accents(pieces) if "accents" in ignored else pieces
    pieces = without_urls(pieces) if "urls" in ignored else pieces
    found, touching = [], None
    for c, start, end in pieces:
        kind_of_c = kind(c)
        if kind_of_c == "mark" and touching or kind_of_c == touching == "word":
            found[-1][0] += c
            found[-1][3] = end
            found[-1][4].append([c, True, start, end])
        elif kind_of_c in ("word", "spaceless"):
            found.append([c, kind_of_c == "spaceless", start, end, [[c, True, start, end]]])
            touching = kind_of_c
        else:
            touching = None
    is_number = lambda token: any(category(c) == "Nd" for c in token)  # noqa: E731
    is_id = lambda token: re.fullmatch(r"(0x)?[0-9a-fA-F]{8,}|[0-9]{6,}", token)  # noqa: E731
    ignored_classes = [is_in_class for name, is_in_class in (("numbers", is_number), ("ids", is_id)) if name in ignored]
    found = [token for token in found if not any(is_in_class(token[0]) for is_in_class in ignored_classes)]
    if options.get("tokens") == "chars":
        return [character for token in found for character in token[4]]
    return [token[:4] for token in found]


def tiles(content, clue):
    """Greedy string tiling: the longest runs first, of these the first of the content, then of the clue."""
    content, clue = [[tuple(token[:2]) for token in text] for text in (content, clue)]
    weight = lambda run: sum(LETTER if spaceless else WORD for _, spaceless in run)  # noqa: E731
    least, found = min(RUN, weight(clue)), []
    while True:
        best, below = (0, 0, 0), [0] * (len(clue) + 1)
        for i in range(len(content) - 1, -1, -1):
            lengths = [0] * (len(clue) + 1)
            for j in range(len(clue) - 1, -1, -1):
                if content[i] == clue[j]:
                    lengths[j] = below[j + 1] + 1
                    if weight(content[i : i + lengths[j]]) >= least:
                        best = max(best, (lengths[j], -i, -j))
            below = lengths
        length, i, j = best[0], -best[1], -best[2]
        if not length:
            return sorted(found)
        found.append((i, j, length))
        content[i : i + length] = [(None, 0)] * length
        clue[j : j + length] = [(False, 0)] * length


def matches(content, clue, options):
    content, clue = tokens(content, options), tokens(clue, options)
    joined = []
    for i, j, length in tiles(content, clue):
        gaps = joined and (i - joined[-1][1], j - joined[-1][3])
        if gaps and 0 <= gaps[1] and max(gaps) <= 2:
            first, _, of_clue, _, words, changed = joined[-1]
            joined[-1] = first, i + length, of_clue, j + length, words + length, changed + max(gaps)
        else:
            joined.append((i, i + length, j, j + length, length, 0))
    coverage = sum(one[4] for one in joined) / len(clue) if clue else None
    place = lambda text, start, end: (text[start][2], text[end - 1][3])  # noqa: E731
    return coverage, [[*place(content, a, b), *place(clue, c, d), *rest] for a, b, c, d, *rest in joined]


def computed(entry):
    options = entry.get("options", {})
    coverage, found = matches(entry["content"], entry["clue"], options)
    entry |= {"coverage": coverage, "matches": found}
    # A shorter clue is an error, and no text with a longer run is missed.
    is_certain = coverage and (coverage < 0.6 or any(words >= 13 and not changed for *_, words, changed in found))
    return entry | {"contains": coverage >= 0.6} if is_certain and len(tokens(entry["clue"], options)) >= 6 else entry


if __name__ == "__main__":
    file = Path(__file__).with_suffix(".jsonl")
    entries = [computed(json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]
    file.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
