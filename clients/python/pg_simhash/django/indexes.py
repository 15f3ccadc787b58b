"""Indexes on the bands of a text, and on the blocks of a fingerprint."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import F, Index

from .expressions import SimHash, SimHashBand, SimHashBlock, SimHashSize


def band_indexes(
    content: Any,
    *,
    name: str,
    options: Mapping[str, Any] | None = None,
    bands: int = 6,
    scope: Sequence[str] = (),
) -> list[Index]:
    """The indexes by which near texts are found, one for each band, for ``Meta.indexes``::

        indexes = [*band_indexes("body", name="article_body")]

    The content is the name of a field, or an expression of several. The name of band 0 is ``name`` with ``_0``, and so
    on; Django allows 30 characters. Six bands serve searches for a resemblance of 0.8 or more, 12 for 0.7, and 24 for
    0.6. With ``scope=["tenant"]``, the indexes serve searches within one tenant. ``options`` are those by which texts
    are compared; searches have them in their criterion.

    They are ordinary indexes of Django: makemigrations sees changes, and ``AddIndexConcurrently`` of
    ``django.contrib.postgres`` builds one while the table is in use.
    """
    # makemigrations writes the members of a dict sorted, and compares them in their order.
    options = json.loads(json.dumps(options, sort_keys=True))
    return [
        Index(
            *(F(field) for field in scope),
            SimHashBand(content, band, options),
            SimHashSize(content, options),
            SimHash(content, options),
            name=f"{name}_{band}",
        )
        for band in range(bands)
    ]


def block_indexes(fingerprint: str, *, name: str, blocks: int = 4, scope: Sequence[str] = ()) -> list[Index]:
    """The indexes by which near fingerprints are found, one for each block, for ``Meta.indexes``::

        indexes = [*block_indexes("fingerprint", name="photo_simhash")]

    ``blocks``, 2 to 8, is the layout. Names and ``scope`` are as for ``band_indexes``.
    """
    return [
        Index(
            *(F(field) for field in scope),
            SimHashBlock(fingerprint, block, blocks),
            F(fingerprint),
            name=f"{name}_{block}",
        )
        for block in range(blocks)
    ]
