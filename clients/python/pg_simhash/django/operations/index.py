"""Indexes alone, built while the table is in use."""

from django.contrib.postgres.operations import NotInTransactionMixin
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models import Model

from .attach import IndexedField
from .table import call_sql


class IndexConcurrently(NotInTransactionMixin, IndexedField):
    """Indexes the fingerprints of a field while the table is in use, by the commands of ``simhash_index_commands``, in
    a migration with ``atomic = False``.

    Nothing is added to the table: the indexes are on expressions, and a query has ``SimHash("body")`` with the same
    options. If it is interrupted, run the migration again: it builds what is left. Backwards, it detaches the table.
    """

    atomic = False

    def forwards(self, schema_editor: BaseDatabaseSchemaEditor, model: type[Model]) -> None:
        self._ensure_not_in_transaction(schema_editor)
        call, params = call_sql(schema_editor, "simhash_index_commands", model, self.arguments(model))
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

    def describe(self) -> str:
        return f"Concurrently index {self.blocks} blocks of {self.source} of model {self.model_name}"

    @property
    def migration_name_fragment(self) -> str:
        return f"{self.model_name_lower}_{self.source.lower()}_{self.blocks}_blocks"
