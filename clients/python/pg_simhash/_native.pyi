from collections.abc import Iterable
from typing import Any, Protocol, TypeAlias, overload, type_check_only

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Unpack

from pg_simhash._feature import Difference, Feature
from pg_simhash._options import Options

__all__ = [
    "__version__",
    "block",
    "clusters",
    "containment",
    "contains",
    "coverage",
    "difference",
    "features",
    "format",
    "hamming",
    "pairs",
    "passages",
    "probes",
    "resemblance",
    "similarity",
    "simhash",
    "simhash_of_features",
    "simhash_wide",
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
def simhash_wide(text: str | None, /, words: int = 2, **options: Unpack[Options]) -> list[int] | None: ...
def simhash_of_features(features: Iterable[str], /, weights: Iterable[float] | None = None) -> int | None: ...
def features(text: str, /, **options: Unpack[Options]) -> list[Feature]: ...
def resemblance(a: str, b: str, /, **options: Unpack[Options]) -> float | None: ...
def containment(a: str, b: str, /, **options: Unpack[Options]) -> float | None: ...
def passages(text: str, /, **options: Unpack[Options]) -> list[int]: ...
def coverage(clue: str, text: str, /, **options: Unpack[Options]) -> float | None: ...
def contains(text: str, clue: str, /, share: float = 0.8, **options: Unpack[Options]) -> bool: ...
def difference(a: str, b: str, /, **options: Unpack[Options]) -> list[Difference]: ...
@overload
def hamming(a: int, b: int, /) -> int: ...
@overload
def hamming(a: NDArray[np.int64], b: NDArray[np.int64] | int, /) -> NDArray[np.int32]: ...
@overload
def hamming(a: int, b: NDArray[np.int64], /) -> NDArray[np.int32]: ...
@overload
def similarity(a: int, b: int, /) -> float: ...
@overload
def similarity(a: NDArray[np.int64], b: NDArray[np.int64] | int, /) -> NDArray[np.float64]: ...
@overload
def similarity(a: int, b: NDArray[np.int64], /) -> NDArray[np.float64]: ...
def block(fingerprint: int, block: int, blocks: int = 4) -> int: ...
def probes(fingerprint: int, block: int, blocks: int, max_distance: int) -> list[int]: ...
def pairs(
    fingerprints: _Fingerprints, max_distance: int = 3
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]: ...
def clusters(
    fingerprints: _Fingerprints,
    max_distance: int | None = None,
    *,
    texts: _Texts | None = None,
    resemblance: float = 0.84,
    radii: Iterable[int] = (1, 1, 1, 1),
    **options: Unpack[Options],
) -> NDArray[np.int64]: ...
def format() -> int: ...
