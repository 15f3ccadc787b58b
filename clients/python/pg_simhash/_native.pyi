from collections.abc import Iterable, Iterator
from typing import Any, Protocol, TypeAlias, final, overload, type_check_only

import numpy as np
from numpy.typing import NDArray
from typing_extensions import CapsuleType, Unpack

from pg_simhash._feature import Difference, Feature
from pg_simhash._options import Options

__all__ = [
    "FingerprintArray",
    "__version__",
    "block",
    "clusters",
    "containment",
    "difference",
    "features",
    "format",
    "hamming",
    "pairs",
    "probes",
    "resemblance",
    "similarity",
    "simhash",
    "simhash_of_features",
    "simhash_wide",
]

__version__: str

@type_check_only
class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]: ...

@type_check_only
class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...

@final
class FingerprintArray:
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> int | None: ...
    def __iter__(self) -> Iterator[int | None]: ...
    def __arrow_c_schema__(self) -> CapsuleType: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[CapsuleType, CapsuleType]: ...

_Fingerprints: TypeAlias = NDArray[np.int64] | _ArrowArray | _ArrowStream | Iterable[int | None]
_Texts: TypeAlias = NDArray[Any] | _ArrowArray | _ArrowStream | Iterable[str | None]

# A str is an iterable of str too, and an array or a column may be one: the first overload that fits counts.
@overload
def simhash(text: None, /, **options: Unpack[Options]) -> None: ...
@overload
def simhash(text: str, /, **options: Unpack[Options]) -> int | None: ...  # type: ignore[overload-overlap]
@overload
def simhash(text: NDArray[Any], /, **options: Unpack[Options]) -> np.ma.MaskedArray[Any, np.dtype[np.int64]]: ...
@overload
def simhash(text: _ArrowArray | _ArrowStream, /, **options: Unpack[Options]) -> FingerprintArray: ...
@overload
def simhash(text: Iterable[str | None], /, **options: Unpack[Options]) -> list[int | None]: ...
def simhash_wide(text: str | None, /, words: int = 2, **options: Unpack[Options]) -> list[int] | None: ...
def simhash_of_features(features: Iterable[str], /, weights: Iterable[float] | None = None) -> int | None: ...
def features(text: str, /, **options: Unpack[Options]) -> list[Feature]: ...
def resemblance(a: str, b: str, /, **options: Unpack[Options]) -> float | None: ...
def containment(a: str, b: str, /, **options: Unpack[Options]) -> float | None: ...
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
    resemblance: float = 0.89,
    radii: Iterable[int] = (1, 1, 1, 1),
    **options: Unpack[Options],
) -> NDArray[np.int64]: ...
def format() -> int: ...
