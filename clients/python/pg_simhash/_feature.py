"""A feature of a text."""

from typing import NamedTuple


class Feature(NamedTuple):
    """A feature of a text: its text, its weight, and its hash as a signed 64-bit integer."""

    feature: str
    weight: float
    hash: int
