"""What makes a row a near-duplicate: the limits of a guard."""

from __future__ import annotations

from dataclasses import dataclass

RESEMBLANCE = 0.89
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
    """A condition on the earlier row, as SQL; None if all rows count."""

    @classmethod
    def parse(cls, argument: str, among: str | None = None) -> Criterion:
        """Reads the argument of a guard's trigger: ``3``, or ``10 radii 1,1,1,1 resemblance 0.89 options {..}``."""
        limits, _, options = argument.partition(" options ")
        distance, *rest = limits.split()
        named = dict(zip(rest[::2], rest[1::2]))
        resemblance = float(named["resemblance"]) if "resemblance" in named else None
        return cls(int(distance), resemblance, parse_radii(named.get("radii", "")), options or None, among)


def parse_radii(text: str) -> tuple[int, ...]:
    return tuple(int(radius) for radius in text.split(",")) if text else ()


def default_radii(blocks: int) -> tuple[int, ...]:
    """The radii of a guard that is given none: 1, or 0 if that would read a tenth of the rows."""
    widths = [64 // blocks + (block < 64 % blocks) for block in range(blocks)]
    share = sum((width + 1) / 2**width for width in widths)
    return (1 if share < 0.1 else 0,) * blocks
