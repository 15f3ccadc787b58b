"""Indexes on the blocks of a fingerprint."""

from collections.abc import Sequence
from typing import Any

from django.db.models import F, Index

from .expressions import SimHashBlock


def simhash_indexes(
    fingerprint: str, *, name: str, size: Any = None, blocks: int = 4, scope: Sequence[str] = ()
) -> list[Index]:
    """The block indexes of a fingerprint field, for ``Meta.indexes``::

        indexes = [*simhash_indexes("fingerprint", name="article_simhash", size=SimHashSize("body"))]

    The name of block 0 is ``name`` with ``_0``, and so on; Django allows 30 characters. ``blocks``, 2 to 8, is the
    layout. With ``scope=["tenant"]``, the indexes serve searches within one tenant. With the ``size`` of the text, an
    expression or the name of a field, searches that compare texts read only the entries of texts of similar sizes.

    They are ordinary indexes of Django: makemigrations sees changes, and ``AddIndexConcurrently`` of
    ``django.contrib.postgres`` builds one while the table is in use.
    """
    after = [] if size is None else [F(size) if isinstance(size, str) else size]
    return [
        Index(
            *(F(field) for field in scope),
            SimHashBlock(fingerprint, block, blocks),
            *after,
            name=f"{name}_{block}",
            include=[fingerprint],
        )
        for block in range(blocks)
    ]
