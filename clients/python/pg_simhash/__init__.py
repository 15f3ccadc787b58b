"""Near-duplicate text: bands and 64-bit SimHash fingerprints, the same bits as those of the PostgreSQL extension
pg_simhash.

The functions have the names that they have in SQL, without the prefix simhash_. Most return None for a text without a
word.

A fingerprint is a signed integer of 64 bits, as PostgreSQL's bigint. Subtract 2**64 from an unsigned one of 2**63 or
more. Fingerprints of different formats must not be compared. simhash takes one text, or many in one call: an
iterable of str or None (the result is a list), a NumPy array (a masked array of int64), or a Series of pandas (a Series
of Int64). Pass the column, not a list of its values, which pandas converts to float64 if it has None: that loses the
last bits.

>>> import numpy
>>> texts = ["one two three four", "five six seven eight", "ONE two, three four", None]
>>> fingerprints = simhash(numpy.array(texts, dtype=object))
>>> a, b, distance = pairs(fingerprints)
>>> a.tolist(), b.tolist(), distance.tolist()
([0], [2], [0])
>>> clusters(fingerprints).tolist()
[0, 1, 0, -1]

pairs, clusters, text_clusters and duplicate_of return NumPy arrays, and need the extra numpy.

Memory: pairs and clusters need 40 bytes for each row, and pairs 20 for each pair; text_clusters and duplicate_of 90 to
120 for each text, and up to 256 MB.

Threads: the GIL is released for texts of 4 kB and more, lists and columns, pairs and clusters. Ctrl-C ends such a call.

Errors: an unknown option and an object of a wrong type are a TypeError, a value out of range is a ValueError, an
integer beyond 64 bits is an OverflowError, and a str with lone surrogates is a UnicodeEncodeError. The messages are
those of SQL. NUL, which PostgreSQL stores in no text, is a separator.
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
