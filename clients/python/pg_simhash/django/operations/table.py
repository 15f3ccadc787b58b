"""What the operations on a table have in common."""

from typing import Any

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


def column_of(model: type[Model], name: str) -> str:
    """The column of a field. Another name is that of a column which the model does not have."""
    try:
        field = model._meta.get_field(name)
    except FieldDoesNotExist:
        return name
    return getattr(field, "column", None) or name


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
