"""Attaching a table by generated columns."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models import Field, GeneratedField, Model

from ..expressions import SimHash
from ..fields import FingerprintField
from .attached_field import AddsField, AttachedField, RemovesField
from .table import column_of, columns_of, select, table_of


@dataclass(eq=False, repr=False)
class GeneratedColumns(AttachedField):
    """The arguments of ``simhash_attach``: what Attach adds, and Detach removes."""

    _: KW_ONLY
    columns: bool = True

    def __post_init__(self) -> None:
        if self.field and not self.columns:
            raise ValueError("without columns, the model has no field for the fingerprint")

    def model_field(self) -> Field:
        return GeneratedField(
            expression=SimHash(self.source, self.options) if self.options else SimHash(self.source),
            output_field=FingerprintField(),
            db_persist=True,
            null=True,
            **self.db_column(),
        )

    def attach(self, schema_editor: BaseDatabaseSchemaEditor, model: type[Model]) -> None:
        arguments: dict[str, Any] = {"source": column_of(model, self.source), "prefix": self.column}
        if self.blocks != 4:
            arguments["blocks"] = self.blocks
        arguments |= self.options_json()
        if self.scope:
            arguments["scope"] = columns_of(model, self.scope)
        if not self.columns:
            arguments["columns"] = False
        select(schema_editor, "simhash_attach", table_of(schema_editor, model), **arguments)


class Attach(AddsField, GeneratedColumns):
    """Gives the table a fingerprint column, its blocks and their indexes, by ``simhash_attach``. It locks the table for
    one rewrite; IndexConcurrently is for a table in use.

    Without ``field``, the model does not know the columns: applications that search in SQL share the table. With
    ``field``, the model has the fingerprint as a field of that name, which it has to declare in this way::

        fingerprint = models.GeneratedField(
            expression=SimHash("body"), output_field=FingerprintField(), db_persist=True, null=True
        )

    In both cases makemigrations finds no change. ``columns=False`` adds nothing to the table and makes indexes on
    expressions alone: a query has ``SimHash("body")`` in place of the field. ``scope`` names fields: the indexes then
    serve searches within one value of these, such as a tenant. Backwards, it detaches the table.
    """

    def describe(self) -> str:
        return f"Attach fingerprints of {self.source} to model {self.model_name}"

    @property
    def migration_name_fragment(self) -> str:
        return f"{self.model_name_lower}_attach_{self.column.lower()}"


class Detach(RemovesField, GeneratedColumns):
    """Removes what Attach has added. It takes the arguments of that operation, so that it can be reversed."""

    undoes = Attach

    def describe(self) -> str:
        return f"Detach fingerprints of {self.source} from model {self.model_name}"

    @property
    def migration_name_fragment(self) -> str:
        return f"{self.model_name_lower}_detach_{self.column.lower()}"
