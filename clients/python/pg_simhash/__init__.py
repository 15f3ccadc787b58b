"""Near-duplicate text: bands and 64-bit SimHash fingerprints, the same bits as those of the PostgreSQL extension
pg_simhash.

The functions have the names that they have in SQL, without the prefix simhash_. A fingerprint is a signed 64-bit
integer, as PostgreSQL's bigint.
"""

from pg_simhash._native import (
    __version__,
    band,
    bands,
    clusters,
    containment,
    contains,
    coverage,
    difference,
    duplicate_of,
    features,
    format,
    hamming,
    matches,
    near,
    pairs,
    passages,
    resemblance,
    simhash,
    simhash_of_features,
    size,
    text_clusters,
)
from pg_simhash._options import Criterion, Options
from pg_simhash._results import Difference, Feature, Match

__all__ = [
    "Criterion",
    "Difference",
    "Feature",
    "Match",
    "Options",
    "__version__",
    "band",
    "bands",
    "clusters",
    "containment",
    "contains",
    "coverage",
    "difference",
    "duplicate_of",
    "features",
    "format",
    "hamming",
    "matches",
    "near",
    "pairs",
    "passages",
    "resemblance",
    "simhash",
    "simhash_of_features",
    "size",
    "text_clusters",
]
