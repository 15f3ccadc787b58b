"""Guards: deduplication on insert."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.backends.ddl_references import Statement
from django.db.migrations.operations.base import OperationCategory
from django.db.models import Model

from .table import TableOperation, column_of, select


@dataclass(eq=False, repr=False)
class Guard(TableOperation):
    """Rejects, skips or marks near-duplicates from now on, by ``simhash_guard``. Backwards, it removes the guard.

    The arguments are those of ``simhash_guard``, with names of the model's fields in place of columns. A name that the
    model does not have is that of a column. ``criterion`` says what a near-duplicate is, such as
    ``{"resemblance": 0.9}``; the default compares texts where fingerprints are made from a text. ``among`` is a
    condition in SQL on the columns of existing rows: only those for which it holds count. A new row for which
    ``unless`` holds is stored unchecked.

    To change a guard, put ``Unguard`` with the arguments of the old guard before ``Guard`` with those of the new one.
    Then the migration can be reversed.
    """

    category = OperationCategory.ADDITION

    model_name: str
    action: str = "reject"
    _: KW_ONLY
    criterion: Mapping[str, Any] | None = None
    scope: Sequence[str] = ()
    among: str | None = None
    mark_field: str | None = None
    fingerprint: str = "simhash"
    unless: str | None = None

    def forwards(self, schema_editor: BaseDatabaseSchemaEditor, model: type[Model]) -> None:
        arguments: dict[str, Any] = {"action": self.action}
        if self.criterion is not None:
            arguments["criterion"] = json.dumps(self.criterion, sort_keys=True)
        if self.scope:
            arguments["scope"] = [column_of(model, name) for name in self.scope]
        if self.among is not None:
            arguments["among"] = self.among
        if self.unless is not None:
            arguments["unless"] = self.unless
        if self.mark_field:
            arguments["mark_column"] = column_of(model, self.mark_field)
        arguments["fingerprint"] = column_of(model, self.fingerprint)
        create_deferred_indexes(schema_editor, model)
        select(schema_editor, "simhash_guard", model, **arguments)

    def backwards(self, schema_editor: BaseDatabaseSchemaEditor, model: type[Model]) -> None:
        select(schema_editor, "simhash_unguard", model)

    def describe(self) -> str:
        return f"Guard model {self.model_name} ({self.action})"

    @property
    def migration_name_fragment(self) -> str:
        return f"{self.model_name_lower}_guard"


class Unguard(Guard):
    """Removes the guard of a table. It takes the arguments of that guard, so that it can be reversed."""

    category = OperationCategory.REMOVAL
    forwards, backwards = Guard.backwards, Guard.forwards

    def describe(self) -> str:
        return f"Remove the guard of model {self.model_name}"

    @property
    def migration_name_fragment(self) -> str:
        return f"{self.model_name_lower}_unguard"


def create_deferred_indexes(schema_editor: BaseDatabaseSchemaEditor, model: type[Model]) -> None:
    """Creates the indexes of a model that the same migration creates: a guard needs them. Django would create them at
    the end of the migration."""
    for statement in list(schema_editor.deferred_sql):
        if (
            isinstance(statement, Statement)
            and statement.template == schema_editor.sql_create_index
            and statement.references_table(model._meta.db_table)
        ):
            schema_editor.deferred_sql.remove(statement)
            schema_editor.execute(statement, params=None)
