"""The command ``python -m pg_simhash report``."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any


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
    parser.add_argument(
        "--dismissed",
        metavar="TABLE",
        help="leave out the pairs of rows whose keys this table has in its columns a and b, in either order",
    )
    limits = parser.add_argument_group("limits", "The defaults are those of the table's guard, or of a new guard.")
    unset: Any = argparse.SUPPRESS
    limits.add_argument(
        "--criterion",
        type=_criterion,
        default=unset,
        metavar="JSON",
        help="what a near-duplicate is, as in SQL, such as '{\"resemblance\": 0.9}'; other keys keep their defaults",
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
    count = int(text) if text.isascii() and text.isdigit() else 0
    if not 1 <= count <= 1_000_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 1000000")
    return count


def _criterion(text: str) -> dict[str, Any]:
    try:
        criterion = json.loads(text)
    except ValueError:
        criterion = None
    if not isinstance(criterion, dict):
        raise argparse.ArgumentTypeError(f"{text!r} is not a JSON object")
    return criterion


def _among(text: str) -> str | None:
    return None if text == "none" else text
