"""The options of a fingerprint and of comparing texts."""

from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict


class Options(TypedDict, total=False):
    """Keyword arguments of simhash() and other functions, and the keys of the options document in SQL."""

    tokens: Literal["words", "chars"]
    ngram: int
    weight: Literal["set", "log", "tf"]
    weights: Mapping[str, float]
    case_fold: bool
    seed: int
    markup: Literal["html", "main"]
    ignore: Sequence[Literal["numbers", "ids", "urls", "accents", "hyphenation"]]
    same: Sequence[str]


class Criterion(Options, total=False):
    """Keyword arguments of near(), text_clusters() and duplicate_of(), and the keys of a criterion for texts in SQL."""

    resemblance: float
    bands: int


def plain(value: object) -> object:
    """A mapping or a sequence as json.dumps writes it."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return list(value)
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
