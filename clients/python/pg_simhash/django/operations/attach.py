"""Attaching a table: fingerprint columns and indexes."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import OperationCategory
from django.db.migrations.state import ProjectState
from django.db.models import GeneratedField, Model

from ..expressions import SimHash
from ..fields import FingerprintField
from .table import TableOperation, column_of, columns_of, select


@dataclass(eq=False, repr=False)
class IndexedField(TableOperation):
    """An operation that indexes the fingerprints of a field, the source. ``prefix`` is the name of the fingerprint."""

    category = OperationCategory.ADDITION

    model_name: str
    source: str
    _: KW_ONLY
    prefix: str | None = None
    blocks: int = 4
    options: Mapping[str, Any] | None = None
    scope: Sequence[str] = ()

    @property
    def column(self) -> str:
        return self.prefix or "simhash"

    def arguments(self, model: type[Model]) -> dict[str, Any]:
        """The arguments of the SQL function that are not the default."""
        arguments: dict[str, Any] = {"source": column_of(model, self.source), "prefix": self.column}
        if self.blocks != 4:
            arguments["blocks"] = self.blocks
        if self.options:
            arguments["options"] = json.dumps(self.options, sort_keys=True)
        if self.scope:
            arguments["scope"] = columns_of(model, self.scope)
        return arguments

    def backwards(self, schema_editor: BaseDatabaseSchemaEditor, model: type[Model]) -> None:
        select(schema_editor, "simhash_detach", model, prefix=self.column)


@dataclass(eq=False, repr=False)
class Attach(IndexedField):
    """Gives the table a fingerprint column, its blocks and their indexes, by ``simhash_attach``. It locks the table for
    one rewrite; IndexConcurrently is for a table in use.

    Without ``field``, the model does not know the columns: applications that search in SQL share the table. With
    ``field``, the model has the fingerprint as a field of that name, which it has to declare in this way::

        fingerprint = models.GeneratedField(
            expression=SimHash("body"), output_field=FingerprintField(), db_persist=True, null=True
        )

    In both cases makemigrations finds no change. ``columns=False`` adds nothing to the table and makes indexes on
    expressions alone: a query has ``SimHash("body")`` in place of the field. ``prefix`` is the name of the column, by
    default that of the field, or ``simhash`` without a field. ``scope`` names fields: the indexes then serve searches
    within one value of these, such as a tenant. Backwards, it detaches the table.
    """

    _: KW_ONLY
    field: str | None = None
    columns: bool = True

    def __post_init__(self) -> None:
        if self.field and not self.columns:
            raise ValueError("without columns, the model has no field for the fingerprint")

    @property
    def column(self) -> str:
        return self.prefix or self.field or "simhash"

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        if self.field:
            field = GeneratedField(
                expression=SimHash(self.source, self.options) if self.options else SimHash(self.source),
                output_field=FingerprintField(),
                db_persist=True,
                null=True,
                **({} if self.column == self.field else {"db_column": self.column}),
            )
            state.add_field(*self.model_key(app_label), self.field, field, preserve_default=True)

    def arguments(self, model: type[Model]) -> dict[str, Any]:
        return super().arguments(model) | ({} if self.columns else {"columns": False})

    def forwards(self, schema_editor: BaseDatabaseSchemaEditor, model: type[Model]) -> None:
        select(schema_editor, "simhash_attach", model, **self.arguments(model))

    def describe(self) -> str:
        return f"Attach fingerprints of {self.source} to model {self.model_name}"

    @property
    def migration_name_fragment(self) -> str:
        return f"{self.model_name_lower}_attach_{self.column.lower()}"


class Detach(Attach):
    """Removes what Attach has added. It takes the arguments of that operation, so that it can be reversed."""

    undoes = Attach
    category = OperationCategory.REMOVAL
    forwards, backwards = IndexedField.backwards, Attach.forwards

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        if self.field:
            state.remove_field(*self.model_key(app_label), self.field)

    def describe(self) -> str:
        return f"Detach fingerprints of {self.source} from model {self.model_name}"

    @property
    def migration_name_fragment(self) -> str:
        return f"{self.model_name_lower}_detach_{self.column.lower()}"
