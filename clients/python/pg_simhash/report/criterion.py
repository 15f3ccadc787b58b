"""What makes a row a near-duplicate: the limits of a guard."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

LIMITS = ("max_distance", "radii", "flips", "resemblance")
"""The keys of a criterion that are no options of fingerprints."""


@dataclass(frozen=True)
class Criterion:
    limits: dict[str, Any]
    """As simhash_guards shows them: all that apply."""
    options: str = "{}"
    """The options with which texts are compared, as JSON."""
    among: str | None = None
    """A condition on the earlier row, in SQL that the user of the command has written; None if all rows count."""

    @classmethod
    def read(cls, document: dict[str, Any], among: str | None) -> Criterion:
        """Reads a complete document."""
        limits = {key: value for key, value in document.items() if key in LIMITS}
        options = {key: value for key, value in document.items() if key not in LIMITS}
        return cls(limits, json.dumps(options, ensure_ascii=False), among)

    @property
    def max_distance(self) -> int:
        distance: int = self.limits["max_distance"]
        return distance

    @property
    def resemblance(self) -> float | None:
        """None if the texts do not matter."""
        resemblance: float | None = self.limits["resemblance"]
        return resemblance

    @property
    def radii(self) -> list[int]:
        """Empty if all rows within the distance are near."""
        radii: list[int] = self.limits["radii"]
        return radii

    @property
    def has_flips(self) -> bool:
        """Whether a block may differ in no other bits than a search flips."""
        return bool(self.limits.get("flips"))

    def json(self) -> str:
        """The criterion as a document for simhash_guard and simhash_near."""
        return json.dumps({**self.limits, **json.loads(self.options)}, ensure_ascii=False)
