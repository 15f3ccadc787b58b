"""Reads the error of a guard: which row the rejected one is near, and how near.

``near_duplicate`` takes the error of psycopg, or what SQLAlchemy, Django or asyncpg raise in its place. The module
imports none of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["NearDuplicate", "near_duplicate"]

_EXCLUSION_VIOLATION = "23P01"
_GUARD_NAME = "zzz_simhash_guard"


@dataclass(frozen=True)
class NearDuplicate:
    """The row that a rejected row is near.

    The server leaves out what the user may not read: see the section "What applications see" of docs/guard.md.
    """

    key: Mapping[str, Any] = field(default_factory=dict)
    """The primary key of the row, by the names of its columns. Integers are ``int``; values of other types are ``str``.
    Empty if the user may not read the key."""
    distance: int | None = None
    """The number of bits in which the fingerprints differ. None if the guard compares texts, or the user may not read
    the fingerprint."""
    resemblance: float | None = None
    """The resemblance of the texts, 0 to 1. None if the guard compares fingerprints, or the user may not read the
    text."""
    guard: str = _GUARD_NAME
    """The name of the guard, which is that of its trigger."""
    schema: str | None = None
    table: str | None = None


def near_duplicate(error: BaseException) -> NearDuplicate | None:
    """The row that a guard's error names. None if the error is not a guard's.

    For example::

        try:
            session.commit()
        except IntegrityError as error:
            near = near_duplicate(error)
            if near is None:
                raise
            print("is like document", near.key.get("id"))
    """
    for reason in _reasons(error):
        # psycopg has the fields of the report in `diag`, asyncpg in the error itself. The first error with one decides.
        report = getattr(reason, "diag", None) or reason
        for name in "datatype_name", "data_type_name":
            if hasattr(report, name):
                return _read(report, getattr(report, name))
    return None


def _reasons(error: BaseException) -> Iterator[BaseException]:
    """The error, and those that it wraps: SQLAlchemy has them in `orig`, Django and others in `__cause__`."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        reason = waiting.pop()
        if isinstance(reason, BaseException) and id(reason) not in seen:
            seen.add(id(reason))
            yield reason
            waiting += [reason.__cause__, getattr(reason, "orig", None)]


def _read(report: Any, data_type: str | None) -> NearDuplicate | None:
    if getattr(report, "sqlstate", None) != _EXCLUSION_VIOLATION:
        return None
    constraint = getattr(report, "constraint_name", None)
    near = _document(data_type)
    # The constraint of another exclusion violation has no data type.
    if near is None and constraint != _GUARD_NAME:
        return None
    near = near or {}
    return NearDuplicate(
        key=near.get("key", {}),
        distance=near.get("distance"),
        resemblance=near.get("resemblance"),
        guard=constraint or _GUARD_NAME,
        schema=getattr(report, "schema_name", None),
        table=getattr(report, "table_name", None),
    )


def _document(data_type: str | None) -> dict[str, Any] | None:
    """The JSON object that a guard's error has in place of the name of a data type; None without one."""
    try:
        document = json.loads(data_type or "")
    except ValueError:
        return None
    return document if isinstance(document, dict) else None
