"""The check of a near-duplicate in forms."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.db import DEFAULT_DB_ALIAS
from django.db.models import BaseConstraint, Model, Value
from django.db.models.constants import LOOKUP_SEP

from .expressions import Resemblance, SimHash


class NoNearDuplicate(BaseConstraint):
    """Lets forms and the admin show a near-duplicate as an error of the text's field, for ``Meta.constraints``::

        constraints = [NoNearDuplicate("body", name="article_near")]

    It is checked by ``full_clean()``, which a ``ModelForm`` calls, and adds nothing to the database. A guard with
    ``reject`` still decides: another session may store a near-duplicate between the check and the INSERT, and most
    other ways to store a row check nothing.

    ``max_distance``, ``resemblance`` and ``scope`` are those of the guard, and ``options`` those of the fingerprint.
    As for the guard, an instance whose text is the stored one is not checked.
    """

    default_violation_error_message = "There is already nearly the same text."
    violation_error_code = "near_duplicate"

    def __init__(
        self,
        source: str,
        *,
        name: str,
        fingerprint: str = "fingerprint",
        max_distance: int = 10,
        resemblance: float | None = 0.89,
        scope: Sequence[str] = (),
        options: Mapping[str, Any] | None = None,
        **violation_error: Any,
    ) -> None:
        self.arguments = {
            "fingerprint": fingerprint,
            "max_distance": max_distance,
            "resemblance": resemblance,
            "scope": list(scope),
            "options": options,
        }
        self.source = source
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
        text, scope = getattr(instance, self.source), self.arguments["scope"]
        if not text or not {self.source, *scope}.isdisjoint(exclude or ()):
            return
        rows = model._base_manager.using(using)
        if not instance._state.adding:
            if rows.filter(pk=instance.pk, **{self.source: text}).exists():
                return
            rows = rows.exclude(pk=instance.pk)
        options, resemblance = self.arguments["options"], self.arguments["resemblance"]
        near = SimHash(Value(text), options), self.arguments["max_distance"]
        rows = rows.filter(**{self.arguments["fingerprint"] + LOOKUP_SEP + "near": near})
        rows = rows.filter(**{field: getattr(instance, field) for field in scope})
        if resemblance is not None:
            rows = rows.alias(found=Resemblance(self.source, Value(text), options)).filter(found__gte=resemblance)
        if rows.exists():
            error = ValidationError(self.get_violation_error_message(), code=self.violation_error_code)
            raise ValidationError({self.source: error})

    def deconstruct(self) -> tuple[str, tuple[str, ...], dict[str, Any]]:
        _, _, keywords = super().deconstruct()
        return "pg_simhash.django.NoNearDuplicate", (self.source,), keywords | self.arguments

    def __eq__(self, other: object) -> bool:
        if isinstance(other, NoNearDuplicate):
            return self.deconstruct() == other.deconstruct()
        return NotImplemented

    __hash__ = BaseConstraint.__hash__
