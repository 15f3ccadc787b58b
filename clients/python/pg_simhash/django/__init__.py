"""Near-duplicate search with Django: a field, expressions, a lookup, indexes, and a constraint for forms.

There is nothing to add to INSTALLED_APPS. Models, queries and migrations import from this package::

    from pg_simhash.django import FingerprintField, SimHash, simhash_indexes

The page docs/frameworks/django.md shows how the parts work together.
"""

from pg_simhash.psycopg import near_duplicate

from .constraints import NoNearDuplicate
from .expressions import HammingDistance, Resemblance, SimHash, SimHashBlock, SimHashSize
from .fields import FingerprintField
from .indexes import simhash_indexes
from .lookups import Near, NearText

__all__ = [
    "FingerprintField",
    "HammingDistance",
    "Near",
    "NearText",
    "NoNearDuplicate",
    "Resemblance",
    "SimHash",
    "SimHashBlock",
    "SimHashSize",
    "near_duplicate",
    "simhash_indexes",
]
