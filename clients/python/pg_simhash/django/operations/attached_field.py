"""What the operations have in common that attach a table, or detach it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import OperationCategory
from django.db.migrations.state import ProjectState, StateApps
from django.db.models import Field, Model

from .table import TableOperation, select, table_of


@dataclass(eq=False, repr=False)
class AttachedField(TableOperation):
    """An operation that adds or removes the fingerprint column, and the model's field if it has one.

    ``prefix`` is the name of the column, by default that of the field, or ``simhash`` without a field.
    """

    model_name: str
    source: str
    _: KW_ONLY
    field: str | None = None
    prefix: str | None = None
    blocks: int = 4
    options: Mapping[str, Any] | None = None
    scope: Sequence[str] = ()

    @property
    def column(self) -> str:
        return self.prefix or self.field or "simhash"

    def model_field(self) -> Field:
        """The field as the model has to declare it."""
        raise NotImplementedError

    def db_column(self) -> dict[str, str]:
        """The argument ``db_column`` of the field, if the field has another name than the column."""
        return {} if self.column == self.field else {"db_column": self.column}

    def options_json(self) -> dict[str, str]:
        return {"options": json.dumps(self.options, sort_keys=True)} if self.options else {}

    def attach(self, schema_editor: BaseDatabaseSchemaEditor, model: type[Model]) -> None:
        raise NotImplementedError

    def detach(self, schema_editor: BaseDatabaseSchemaEditor, model: type[Model]) -> None:
        select(schema_editor, "simhash_detach", table_of(schema_editor, model), prefix=self.column)


class AddsField(AttachedField):
    """Attaches forwards, and detaches backwards."""

    category = OperationCategory.ADDITION

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        if self.field:
            state.add_field(*self.model_key(app_label), self.field, self.model_field(), preserve_default=True)

    def forwards(self, schema_editor: BaseDatabaseSchemaEditor, model: type[Model], apps: StateApps) -> None:
        self.attach(schema_editor, model)

    def backwards(self, schema_editor: BaseDatabaseSchemaEditor, model: type[Model], apps: StateApps) -> None:
        self.detach(schema_editor, model)


class RemovesField(AttachedField):
    """Detaches forwards, and attaches backwards."""

    category = OperationCategory.REMOVAL

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        if self.field:
            state.remove_field(*self.model_key(app_label), self.field)

    def forwards(self, schema_editor: BaseDatabaseSchemaEditor, model: type[Model], apps: StateApps) -> None:
        self.detach(schema_editor, model)

    def backwards(self, schema_editor: BaseDatabaseSchemaEditor, model: type[Model], apps: StateApps) -> None:
        self.attach(schema_editor, model)
