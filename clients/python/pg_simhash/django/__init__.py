"""Near-duplicate search with Django: a field, expressions, a lookup, indexes, and a constraint for forms.

There is nothing to add to INSTALLED_APPS. Models, queries and migrations import from this package::

    from pg_simhash.django import NoNearDuplicate, band_indexes

The page docs/frameworks/django.md shows how the parts work together.
"""

from pg_simhash.errors import near_duplicate

from .constraints import NoNearDuplicate
from .expressions import HammingDistance, Resemblance, SimHash, SimHashBand, SimHashBlock, SimHashSize
from .fields import FingerprintField
from .indexes import band_indexes, block_indexes
from .lookups import NearFingerprint, NearText

__all__ = [
    "FingerprintField",
    "HammingDistance",
    "NearFingerprint",
    "NearText",
    "NoNearDuplicate",
    "Resemblance",
    "SimHash",
    "SimHashBand",
    "SimHashBlock",
    "SimHashSize",
    "band_indexes",
    "block_indexes",
    "near_duplicate",
]
