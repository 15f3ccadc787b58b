"""Passages in plain Python: a second implementation, written from what simhash/src/within/passages.rs says.

It computes the golden vectors of passages: `python passages.py` writes them into each line of golden.jsonl that has
"passages": those whose tokens matches.py knows. Needs the package xxhash from PyPI.
"""

import json
from pathlib import Path

from bands import text_of, xxh3
from matches import tokens


def runs(found):
    """The runs of a text: the number of tokens, and the hash."""
    of_tokens = [token[:2] for token in found]
    lengths = []
    for start, (_, spaceless) in enumerate(of_tokens):
        length = 5 if spaceless else 3 if sum(len(token) for token, _ in of_tokens[start : start + 3]) >= 13 else 4
        lengths.append(length if start + length <= len(of_tokens) else 0)
    if of_tokens and not any(lengths):
        lengths = [len(of_tokens)]
    hashes = [xxh3(token.encode()).to_bytes(8, "little") for token, _ in of_tokens]
    return [(n, xxh3(b"".join(hashes[start : start + n]))) for start, n in enumerate(lengths) if n]


def passages(found):
    of_text = runs(found)
    count = len(of_text)
    selected = []
    for start in range(max(1, count - 7) if count else 0):
        window = [run for run in range(start, min(start + 9, count)) if run < start + 8 or of_text[run][0] != 4]
        selected.append(min(window, key=lambda run: (of_text[run][1], -run)))
    for low, high in zip([-1, *selected], [*selected, count], strict=True):
        if high - low > 5:
            selected.append(low + (high - low) // 2)
    hashes = {of_text[run][1] for run in selected}
    return sorted(number - (number >> 63 << 64) for number in hashes)


def computed(entry):
    options = entry.get("options", {})
    return entry | {"passages": passages(tokens(text_of(entry), options))} if "passages" in entry else entry


if __name__ == "__main__":
    file = Path(__file__).with_name("golden.jsonl")
    entries = [computed(json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]
    file.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
