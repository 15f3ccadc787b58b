"""What makes a row a near-duplicate: the limits of a guard."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

RESEMBLANCE = 0.84
DISTANCE = 6
DISTANCE_BY_RADII = 10
DISTANCE_ALONE = 3

PREFERRED_BLOCKS = (4, 3, 5, 6, 2, 7, 8)
"""Numbers of blocks, in the order in which a guard takes a table's layouts for its default radii."""

FLIPPED_BLOCKS = range(2, 7)
"""Numbers of blocks that have default flips."""


@dataclass(frozen=True)
class Criterion:
    max_distance: int
    resemblance: float | None = None
    """None if the texts do not matter."""
    radii: tuple[int, ...] = ()
    """Empty if all rows within the distance are near."""
    flips: tuple[int, ...] | None = None
    """Among how many bits of a block a search flips one, two, ..; None for the default."""
    options: str = "{}"
    """The options with which texts are compared, as JSON."""
    among: str | None = None
    """A condition on the earlier row, in SQL that the user of the command has written; None if all rows count."""

    @classmethod
    def read(
        cls, document: dict[str, Any], radii_of_table: Callable[[], tuple[int, ...]], among: str | None
    ) -> Criterion:
        """Reads a valid document, as a guard reads it."""
        options = dict(document)
        resemblance = options.pop("resemblance", RESEMBLANCE)
        radii = options.pop("radii", None)
        flips = options.pop("flips", None)
        if radii is None and resemblance is not None:
            # Flips need radii. Without any layout, they are those of the preferred one.
            radii = radii_of_table() or (default_radii(PREFERRED_BLOCKS[0]) if flips else ())
        radii = radii or ()
        distance = DISTANCE_ALONE if resemblance is None else DISTANCE_BY_RADII if radii else DISTANCE
        max_distance = options.pop("max_distance", distance)
        flips = None if flips is None else tuple(flips)
        return cls(max_distance, resemblance, tuple(radii), flips, json.dumps(options, ensure_ascii=False), among)

    @property
    def has_flips(self) -> bool:
        """Whether a block may differ in no other bits than a search flips."""
        if self.resemblance is None or max(self.radii, default=0) < 1:
            return False
        return max(self.radii) == 1 and len(self.radii) in FLIPPED_BLOCKS if self.flips is None else bool(self.flips)

    def json(self) -> str:
        """The criterion as a document for simhash_guard and simhash_near."""
        limits: dict[str, Any] = {
            "max_distance": self.max_distance,
            "radii": self.radii,
            "resemblance": self.resemblance,
        }
        if self.flips is not None:
            limits["flips"] = self.flips
        return json.dumps({**limits, **json.loads(self.options)}, ensure_ascii=False)


def laid_over(given: dict[str, Any], default: dict[str, Any]) -> dict[str, Any]:
    """One document with the keys of both. The default's flips belong to its radii, and to comparing texts."""
    if "radii" in given or given.get("resemblance", RESEMBLANCE) is None:
        default = {key: value for key, value in default.items() if key != "flips"}
    return {**default, **given}


def default_radii(blocks: int) -> tuple[int, ...]:
    """The radii of a guard that is given none: 1, or 0 in seven and eight blocks, where 1 would read too many rows."""
    return (0 if blocks >= 7 else 1,) * blocks
