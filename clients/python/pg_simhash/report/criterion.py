"""What makes a row a near-duplicate: the limits of a guard."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

RESEMBLANCE = 0.84
DISTANCE = 6
DISTANCE_BY_RADII = 10
DISTANCE_ALONE = 3

PREFERRED_BLOCKS = (4, 3, 5, 6, 2, 7, 8)
"""Numbers of blocks, in the order in which a guard takes a table's layouts for its default radii."""


@dataclass(frozen=True)
class Criterion:
    max_distance: int
    resemblance: float | None = None
    """None if the texts do not matter."""
    radii: tuple[int, ...] = ()
    """Empty if all rows within the distance are near."""
    options: str | None = None
    """The options with which texts are compared, as JSON; None if they are those of the fingerprint."""
    among: str | None = None
    """A condition on the earlier row, in SQL that the user of the command has written; None if all rows count."""

    @classmethod
    def of_guard(cls, document: dict[str, Any]) -> Criterion:
        """Reads the criterion of a guard, as simhash_guards() lists it."""
        options = document.get("options")
        return cls(
            max_distance=document["max_distance"],
            resemblance=document.get("resemblance"),
            radii=tuple(document.get("radii", ())),
            options=None if options is None else json.dumps(options, ensure_ascii=False),
        )


def parse_radii(text: str) -> tuple[int, ...]:
    return tuple(int(radius) for radius in text.split(",")) if text else ()


def default_radii(blocks: int) -> tuple[int, ...]:
    """The radii of a guard that is given none: 1, or 0 if that would read a tenth of the rows."""
    widths = [64 // blocks + (block < 64 % blocks) for block in range(blocks)]
    share = sum((width + 1) / 2**width for width in widths)
    return (1 if share < 0.1 else 0,) * blocks
