"""Indexes alone, built while the table is in use."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from django.contrib.postgres.operations import NotInTransactionMixin
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import OperationCategory
from django.db.migrations.state import StateApps
from django.db.models import Model

from .table import TableOperation, call_sql, column_of, columns_of, select, table_of


@dataclass(eq=False, repr=False)
class IndexConcurrently(NotInTransactionMixin, TableOperation):
    """Indexes the fingerprints of a field while the table is in use, by the commands of ``simhash_index_commands``, in
    a migration with ``atomic = False``.

    Nothing is added to the table: the indexes are on expressions, and a query has ``SimHash("body")`` with the same
    options. If it is interrupted, run the migration again: it builds what is left. Backwards, it detaches the table.
    """

    atomic = False
    category = OperationCategory.ADDITION

    model_name: str
    source: str
    _: KW_ONLY
    blocks: int = 4
    options: Mapping[str, Any] | None = None
    scope: Sequence[str] = ()
    prefix: str = "simhash"

    def forwards(self, schema_editor: BaseDatabaseSchemaEditor, model: type[Model], apps: StateApps) -> None:
        self._ensure_not_in_transaction(schema_editor)
        arguments: dict[str, Any] = {"source": column_of(model, self.source), "prefix": self.prefix}
        if self.blocks != 4:
            arguments["blocks"] = self.blocks
        if self.options:
            arguments["options"] = json.dumps(self.options, sort_keys=True)
        if self.scope:
            arguments["scope"] = columns_of(model, self.scope)
        call, params = call_sql("simhash_index_commands", table_of(schema_editor, model), arguments)
        if schema_editor.collect_sql:
            # The commands depend on what is there already: psql runs the rows of the result.
            quoted = call % tuple(map(schema_editor.quote_value, params))
            schema_editor.collected_sql.append(f"SELECT {quoted} \\gexec")
            return
        with schema_editor.connection.cursor() as cursor:
            cursor.execute(f"SELECT {call}", params)
            commands = [command for (command,) in cursor.fetchall()]
        for command in commands:
            schema_editor.execute(command, params=None)

    def backwards(self, schema_editor: BaseDatabaseSchemaEditor, model: type[Model], apps: StateApps) -> None:
        select(schema_editor, "simhash_detach", table_of(schema_editor, model), prefix=self.prefix)

    def describe(self) -> str:
        return f"Concurrently index {self.blocks} blocks of {self.source} of model {self.model_name}"

    @property
    def migration_name_fragment(self) -> str:
        return f"{self.model_name_lower}_{self.source.lower()}_{self.blocks}_blocks"
