"""Indexes on the blocks of a fingerprint."""

from collections.abc import Sequence

from django.db.models import F, Index

from .expressions import SimHashBlock


def simhash_indexes(
    fingerprint: str, *, name: str, blocks: int = 4, scope: Sequence[str] = (), covering: bool = True
) -> list[Index]:
    """The block indexes of a fingerprint field, for ``Meta.indexes``::

        indexes = [*simhash_indexes("fingerprint", name="article_simhash")]

    The name of block 0 is ``name`` with ``_0``, and so on; Django allows 30 characters. ``blocks``, 2 to 8, is the
    layout. With ``scope=["tenant"]``, the indexes serve searches within one tenant. Covering indexes include the
    fingerprint, so that a search fetches only rows that are near.

    They are ordinary indexes of Django: makemigrations sees changes, and ``AddIndexConcurrently`` of
    ``django.contrib.postgres`` builds one while the table is in use.
    """
    return [
        Index(
            *(F(field) for field in scope),
            SimHashBlock(fingerprint, block, blocks),
            name=f"{name}_{block}",
            include=[fingerprint] if covering else None,
        )
        for block in range(blocks)
    ]
