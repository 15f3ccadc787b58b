"""Indexes alone, built while the table is in use."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from django.contrib.postgres.operations import NotInTransactionMixin
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import OperationCategory
from django.db.models import Model

from .table import TableOperation, call_sql, column_of, select


@dataclass(eq=False, repr=False)
class IndexConcurrently(NotInTransactionMixin, TableOperation):
    """Indexes the fingerprints of a field while the table is in use, by the commands of ``simhash_index_commands``, in
    a migration with ``atomic = False``.

    Nothing is added to the table: the indexes are on expressions, and a query has ``SimHash("body")`` with the same
    options. ``scope`` names fields: the indexes then serve searches within one value of these, such as a tenant. If it
    is interrupted, run the migration again: it builds what is left. Backwards, it detaches the table.
    """

    atomic = False
    category = OperationCategory.ADDITION

    model_name: str
    source: str
    _: KW_ONLY
    prefix: str = "simhash"
    blocks: int = 4
    options: Mapping[str, Any] | None = None
    scope: Sequence[str] = ()

    def forwards(self, schema_editor: BaseDatabaseSchemaEditor, model: type[Model]) -> None:
        self._ensure_not_in_transaction(schema_editor)
        arguments = {"source": column_of(model, self.source), "prefix": self.prefix, "blocks": self.blocks}
        if self.options:
            arguments["options"] = json.dumps(self.options, sort_keys=True)
        if self.scope:
            arguments["scope"] = [column_of(model, name) for name in self.scope]
        call, params = call_sql(schema_editor, "simhash_index_commands", model, arguments)
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

    def backwards(self, schema_editor: BaseDatabaseSchemaEditor, model: type[Model]) -> None:
        select(schema_editor, "simhash_detach", model, prefix=self.prefix)

    def describe(self) -> str:
        return f"Concurrently index {self.blocks} blocks of {self.source} of model {self.model_name}"

    @property
    def migration_name_fragment(self) -> str:
        return f"{self.model_name_lower}_{self.source.lower()}_{self.blocks}_blocks"
