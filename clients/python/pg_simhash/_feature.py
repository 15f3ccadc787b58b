"""Features of texts."""

from typing import Literal, NamedTuple


class Feature(NamedTuple):
    """A feature of a text: its text, its weight, and its hash as a signed 64-bit integer."""

    feature: str
    weight: float
    hash: int


class Difference(NamedTuple):
    """A feature that only one of two texts has, "a" or "b", or that weighs more in it: its text, and by how much."""

    side: Literal["a", "b"]
    feature: str
    weight: float
