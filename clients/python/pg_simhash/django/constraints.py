"""The check of a near-duplicate in forms."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import BaseConstraint, BooleanField, Model
from django.db.models.constants import LOOKUP_SEP
from django.db.models.expressions import RawSQL

from . import lookups  # noqa: F401  # It registers the lookup near.


class NoNearDuplicate(BaseConstraint):
    """Lets forms and the admin show a near-duplicate as an error of the text's field, for ``Meta.constraints``::

        constraints = [NoNearDuplicate("body", name="article_near")]

    It is checked by ``full_clean()``, which a ``ModelForm`` calls, and adds nothing to the database. A guard with
    ``reject`` still decides: another session may store a near-duplicate between the check and the INSERT, and most
    other ways to store a row check nothing.

    ``criterion``, ``scope``, ``among`` and ``unless`` are those of the guard. The criterion has the options of the
    fingerprint in it, and the radii unless the table is indexed by four blocks. As for the guard, an instance whose
    text is the stored one is not checked. ``unless`` cannot name a generated column: it has no value before the INSERT.
    """

    default_violation_error_message = "There is already nearly the same text."
    violation_error_code = "near_duplicate"

    def __init__(
        self,
        source: str,
        *,
        name: str,
        criterion: Mapping[str, Any] | None = None,
        scope: Sequence[str] = (),
        among: str | None = None,
        unless: str | None = None,
        **violation_error: Any,
    ) -> None:
        self.source, self.criterion, self.scope = source, criterion or {}, list(scope)
        self.among, self.unless = among, unless
        super().__init__(name=name, **violation_error)

    def constraint_sql(self, model: Any, schema_editor: Any) -> None:
        return None

    create_sql = remove_sql = constraint_sql

    def validate(
        self,
        model: type[Model],
        instance: Model,
        exclude: Collection[str] | None = None,
        using: str = DEFAULT_DB_ALIAS,
    ) -> None:
        text = getattr(instance, self.source)
        if not text or not {self.source, *self.scope}.isdisjoint(exclude or ()):
            return
        if self.unless is not None and self._is_unchecked(model, instance, using):
            return
        rows = model._base_manager.using(using)
        if not instance._state.adding:
            if rows.filter(pk=instance.pk, **{self.source: text}).exists():
                return
            rows = rows.exclude(pk=instance.pk)
        rows = rows.filter(**{self.source + LOOKUP_SEP + "near": (text, self.criterion)})
        rows = rows.filter(**{field: getattr(instance, field) for field in self.scope})
        if self.among is not None:
            among = self.among.replace("%", "%%")
            rows = rows.filter(RawSQL(f"({among}\n)", (), output_field=BooleanField()))
        if rows.exists():
            error = ValidationError(self.get_violation_error_message(), code=self.violation_error_code)
            raise ValidationError({self.source: error})

    def _is_unchecked(self, model: type[Model], instance: Model, using: str) -> bool:
        """Whether the condition ``unless`` holds for the instance. A value that the database will compute is NULL."""
        connection = connections[using]
        columns, values = [], []
        for field in model._meta.local_concrete_fields:
            if not getattr(field, "generated", False):
                name = connection.ops.quote_name(field.column).replace("%", "%%")
                columns.append(f"%s::{field.cast_db_type(connection)} AS {name}")
                value = getattr(instance, field.attname)
                computed = hasattr(value, "resolve_expression")
                values.append(None if computed else field.get_db_prep_save(value, connection))
        unless = str(self.unless).replace("%", "%%")
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT ({unless}\n) IS TRUE FROM (SELECT {', '.join(columns)}) AS new", values)
            return bool(cursor.fetchone()[0])

    def deconstruct(self) -> tuple[str, tuple[str, ...], dict[str, Any]]:
        _, _, keywords = super().deconstruct()
        arguments = {name: getattr(self, name) for name in ("criterion", "scope", "among", "unless")}
        return "pg_simhash.django.NoNearDuplicate", (self.source,), keywords | arguments

    def __eq__(self, other: object) -> bool:
        if isinstance(other, NoNearDuplicate):
            return self.deconstruct() == other.deconstruct()
        return NotImplemented

    __hash__ = BaseConstraint.__hash__
