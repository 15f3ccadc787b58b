"""The check of a near-duplicate in forms."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.db import DEFAULT_DB_ALIAS
from django.db.models import BaseConstraint, BooleanField, Model
from django.db.models.constants import LOOKUP_SEP
from django.db.models.expressions import RawSQL

from .lookups import NearText  # noqa: F401  # It registers the lookup near.


class NoNearDuplicate(BaseConstraint):
    """Lets forms and the admin show a near-duplicate as an error of the text's field, for ``Meta.constraints``::

        constraints = [NoNearDuplicate("body", name="article_near")]

    It is checked by ``full_clean()``, which a ``ModelForm`` calls, and adds nothing to the database. A guard with
    ``reject`` still decides: another session may store a near-duplicate between the check and the INSERT, and most
    other ways to store a row check nothing.

    ``criterion``, ``scope`` and ``among`` are those of the guard. The criterion needs the options of the bands.
    As for the guard, an instance is not checked if its stored row has the same text and scope, and is among these rows.
    For a guard with ``unless``, override ``validate``, and do not check what the guard stores unchecked.
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
        **violation_error: Any,
    ) -> None:
        self.source, self.criterion, self.scope, self.among = source, criterion or {}, list(scope), among
        super().__init__(name=name, **violation_error)

    def constraint_sql(self, model: Any, schema_editor: Any) -> None:
        return None

    create_sql = remove_sql = constraint_sql

    def validate(
        self, model: type[Model], instance: Model, exclude: Collection[str] | None = None, using: str = DEFAULT_DB_ALIAS
    ) -> None:
        text = getattr(instance, self.source)
        if not text or not {self.source, *self.scope}.isdisjoint(exclude or ()):
            return
        # Of a foreign key, the column, which may be unset.
        scope = [model._meta.get_field(field).attname for field in self.scope]
        rows = model._base_manager.using(using).filter(**{column: getattr(instance, column) for column in scope})
        if self.among is not None:
            among = self.among.replace("%", "%%")
            # The condition may end with a comment, which lasts to the end of its line.
            rows = rows.filter(RawSQL(f"({among}\n)", (), output_field=BooleanField()))
        if not instance._state.adding:
            if rows.filter(pk=instance.pk, **{self.source: text}).exists():
                return
            rows = rows.exclude(pk=instance.pk)
        if rows.filter(**{self.source + LOOKUP_SEP + "near": (text, self.criterion)}).exists():
            error = ValidationError(self.get_violation_error_message(), code=self.violation_error_code)
            raise ValidationError({self.source: error})

    def deconstruct(self) -> tuple[str, tuple[str, ...], dict[str, Any]]:
        _, _, keywords = super().deconstruct()
        arguments = {name: getattr(self, name) for name in ("criterion", "scope", "among")}
        return "pg_simhash.django.NoNearDuplicate", (self.source,), keywords | arguments

    def __eq__(self, other: object) -> bool:
        if isinstance(other, NoNearDuplicate):
            return self.deconstruct() == other.deconstruct()
        return NotImplemented

    __hash__ = BaseConstraint.__hash__
