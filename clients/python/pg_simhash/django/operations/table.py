"""What the operations on a table have in common."""

from collections.abc import Sequence
from typing import Any, ClassVar

from django.core.exceptions import FieldDoesNotExist
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from django.db.models import Model


class TableOperation(Operation):
    """An operation on the table of one model, by functions of the extension.

    A subclass says what ``forwards`` and ``backwards`` do with the table. ``model_name`` is the name of a model, with
    ``app_label.`` before it if it is of another application.
    """

    model_name: str
    undoes: ClassVar[type[Operation] | None] = None  # The class whose operations one of this class undoes.

    def forwards(self, schema_editor: BaseDatabaseSchemaEditor, model: type[Model]) -> None:
        raise NotImplementedError

    def backwards(self, schema_editor: BaseDatabaseSchemaEditor, model: type[Model]) -> None:
        raise NotImplementedError

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        pass

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        model = self.migrated_model(app_label, schema_editor, to_state)
        if model:
            self.forwards(schema_editor, model)

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        model = self.migrated_model(app_label, schema_editor, to_state)
        if model:
            self.backwards(schema_editor, model)

    def migrated_model(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, state: ProjectState
    ) -> type[Model] | None:
        """The model, or None if this database does not have its table."""
        connection = schema_editor.connection
        model = state.apps.get_model(*self.model_key(app_label))
        if connection.vendor == "postgresql" and self.allow_migrate_model(connection.alias, model):
            return model
        return None

    def model_key(self, app_label: str) -> tuple[str, str]:
        """The application and the lower-case name of the model, for a migration of the application ``app_label``."""
        of_other, _, name = self.model_name.rpartition(".")
        return of_other or app_label, name.lower()

    @property
    def model_name_lower(self) -> str:
        return self.model_key("")[1]

    def models(self) -> list[str]:
        """The names of the models whose tables the operation needs, without their applications."""
        return [self.model_name_lower]

    def references_model(self, name: str, app_label: str) -> bool:
        return name.lower() in (model.lower() for model in self.models())

    def reduce(self, operation: Operation, app_label: str) -> bool | list[Operation]:
        """Drops this operation and the one that undoes it, and lets operations on other models pass. Other operations
        on this model keep their place."""
        if self.is_undone_by(operation):
            return []
        return super().reduce(operation, app_label) or not any(
            operation.references_model(model, app_label) for model in self.models()
        )

    def is_undone_by(self, operation: Operation) -> bool:
        """Whether the operation undoes those of this class, and has the same arguments."""
        return (
            isinstance(operation, TableOperation)
            and operation.undoes is type(self)
            and operation.model_name.lower() == self.model_name.lower()
            and self.arguments_beside_model() == operation.arguments_beside_model()
        )

    def arguments_beside_model(self) -> dict[str, Any]:
        """The attributes that the constructor has set, without the model."""
        return {name: value for name, value in vars(self).items() if name not in ("model_name", "_constructor_args")}


def column_of(model: type[Model], name: str) -> str:
    """The column of a field. Another name is that of a column which the model does not have."""
    try:
        field = model._meta.get_field(name)
    except FieldDoesNotExist:
        return name
    return getattr(field, "column", None) or name


def columns_of(model: type[Model], names: Sequence[str]) -> list[str]:
    """The columns of a list of fields. A str, which is a sequence too, is a mistake."""
    if isinstance(names, str):
        raise ValueError(f"A list of fields is expected: [{names!r}], not {names!r}.")
    return [column_of(model, name) for name in names]


def call_sql(
    schema_editor: BaseDatabaseSchemaEditor, function: str, model: type[Model], arguments: dict[str, Any]
) -> tuple[str, list[Any]]:
    """A call of a function on the table of a model, with named arguments, and its parameters."""
    named = "".join(f", {name} => %s" for name in arguments)
    return f"{function}(%s{named})", [schema_editor.quote_name(model._meta.db_table), *arguments.values()]


def select(schema_editor: BaseDatabaseSchemaEditor, function: str, model: type[Model], **arguments: Any) -> None:
    """Runs a function of the extension on the table of a model, or collects the statement for sqlmigrate."""
    call, params = call_sql(schema_editor, function, model, arguments)
    schema_editor.execute(f"SELECT {call}", params)
