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

    @classmethod
    def parse(cls, argument: str) -> Criterion:
        """Reads the argument of a guard's trigger: ``3``, or ``10 radii 1,1,1,1 resemblance 0.89 options {..}``.

        The options are left out: the report compares texts with those of the fingerprint.
        """
        distance, *rest = argument.partition(" options ")[0].split()
        named = dict(zip(rest[::2], rest[1::2]))
        resemblance = named.get("resemblance")
        return cls(int(distance), float(resemblance) if resemblance else None, parse_radii(named.get("radii", "")))


def parse_radii(text: str) -> tuple[int, ...]:
    return tuple(int(radius) for radius in text.split(",")) if text else ()


def default_radii(blocks: int) -> tuple[int, ...]:
    """The radii of a guard that is given none: 1, or 0 if that would read a tenth of the rows."""
    widths = [64 // blocks + (block < 64 % blocks) for block in range(blocks)]
    share = sum((width + 1) / 2**width for width in widths)
    return (1 if share < 0.1 else 0,) * blocks
