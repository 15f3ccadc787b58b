"""What type checkers infer. mypy checks this file; nothing runs it."""

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import pg_simhash
from pg_simhash import Difference, Feature, Match, Options

options: Options = {"tokens": "chars", "ngram": 3}
fingerprints: NDArray[np.int64] = np.array([1, 2])
texts: NDArray[np.str_] = np.array(["text"])

assert_type(pg_simhash.simhash("text", **options), int | None)
assert_type(pg_simhash.simhash(None), None)
assert_type(pg_simhash.simhash(["text", None], seed=7), list[int | None])
assert_type(pg_simhash.simhash(texts), np.ma.MaskedArray[Any, np.dtype[np.int64]])
assert_type(pg_simhash.features("text", weights={"a": 0.5}), list[Feature])
assert_type(pg_simhash.resemblance("a", "b"), float | None)
assert_type(pg_simhash.near("a", "b", bands=8, resemblance=0.7, ngram=2), bool | None)
assert_type(pg_simhash.band("a", 63, ngram=2), int | None)
assert_type(pg_simhash.bands("a", 12), list[int] | None)
assert_type(pg_simhash.size("a"), int | None)
assert_type(pg_simhash.containment("a", "b", ngram=2), float | None)
assert_type(pg_simhash.passages("a", case_fold=False), list[int])
assert_type(pg_simhash.contains("a b c d", "a b c d", 0.5, ignore=["urls"]), bool)
assert_type(pg_simhash.coverage("a", "b"), float | None)
assert_type(pg_simhash.matches("a", "b"), list[Match])
assert_type(pg_simhash.difference("a", "b"), list[Difference])
assert_type(pg_simhash.hamming(1, 2), int)
assert_type(pg_simhash.clusters(fingerprints), NDArray[np.int64])
assert_type(pg_simhash.text_clusters(["a", None], resemblance=0.9), NDArray[np.int64])
assert_type(pg_simhash.duplicate_of(["a", None], resemblance=0.9), NDArray[np.int64])
assert_type(pg_simhash.pairs([1, None]), tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]])

pg_simhash.simhash("text", ngrams=3)  # type: ignore[call-overload]
pg_simhash.simhash("text", tokens="lines")  # type: ignore[call-overload]
pg_simhash.simhash(b"text")  # type: ignore[arg-type]
pg_simhash.hamming(None, 1)  # type: ignore[arg-type]
