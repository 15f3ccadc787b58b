"""Reads the table, and writes the page to the standard output."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import psycopg

from . import sample
from .page import render
from .summary import summarize
from .table import ReportError, find


def write(given: argparse.Namespace) -> int:
    """The status of the command with these arguments."""
    try:
        page = _page(given)
    except ReportError as error:
        print(f"error: {error}\nhint: {error.hint}", file=sys.stderr)
        return 1
    except psycopg.Error as error:
        hint = error.diag.message_hint
        if isinstance(error, psycopg.errors.InsufficientPrivilege):
            hint = "The report needs SELECT on the table: rights on some of its columns do not suffice."
        print(f"error: {error.diag.message_primary or error}", file=sys.stderr)
        if hint:
            print(f"hint: {hint}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nerror: interrupted", file=sys.stderr)
        return 130
    # The page says that it is UTF-8, whatever the locale is.
    sys.stdout.buffer.write(f"{page}\n".encode())
    return 0


def _page(given: argparse.Namespace) -> str:
    limits: dict[str, Any] = {name: getattr(given, name) for name in ("criterion", "among") if hasattr(given, name)}
    with psycopg.connect(
        given.database, client_encoding="UTF8", fallback_application_name="pg_simhash report"
    ) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        # Compiling costs more than it saves: each look-up is short.
        connection.execute("SET LOCAL jit = off")
        table = find(
            connection, given.table, given.column, given.fingerprint, given.scope, given.label, limits, given.dismissed
        )
        size = min(given.sample, table.rows)
        rows = _with_progress(sample.rows(table, given.sample), size)
        html = render(table, summarize(rows, table.criterion), given.pairs)
        connection.rollback()
    return html


def _with_progress(rows: Iterable[sample.Row], size: int) -> Iterator[sample.Row]:
    """Passes the rows on, and says how many there are: in one line of a terminal, else in a line for each tenth."""
    end = "\r" if sys.stderr.isatty() else "\n"
    step = max(size // (100 if sys.stderr.isatty() else 10), 1)
    count = 0
    for row in rows:
        yield row
        count += 1
        if count % step == 0 and count < size:
            print(f"looked up {count} of about {size} rows", file=sys.stderr, end=end, flush=True)
    print(f"looked up {count} rows; writing the page", file=sys.stderr)
