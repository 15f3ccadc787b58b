"""Attaching a table by generated columns."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import Operation, OperationCategory
from django.db.migrations.state import ProjectState, StateApps
from django.db.models import Field, GeneratedField, Model

from ..expressions import SimHash
from ..fields import FingerprintField
from .table import TableOperation, column_of, columns_of, select, table_of


class AttachedField(TableOperation):
    """An operation that adds or removes the fingerprint column, and the model's field if it has one.

    ``prefix`` is the name of the column, by default that of the field, or ``simhash`` without a field.
    """

    source: str
    field: str | None
    prefix: str | None
    options: Mapping[str, Any] | None

    @property
    def column(self) -> str:
        return self.prefix or self.field or "simhash"

    def model_field(self) -> Field:
        """The field as the model has to declare it."""
        raise NotImplementedError

    def db_column(self) -> dict[str, str]:
        """The argument ``db_column`` of the field, if the field has another name than the column."""
        return {} if self.column == self.field else {"db_column": self.column}

    def add_to_state(self, app_label: str, state: ProjectState) -> None:
        if self.field:
            state.add_field(app_label, self.model_name_lower, self.field, self.model_field(), preserve_default=True)

    def remove_from_state(self, app_label: str, state: ProjectState) -> None:
        if self.field:
            state.remove_field(app_label, self.model_name_lower, self.field)

    def options_json(self) -> dict[str, str]:
        return {"options": json.dumps(self.options, sort_keys=True)} if self.options else {}

    def detach(self, schema_editor: BaseDatabaseSchemaEditor, model: type[Model]) -> None:
        select(schema_editor, "simhash_detach", table_of(schema_editor, model), prefix=self.column)


class GeneratedColumns(AttachedField):
    """The arguments of ``simhash_attach``: what Attach adds, and Detach removes."""

    def __init__(
        self,
        model_name: str,
        source: str,
        *,
        field: str | None = None,
        prefix: str | None = None,
        blocks: int = 4,
        options: Mapping[str, Any] | None = None,
        covering: bool = True,
        scope: Sequence[str] = (),
        columns: bool = True,
    ) -> None:
        self.model_name = model_name
        self.source = source
        self.field = field
        self.prefix = prefix
        self.blocks = blocks
        self.options = options
        self.covering = covering
        self.scope = scope
        self.columns = columns

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
        if not self.covering:
            arguments["covering"] = False
        if self.scope:
            arguments["scope"] = columns_of(model, self.scope)
        if not self.columns:
            arguments["columns"] = False
        select(schema_editor, "simhash_attach", table_of(schema_editor, model), **arguments)


class Attach(GeneratedColumns):
    """Gives the table a fingerprint column, its blocks and their indexes, by ``simhash_attach``. It locks the table for
    one rewrite.

    Without ``field``, the model does not know the columns: applications that search in SQL share the table. With
    ``field``, the model has the fingerprint as a field of that name, which it has to declare in this way::

        fingerprint = models.GeneratedField(
            expression=SimHash("body"), output_field=FingerprintField(), db_persist=True, null=True
        )

    In both cases makemigrations finds no change. ``columns=False`` makes the indexes on expressions, so there are no
    block columns. ``scope`` names fields: the indexes then serve searches within one value of these, such as a tenant.
    Backwards, it detaches the table.
    """

    category = OperationCategory.ADDITION

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        self.add_to_state(app_label, state)

    def forwards(self, schema_editor: BaseDatabaseSchemaEditor, model: type[Model], apps: StateApps) -> None:
        self.attach(schema_editor, model)

    def backwards(self, schema_editor: BaseDatabaseSchemaEditor, model: type[Model], apps: StateApps) -> None:
        self.detach(schema_editor, model)

    def reduce(self, operation: Operation, app_label: str) -> bool | list[Operation]:
        if self.is_undone_by(operation, Detach):
            return []
        return super().reduce(operation, app_label)

    def describe(self) -> str:
        return f"Attach fingerprints of {self.source} to model {self.model_name}"

    @property
    def migration_name_fragment(self) -> str:
        return f"{self.model_name_lower}_attach_{self.column.lower()}"


class Detach(GeneratedColumns):
    """Removes what Attach has added. It takes the arguments of that operation, so that it can be reversed."""

    category = OperationCategory.REMOVAL

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        self.remove_from_state(app_label, state)

    def forwards(self, schema_editor: BaseDatabaseSchemaEditor, model: type[Model], apps: StateApps) -> None:
        self.detach(schema_editor, model)

    def backwards(self, schema_editor: BaseDatabaseSchemaEditor, model: type[Model], apps: StateApps) -> None:
        self.attach(schema_editor, model)

    def describe(self) -> str:
        return f"Detach fingerprints of {self.source} from model {self.model_name}"

    @property
    def migration_name_fragment(self) -> str:
        return f"{self.model_name_lower}_detach_{self.column.lower()}"
