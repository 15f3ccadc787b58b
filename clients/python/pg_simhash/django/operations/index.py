"""Building block indexes while the table is in use."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from django.contrib.postgres.operations import NotInTransactionMixin
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import OperationCategory
from django.db.migrations.state import StateApps
from django.db.models import Model

from .table import TableOperation, call_sql, column_of, columns_of, table_of

# The indexes of one layout that the commands have made: each has a comment, depends on the fingerprint column, and has
# the columns of the scope before the block.
BUILT_INDEXES = r"""
SELECT indexrelid::regclass::text
FROM pg_index JOIN pg_attribute AS fingerprint ON attrelid = indrelid AND attname = %s
WHERE indrelid = %s::regclass
  AND obj_description(indexrelid, 'pg_class') ~ %s
  AND EXISTS (SELECT FROM pg_depend
              WHERE (classid, objid) = ('pg_class'::regclass, indexrelid)
                AND (refclassid, refobjid, refobjsubid) = ('pg_class'::regclass, indrelid, fingerprint.attnum))
  AND ARRAY(SELECT scope.attname::text
            FROM generate_series(0, indnkeyatts - 2) AS position
            JOIN pg_attribute AS scope ON (scope.attrelid, scope.attnum) = (indrelid, indkey[position])
            ORDER BY position) = %s::text[]
ORDER BY 1
"""


class BlockIndexes(NotInTransactionMixin, TableOperation):
    """An operation that builds block indexes with CREATE INDEX CONCURRENTLY, in a migration with ``atomic = False``."""

    atomic = False

    blocks: int
    covering: bool
    scope: Sequence[str]

    def build_indexes(self, schema_editor: BaseDatabaseSchemaEditor, model: type[Model], column: str) -> None:
        """Runs the commands of ``simhash_index_commands``. If it is interrupted, the next run continues."""
        self._ensure_not_in_transaction(schema_editor)
        arguments: dict[str, Any] = {"blocks": self.blocks, "prefix": column}
        if not self.covering:
            arguments["covering"] = False
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


@dataclass(eq=False, repr=False)
class IndexConcurrently(BlockIndexes):
    """Builds the block indexes of a fingerprint while the table is in use, by the commands of
    ``simhash_index_commands``.

    It is for a fingerprint that the model knows and whose indexes it does not name, and for a further layout of an
    attached table. An index build that was interrupted is completed when the migration runs again. Backwards, it drops
    the indexes that these commands have made.
    """

    category = OperationCategory.ADDITION

    model_name: str
    fingerprint: str = "simhash"
    _: KW_ONLY
    blocks: int = 4
    covering: bool = True
    scope: Sequence[str] = ()

    def forwards(self, schema_editor: BaseDatabaseSchemaEditor, model: type[Model], apps: StateApps) -> None:
        self.build_indexes(schema_editor, model, column_of(model, self.fingerprint))

    def backwards(self, schema_editor: BaseDatabaseSchemaEditor, model: type[Model], apps: StateApps) -> None:
        self._ensure_not_in_transaction(schema_editor)
        params = [
            column_of(model, self.fingerprint),
            table_of(schema_editor, model),
            rf"^made by simhash_attach_online: .*block \d of {self.blocks}$",
            columns_of(model, self.scope),
        ]
        if schema_editor.collect_sql:
            query = BUILT_INDEXES.strip() % tuple(map(schema_editor.quote_value, params))
            schema_editor.collected_sql.append(
                f"SELECT format('DROP INDEX CONCURRENTLY %s', name) FROM (\n{query}\n) AS built (name) \\gexec"
            )
            return
        with schema_editor.connection.cursor() as cursor:
            cursor.execute(BUILT_INDEXES, params)
            indexes = [name for (name,) in cursor.fetchall()]
        for index in indexes:
            schema_editor.execute(f"DROP INDEX CONCURRENTLY {index}", params=None)

    def describe(self) -> str:
        return f"Concurrently index {self.blocks} blocks of {self.fingerprint} of model {self.model_name}"

    @property
    def migration_name_fragment(self) -> str:
        return f"{self.model_name_lower}_{self.fingerprint.lower()}_{self.blocks}_blocks"
