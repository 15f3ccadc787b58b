"""Operations for migrations: ``op.simhash_attach("documents", "body")`` and so on.

Each calls the SQL function of its name, whose reference describes the arguments. What follows the source or the action
is passed by its name in SQL: ``blocks=2``, ``scope=["tenant_id"]``. ``schema`` is the schema of the table. All
operations can also be rendered as a script with ``--sql``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from alembic.operations import Operations
from sqlalchemy import TextClause, text
from sqlalchemy.dialects.postgresql.base import PGDialect

__all__ = ["SimhashOperations"]

# Names are part of the text of a statement, in which SQLAlchemy doubles percent signs where the driver needs it. With
# this style of parameters they are not doubled twice.
_PREPARER = PGDialect(paramstyle="named").identifier_preparer  # type: ignore[no-untyped-call]


class SimhashOperations:
    """The operations, as methods of ``op``."""

    @classmethod
    def create_simhash_extension(cls, operations: Operations, *, schema: str | None = None) -> None:
        """Creates the extension in the database if it is not there, in ``schema`` or else the first of the search path.

        Fingerprints and searches name the extension's functions without a schema, so the schema has to be on the
        search path of the application.
        """
        in_schema = f" SCHEMA {_PREPARER.quote(schema)}" if schema is not None else ""
        operations.execute(_statement(f"CREATE EXTENSION IF NOT EXISTS pg_simhash{in_schema}"))

    @classmethod
    def drop_simhash_extension(cls, operations: Operations) -> None:
        """Drops the extension. It is an error if a table still uses it."""
        operations.execute(_statement("DROP EXTENSION pg_simhash"))

    @classmethod
    def simhash_attach(
        cls, operations: Operations, table_name: str, source: str, *, schema: str | None = None, **arguments: Any
    ) -> None:
        """Adds a fingerprint column, its blocks and their indexes to a table, which it locks and rewrites.

        ``op.simhash_detach`` is the inverse. For a table in use, see ``op.simhash_build_indexes``.
        ``columns=False`` adds nothing to the table, and makes indexes on expressions alone.
        """
        operations.execute(_statement(_select("simhash_attach", schema, table_name, source, **arguments)))

    @classmethod
    def simhash_detach(
        cls, operations: Operations, table_name: str, *, schema: str | None = None, **arguments: Any
    ) -> None:
        """Removes what ``simhash_attach`` and ``simhash_build_indexes`` have made."""
        operations.execute(_statement(_select("simhash_detach", schema, table_name, **arguments)))

    @classmethod
    def simhash_build_indexes(
        cls, operations: Operations, table_name: str, source: str, *, schema: str | None = None, **arguments: Any
    ) -> None:
        """Builds the indexes of ``op.simhash_attach(.., columns=False)`` with ``CREATE INDEX CONCURRENTLY``.

        ``op.simhash_detach`` is the inverse. The operation runs the commands that ``simhash_index_commands`` returns,
        outside of a transaction, in an ``autocommit_block``: what the migration did before is committed. If it was
        interrupted, repeat the migration: it completes what is left.

        The commands depend on the table, so a script of ``--sql`` has the query with ``\\gexec``, with which psql runs
        them. Other programs than psql cannot run such a script.
        """
        query = _select("simhash_index_commands", schema, table_name, source, **arguments)
        context = operations.get_context()
        with context.autocommit_block():
            if context.as_sql:
                context.impl.static_output(
                    f"-- for psql, which runs the commands that this query returns\n{query} \\gexec"
                )
            else:
                for command in operations.get_bind().execute(_statement(query)).scalars().all():
                    operations.execute(_statement(command))

    @classmethod
    def simhash_guard(
        cls,
        operations: Operations,
        table_name: str,
        action: str = "reject",
        *,
        schema: str | None = None,
        **arguments: Any,
    ) -> None:
        """Rejects, skips or marks near-duplicates from now on. A guard that the table has is replaced.

        ``op.simhash_unguard`` is the inverse.
        """
        operations.execute(_statement(_select("simhash_guard", schema, table_name, action, **arguments)))

    @classmethod
    def simhash_unguard(cls, operations: Operations, table_name: str, *, schema: str | None = None) -> None:
        """Removes the guard of a table."""
        operations.execute(_statement(_select("simhash_unguard", schema, table_name)))


for _name in (
    "create_simhash_extension",
    "drop_simhash_extension",
    "simhash_attach",
    "simhash_detach",
    "simhash_build_indexes",
    "simhash_guard",
    "simhash_unguard",
):
    Operations.register_operation(_name)(SimhashOperations)


def _statement(sql: str) -> TextClause:
    """SQL without parameters: a colon in a name is not one."""
    return text(sql.replace(":", "\\:"))


def _select(function: str, schema: str | None, table: str, *positional: str, **named: Any) -> str:
    """A call of an SQL function on a table. A literal of type regclass is an SQL name."""
    names = [_PREPARER.quote(name) for name in (schema, table) if name is not None]
    arguments = [_literal(value) for value in (".".join(names), *positional)]
    arguments += [f"{name} => {_literal(value)}" for name, value in named.items()]
    return f"SELECT {function}({', '.join(arguments)})"


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, Mapping):
        return _literal(json.dumps(value, ensure_ascii=False))
    if isinstance(value, str):
        # Strings are standard-conforming, so backslashes need no escape.
        return "'" + value.replace("'", "''") + "'"
    return f"ARRAY[{', '.join(_literal(item) for item in value)}]::text[]"
