"""The command ``python -m pg_simhash report``."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable
from typing import Any

from .criterion import parse_radii


def main(arguments: list[str]) -> int:
    given = _parser().parse_args(arguments)
    # The packages of the extra, which --help does not need.
    try:
        from .writing import write
    except ImportError as error:
        if error.name not in ("jinja2", "psycopg"):
            raise
        print(
            f"error: the report needs the package {error.name}\nhint: install pg_simhash with its extra [report]",
            file=sys.stderr,
        )
        return 1
    return write(given)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pg_simhash report",
        description="Write a page about the near-duplicates of a table, as HTML, to the standard output. It reads a "
        "sample of the rows in one snapshot, with the rights of the user who connects, and changes nothing.",
    )
    parser.add_argument("database", help="as for psql: postgresql://host/name, or 'dbname=name'")
    parser.add_argument("table", help="a table with fingerprints, such as docs or archive.docs")
    parser.add_argument("column", help="the column that its fingerprints are made from")
    parser.add_argument("--sample", type=_count, default=2000, metavar="ROWS", help="about how many rows are looked up")
    parser.add_argument("--pairs", type=_count, default=4, metavar="NUMBER", help="pairs on each side of a limit")
    parser.add_argument("--fingerprint", default="simhash", metavar="COLUMN", help="the fingerprint column")
    parser.add_argument(
        "--scope",
        action="append",
        metavar="COLUMN",
        help="compare only rows with the same value in this column; may be repeated (default: that of the guard)",
    )
    parser.add_argument(
        "--label",
        action="append",
        default=[],
        metavar="COLUMN",
        help="name rows by this column, such as a title; may be repeated (default: the primary key)",
    )
    limits = parser.add_argument_group("limits", "The defaults are those of the table's guard, or of a new guard.")
    unset: Any = argparse.SUPPRESS
    limits.add_argument("--max-distance", type=_distance, default=unset, metavar="BITS")
    limits.add_argument("--resemblance", type=_resemblance, default=unset, metavar="0..1", help="or none")
    limits.add_argument("--radii", type=_radii, default=unset, metavar="1,1,1,1", help="or none")
    limits.add_argument(
        "--options",
        type=_options,
        default=unset,
        metavar="JSON",
        help='compare texts with these options, such as \'{"same": ["numbers"]}\' (default: those of the fingerprint)',
    )
    limits.add_argument(
        "--among",
        type=_among,
        default=unset,
        metavar="CONDITION",
        help="in SQL, on the columns of the earlier row: only rows for which it holds count; or none",
    )
    return parser


def _count(text: str) -> int:
    return int(_number(text, int, 1, 1_000_000))


def _distance(text: str) -> int:
    return int(_number(text, int, 0, 64))


def _resemblance(text: str) -> float | None:
    return None if text == "none" else _number(text, float, 0, 1)


def _number(text: str, read: Callable[[str], float], least: int, most: int) -> float:
    try:
        number = read(text)
    except ValueError:
        number = math.nan
    if not least <= number <= most:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from {least} to {most}")
    return number


def _options(text: str) -> str:
    try:
        options = json.loads(text)
    except ValueError:
        options = None
    if not isinstance(options, dict):
        raise argparse.ArgumentTypeError(f"{text!r} is not a JSON object")
    return json.dumps(options)


def _among(text: str) -> str | None:
    return None if text == "none" else text


def _radii(text: str) -> tuple[int, ...]:
    try:
        return () if text == "none" else parse_radii(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of radii, such as 1,1,1,1") from None
