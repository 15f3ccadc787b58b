"""Attaching a table that has to stay in use."""

from dataclasses import KW_ONLY, dataclass

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models import Field, Model

from ..fields import FingerprintField
from .attached_field import AddsField, AttachedField, RemovesField
from .index import BlockIndexes
from .table import call_sql, column_of, select, table_of


@dataclass(eq=False, repr=False)
class OnlineColumn(BlockIndexes, AttachedField):
    """The arguments of ``simhash_attach_online``, ``simhash_fill`` and ``simhash_index_commands``: what AttachOnline
    adds, and DetachOnline removes."""

    _: KW_ONLY
    batch_pages: int = 1000

    def model_field(self) -> Field:
        return FingerprintField(null=True, **self.db_column())

    def attach(self, schema_editor: BaseDatabaseSchemaEditor, model: type[Model]) -> None:
        """Runs all steps. Each of them skips what is done already."""
        self._ensure_not_in_transaction(schema_editor)
        table = table_of(schema_editor, model)
        select(
            schema_editor,
            "simhash_attach_online",
            table,
            source=column_of(model, self.source),
            prefix=self.column,
            **self.options_json(),
        )
        fill, params = call_sql("simhash_fill", table, {"prefix": self.column, "batch_pages": self.batch_pages})
        schema_editor.execute(f"CALL {fill}", params)
        self.build_indexes(schema_editor, model, self.column)


class AttachOnline(AddsField, OnlineColumn):
    """Gives a table that stays in use a fingerprint column and block indexes, in a migration with ``atomic = False``.

    It adds an empty column and a trigger (``simhash_attach_online``), fills the column in batches (``simhash_fill``),
    and builds the indexes concurrently (``simhash_index_commands``). If it is interrupted, run the migration again: it
    continues where it has stopped.

    With ``field``, the model has the fingerprint as a field of that name, which it has to declare in this way::

        fingerprint = FingerprintField(null=True)

    An instance that was just created or changed has the new fingerprint after ``refresh_from_db()``.

    ``batch_pages`` is the number of pages that ``simhash_fill`` fills before it commits. Backwards, the operation
    detaches the table.
    """

    def describe(self) -> str:
        return f"Attach fingerprints of {self.source} to model {self.model_name} while it is in use"

    @property
    def migration_name_fragment(self) -> str:
        return f"{self.model_name_lower}_attach_{self.column.lower()}_online"


class DetachOnline(RemovesField, OnlineColumn):
    """Removes what AttachOnline has added. It takes the arguments of that operation, so that it can be reversed; then
    the migration needs ``atomic = False``."""

    undoes = AttachOnline

    def describe(self) -> str:
        return f"Detach fingerprints of {self.source} from model {self.model_name} while it is in use"

    @property
    def migration_name_fragment(self) -> str:
        return f"{self.model_name_lower}_detach_{self.column.lower()}_online"
