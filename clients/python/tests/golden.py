"""Reads the golden vectors of the crate simhash."""

import json
from pathlib import Path

FOLDER = Path(__file__).parents[3] / "simhash" / "tests" / "golden"


def read_entries(name):
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def text_of(entry):
    """The text of an entry: literal, a repeated piece, or a piece that is repeated with the numbers from 0 in it."""
    if "repeat" in entry:
        piece, count = entry["repeat"]
        return piece * count
    if "numbered" in entry:
        piece, count = entry["numbered"]
        return "".join(piece.replace("{}", str(number)) for number in range(count))
    return entry["text"]
