"""The command ``python -m pg_simhash report``."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from .difference import visible


def main(argv: list[str]) -> int:
    arguments = argument_parser().parse_args(argv)
    # --help does not need the packages of the extra.
    try:
        import psycopg

        from .page import make_page
        from .table import ReportError
    except ImportError as error:
        if error.name not in ("jinja2", "psycopg"):
            raise
        return _fail(f"the report needs the package {error.name}", "install pg_simhash with its extra [report]")
    try:
        page = make_page(arguments)
    except ReportError as error:
        return _fail(str(error), error.hint)
    except psycopg.errors.InsufficientPrivilege as error:
        hint = "The report needs SELECT on the table: rights on some of its columns do not suffice."
        return _fail(error.diag.message_primary, hint)
    except psycopg.Error as error:
        return _fail(error.diag.message_primary or str(error), error.diag.message_hint)
    except UnicodeEncodeError as error:
        return _fail(f"an argument is no text: {ascii(error.object)}")
    except KeyboardInterrupt:
        _fail("interrupted")
        return 130
    # The page declares UTF-8, whatever the locale is.
    sys.stdout.buffer.write(f"{page}\n".encode())
    return 0


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pg_simhash report",
        description="Write a page about the near-duplicates of a table, as HTML, to the standard output. It reads a "
        "sample of the rows in one snapshot, with the rights of the user who connects, and changes nothing.",
    )
    parser.add_argument("database", help="as for psql: postgresql://host/name, or 'dbname=name'")
    parser.add_argument("table", help="a table with indexes of simhash_index, such as docs or archive.docs")
    parser.add_argument("column", help="the column of the texts that are indexed")
    parser.add_argument("--sample", type=_parse_count, default=2000, metavar="ROWS", help="how many rows are looked up")
    repeatable: dict[str, Any] = {"action": "append", "default": [], "metavar": "COLUMN"}
    parser.add_argument(
        "--scope",
        **repeatable,
        help="compare only rows with the same value in this column; may be repeated (default: that of the guard)",
    )
    parser.add_argument(
        "--order",
        metavar="COLUMN",
        help="a row is earlier if its value in this column is smaller, such as created_at (default: the primary key)",
    )
    parser.add_argument(
        "--label",
        **repeatable,
        help="name rows by this column, such as a title; may be repeated (default: the primary key)",
    )
    limits = parser.add_argument_group("limits", "The defaults are those of the table's guard, or of a new guard.")
    limits.add_argument(
        "--criterion",
        type=_parse_criterion,
        metavar="JSON",
        help="what a near-duplicate is, as in SQL, such as '{\"resemblance\": 0.9}'; other keys keep their defaults",
    )
    limits.add_argument(
        "--among",
        metavar="CONDITION",
        help="in SQL, on the columns of the earlier row: only rows for which it holds count",
    )
    return parser


def _parse_count(text: str) -> int:
    count = int(text) if text.isascii() and text.isdigit() else 0
    if not 1 <= count <= 1_000_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 1000000")
    return count


def _parse_criterion(text: str) -> dict[str, Any]:
    try:
        criterion = json.loads(text)
    except (ValueError, RecursionError):
        criterion = None
    if not isinstance(criterion, dict):
        raise argparse.ArgumentTypeError(f"{text!r} is not a JSON object")
    return criterion


def _fail(message: str | None, hint: str | None = None) -> int:
    """Prints an error; returns the exit status of the command."""
    # Names in a message may be hostile: they must not control the terminal.
    text = visible(f"error: {message}" + (f"\nhint: {hint}" if hint else ""))
    print(text, file=sys.stderr)
    return 1
