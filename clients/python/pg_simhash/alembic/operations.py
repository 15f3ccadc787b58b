"""Operations for migrations: ``op.simhash_attach("documents", "body")`` and so on.

Each calls the SQL function of its name. The reference of the functions describes the arguments; only those that differ
from the defaults of SQL are passed on. ``schema`` is the schema of the table. All operations can also be rendered as a
script with ``--sql``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar

from alembic.autogenerate import renderers
from alembic.autogenerate.api import AutogenContext
from alembic.operations import MigrateOperation, Operations
from sqlalchemy import TextClause, text
from sqlalchemy.dialects.postgresql.base import PGDialect

__all__ = [
    "CreateSimhashExtensionOp",
    "DropSimhashExtensionOp",
    "SimhashAttachOp",
    "SimhashBuildIndexesOp",
    "SimhashDetachOp",
    "SimhashGuardOp",
    "SimhashUnguardOp",
]

# Names are part of the text of a statement, in which SQLAlchemy doubles percent signs where the driver needs it. With
# this style of parameters they are not doubled twice.
_PREPARER = PGDialect(paramstyle="named").identifier_preparer  # type: ignore[no-untyped-call]


class SimhashOp(MigrateOperation):
    """An operation that a migration script calls by its name, with the fields of the dataclass as arguments."""

    operation: ClassVar[str]

    def run(self, operations: Operations) -> None:
        raise NotImplementedError


@dataclass(eq=False)
class CreateSimhashExtensionOp(SimhashOp):
    """``CREATE EXTENSION``; see ``op.create_simhash_extension``."""

    operation = "create_simhash_extension"

    schema: str | None = None

    @classmethod
    def create_simhash_extension(cls, operations: Operations, *, schema: str | None = None) -> None:
        """Creates the extension in the database if it is not there, in ``schema`` or else the first of the search path.

        Fingerprints and searches name the extension's functions without a schema, so the schema has to be on the
        search path of the application.
        """
        operations.invoke(cls(schema))

    def run(self, operations: Operations) -> None:
        in_schema = f" SCHEMA {_quoted(self.schema)}" if self.schema is not None else ""
        operations.execute(_statement(f"CREATE EXTENSION IF NOT EXISTS pg_simhash{in_schema}"))

    def reverse(self) -> DropSimhashExtensionOp:
        return DropSimhashExtensionOp()


@dataclass(eq=False)
class DropSimhashExtensionOp(SimhashOp):
    """``DROP EXTENSION``; see ``op.drop_simhash_extension``."""

    operation = "drop_simhash_extension"

    @classmethod
    def drop_simhash_extension(cls, operations: Operations) -> None:
        """Drops the extension. It is an error if a table still uses it."""
        operations.invoke(cls())

    def run(self, operations: Operations) -> None:
        operations.execute(_statement("DROP EXTENSION pg_simhash"))

    def reverse(self) -> CreateSimhashExtensionOp:
        return CreateSimhashExtensionOp()


@dataclass(eq=False)
class SimhashAttachOp(SimhashOp):
    """``simhash_attach``; see ``op.simhash_attach``."""

    operation = "simhash_attach"

    table_name: str
    source: str
    blocks: int = 4
    options: Mapping[str, Any] | None = None
    prefix: str = "simhash"
    scope: Sequence[str] = ()
    columns: bool = True
    schema: str | None = None

    @classmethod
    def simhash_attach(
        cls,
        operations: Operations,
        table_name: str,
        source: str,
        *,
        blocks: int = 4,
        options: Mapping[str, Any] | None = None,
        prefix: str = "simhash",
        scope: Sequence[str] = (),
        columns: bool = True,
        schema: str | None = None,
    ) -> None:
        """Adds a fingerprint column, its blocks and their indexes to a table, which it locks and rewrites.

        ``op.simhash_detach`` is the inverse. For a table in use, see ``op.simhash_build_indexes``.
        ``columns=False`` adds nothing to the table, and makes indexes on expressions alone.
        """
        operations.invoke(cls(table_name, source, blocks, options, prefix, scope, columns, schema))

    def run(self, operations: Operations) -> None:
        arguments = _named(self, "blocks", "options", "prefix", "scope", "columns")
        _call(operations, self.operation, _table(self), _literal(self.source), *arguments)

    def reverse(self) -> SimhashDetachOp:
        return SimhashDetachOp(self.table_name, self.prefix, self.schema, attached=self)


@dataclass(eq=False)
class SimhashDetachOp(SimhashOp):
    """``simhash_detach``; see ``op.simhash_detach``."""

    operation = "simhash_detach"

    table_name: str
    prefix: str = "simhash"
    schema: str | None = None
    attached: SimhashAttachOp | None = None
    """What ``reverse`` returns."""

    @classmethod
    def simhash_detach(
        cls, operations: Operations, table_name: str, *, prefix: str = "simhash", schema: str | None = None
    ) -> None:
        """Removes what ``simhash_attach`` and ``simhash_build_indexes`` have made."""
        operations.invoke(cls(table_name, prefix, schema))

    def run(self, operations: Operations) -> None:
        _call(operations, self.operation, _table(self), *_named(self, "prefix"))

    def reverse(self) -> SimhashAttachOp:
        if self.attached is None:
            raise ValueError(f'simhash_detach does not say what was attached to table "{self.table_name}"')
        return self.attached


@dataclass(eq=False)
class SimhashBuildIndexesOp(SimhashOp):
    """The commands of ``simhash_index_commands``; see ``op.simhash_build_indexes``."""

    operation = "simhash_build_indexes"

    table_name: str
    source: str
    blocks: int = 4
    options: Mapping[str, Any] | None = None
    prefix: str = "simhash"
    scope: Sequence[str] = ()
    schema: str | None = None

    @classmethod
    def simhash_build_indexes(
        cls,
        operations: Operations,
        table_name: str,
        source: str,
        *,
        blocks: int = 4,
        options: Mapping[str, Any] | None = None,
        prefix: str = "simhash",
        scope: Sequence[str] = (),
        schema: str | None = None,
    ) -> None:
        """Builds the indexes of ``op.simhash_attach(.., columns=False)`` with ``CREATE INDEX CONCURRENTLY``.

        ``op.simhash_detach`` is the inverse. The operation runs the commands that
        ``simhash_index_commands`` returns, outside of a transaction, in an ``autocommit_block``: what the migration did
        before is committed. If it was interrupted, repeat the migration: it completes what is left.

        The commands depend on the table, so a script of ``--sql`` has the query with ``\\gexec``, with which psql runs
        them. Other programs than psql cannot run such a script.
        """
        operations.invoke(cls(table_name, source, blocks, options, prefix, scope, schema))

    def run(self, operations: Operations) -> None:
        arguments = [_table(self), _literal(self.source), *_named(self, "blocks", "options", "prefix", "scope")]
        query = f"SELECT simhash_index_commands({', '.join(arguments)})"
        context = operations.get_context()
        with context.autocommit_block():
            if context.as_sql:
                context.impl.static_output(
                    f"-- for psql, which runs the commands that this query returns\n{query} \\gexec"
                )
            else:
                for command in operations.get_bind().execute(_statement(query)).scalars().all():
                    operations.execute(_statement(command))


@dataclass(eq=False)
class SimhashGuardOp(SimhashOp):
    """``simhash_guard``; see ``op.simhash_guard``."""

    operation = "simhash_guard"

    table_name: str
    action: str = "reject"
    criterion: Mapping[str, Any] | None = None
    scope: Sequence[str] = ()
    among: str | None = None
    mark_column: str | None = None
    fingerprint: str = "simhash"
    schema: str | None = None

    @classmethod
    def simhash_guard(
        cls,
        operations: Operations,
        table_name: str,
        action: str = "reject",
        *,
        criterion: Mapping[str, Any] | None = None,
        scope: Sequence[str] = (),
        among: str | None = None,
        mark_column: str | None = None,
        fingerprint: str = "simhash",
        schema: str | None = None,
    ) -> None:
        """Rejects, skips or marks near-duplicates from now on. A guard that the table has is replaced.

        ``op.simhash_unguard`` is the inverse.
        """
        operations.invoke(cls(table_name, action, criterion, scope, among, mark_column, fingerprint, schema))

    def run(self, operations: Operations) -> None:
        arguments = _named(self, "criterion", "scope", "among", "mark_column", "fingerprint")
        _call(operations, self.operation, _table(self), _literal(self.action), *arguments)

    def reverse(self) -> SimhashUnguardOp:
        return SimhashUnguardOp(self.table_name, self.schema, guard=self)


@dataclass(eq=False)
class SimhashUnguardOp(SimhashOp):
    """``simhash_unguard``; see ``op.simhash_unguard``."""

    operation = "simhash_unguard"

    table_name: str
    schema: str | None = None
    guard: SimhashGuardOp | None = None
    """What ``reverse`` returns."""

    @classmethod
    def simhash_unguard(cls, operations: Operations, table_name: str, *, schema: str | None = None) -> None:
        """Removes the guard of a table."""
        operations.invoke(cls(table_name, schema))

    def run(self, operations: Operations) -> None:
        _call(operations, self.operation, _table(self))

    def reverse(self) -> SimhashGuardOp:
        if self.guard is None:
            raise ValueError(f'simhash_unguard does not say which guard table "{self.table_name}" had')
        return self.guard


for _op in (
    CreateSimhashExtensionOp,
    DropSimhashExtensionOp,
    SimhashAttachOp,
    SimhashDetachOp,
    SimhashBuildIndexesOp,
    SimhashGuardOp,
    SimhashUnguardOp,
):
    Operations.register_operation(_op.operation)(_op)


@Operations.implementation_for(SimhashOp)
def _run(operations: Operations, operation: SimhashOp) -> None:
    operation.run(operations)


@renderers.dispatch_for(SimhashOp)
def _render(context: AutogenContext, operation: SimhashOp) -> str:
    """The call for a migration script that autogenerate writes."""
    arguments = []
    for field in fields(operation):  # type: ignore[arg-type]  # Its subclasses are dataclasses.
        value = getattr(operation, field.name)
        if field.default is MISSING:
            arguments.append(repr(value))
        elif value != field.default and not isinstance(value, SimhashOp):
            arguments.append(f"{field.name}={value!r}")
    return f"{context.opts.get('alembic_module_prefix') or 'op.'}{operation.operation}({', '.join(arguments)})"


def _call(operations: Operations, function: str, *arguments: str) -> None:
    operations.execute(_statement(f"SELECT {function}({', '.join(arguments)})"))


def _statement(sql: str) -> TextClause:
    """SQL without parameters: a colon in a name is not one."""
    return text(sql.replace(":", "\\:"))


def _table(operation: Any) -> str:
    return _regclass(operation.schema, operation.table_name)


def _regclass(schema: str | None, table: str) -> str:
    """A table as a literal of type regclass, whose text is an SQL name."""
    name = _quoted(table)
    return _literal(f"{_quoted(schema)}.{name}" if schema is not None else name)


def _quoted(name: str) -> str:
    return _PREPARER.quote(name)


def _named(operation: SimhashOp, *names: str) -> list[str]:
    """The arguments that differ from the default, which is that of the SQL function, in named notation."""
    default = {field.name: field.default for field in fields(operation)}  # type: ignore[arg-type]
    values = [(name, getattr(operation, name)) for name in names]
    return [f"{name} => {_literal(value)}" for name, value in values if value != default[name]]


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
