"""Near texts, by the Python package pg_simhash."""

from collections import defaultdict
from itertools import combinations

import pg_simhash

NEAR, MAX_DISTANCE = 0.84, 20


def near(texts, **options):
    """The pairs of keys whose texts are near, each in order."""
    keys_by_band = defaultdict(set)
    for key, text in texts.items():
        for number, band in enumerate(pg_simhash.bands(text, **options) or []):
            keys_by_band[number, band].add(key)
    pairs = {pair for keys in keys_by_band.values() for pair in combinations(sorted(keys), 2)}
    fingerprints = {key: pg_simhash.simhash(text, **options) for key, text in texts.items()}
    return {
        (a, b)
        for a, b in pairs
        if pg_simhash.hamming(fingerprints[a], fingerprints[b]) <= MAX_DISTANCE
        and pg_simhash.resemblance(texts[a], texts[b], **options) >= NEAR
    }
