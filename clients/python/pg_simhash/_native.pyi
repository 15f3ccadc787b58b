from collections.abc import Iterable
from typing import Any, Protocol, TypeAlias, overload, type_check_only

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Unpack

from pg_simhash._feature import Difference, Feature
from pg_simhash._options import Criterion, Options

__all__ = [
    "__version__",
    "band",
    "bands",
    "clusters",
    "containment",
    "coverage",
    "difference",
    "features",
    "format",
    "hamming",
    "near",
    "pairs",
    "passages",
    "resemblance",
    "simhash",
    "simhash_of_features",
    "size",
]

__version__: str

@type_check_only
class _Series(Protocol):
    def isna(self) -> Any: ...
    def tolist(self) -> list[Any]: ...

_Fingerprints: TypeAlias = NDArray[np.int64] | _Series | Iterable[int | None]
_Texts: TypeAlias = NDArray[Any] | _Series | Iterable[str | None]

# A str is an iterable of str too, and an array or a column may be one: the first overload that fits counts.
@overload
def simhash(text: None, /, **options: Unpack[Options]) -> None: ...
@overload
def simhash(text: str, /, **options: Unpack[Options]) -> int | None: ...  # type: ignore[overload-overlap]
@overload
def simhash(text: NDArray[Any], /, **options: Unpack[Options]) -> np.ma.MaskedArray[Any, np.dtype[np.int64]]: ...
@overload
def simhash(text: _Series, /, **options: Unpack[Options]) -> Any: ...
@overload
def simhash(text: Iterable[str | None], /, **options: Unpack[Options]) -> list[int | None]: ...
def simhash_of_features(features: Iterable[str], /, weights: Iterable[float] | None = None) -> int | None: ...
def features(text: str, /, **options: Unpack[Options]) -> list[Feature]: ...
def band(text: str, band: int, /, **options: Unpack[Options]) -> int | None: ...
def bands(text: str, count: int = 6, /, **options: Unpack[Options]) -> list[int] | None: ...
def size(text: str, /, **options: Unpack[Options]) -> int | None: ...
def resemblance(a: str, b: str, /, **options: Unpack[Options]) -> float | None: ...
def near(a: str, b: str, /, **criterion: Unpack[Criterion]) -> bool | None: ...
def containment(a: str, b: str, /, **options: Unpack[Options]) -> float | None: ...
def passages(text: str, /, **options: Unpack[Options]) -> list[int]: ...
def coverage(clue: str, text: str, /, **options: Unpack[Options]) -> float | None: ...
def difference(a: str, b: str, /, **options: Unpack[Options]) -> list[Difference]: ...
def hamming(a: int, b: int, /) -> int: ...
def pairs(
    fingerprints: _Fingerprints, max_distance: int = 3
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]: ...
def clusters(
    fingerprints: _Fingerprints,
    max_distance: int | None = None,
    *,
    texts: _Texts | None = None,
    **criterion: Unpack[Criterion],
) -> NDArray[np.int64]: ...
def format() -> int: ...
