"""The check of a near-duplicate in forms."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.db import DEFAULT_DB_ALIAS
from django.db.models import BaseConstraint, BooleanField, Model, Value
from django.db.models.constants import LOOKUP_SEP
from django.db.models.expressions import RawSQL

from .expressions import Resemblance, SimHash


class NoNearDuplicate(BaseConstraint):
    """Lets forms and the admin show a near-duplicate as an error of the text's field, for ``Meta.constraints``::

        constraints = [NoNearDuplicate("body", name="article_near")]

    It is checked by ``full_clean()``, which a ``ModelForm`` calls, and adds nothing to the database. A guard with
    ``reject`` still decides: another session may store a near-duplicate between the check and the INSERT, and most
    other ways to store a row check nothing.

    The arguments are those of the guard, with the defaults that it has if the table is indexed by four blocks:
    ``max_distance``, ``resemblance``, ``scope``, ``radii``, ``options`` and ``among``. ``fingerprint_options`` are
    those of the fingerprint, and the ``options`` too unless others are given. As for the guard, an instance whose text
    is the stored one is not checked.
    """

    default_violation_error_message = "There is already nearly the same text."
    violation_error_code = "near_duplicate"

    def __init__(
        self,
        source: str,
        *,
        name: str,
        fingerprint: str = "fingerprint",
        max_distance: int | None = None,
        resemblance: float | None = 0.84,
        scope: Sequence[str] = (),
        radii: Sequence[int] = (1, 1, 1, 1),
        options: Mapping[str, Any] | None = None,
        among: str | None = None,
        fingerprint_options: Mapping[str, Any] | None = None,
        **violation_error: Any,
    ) -> None:
        self.arguments = {
            "fingerprint": fingerprint,
            "max_distance": max_distance,
            "resemblance": resemblance,
            "scope": list(scope),
            "radii": list(radii),
            "options": options,
            "among": among,
            "fingerprint_options": fingerprint_options,
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
        arguments = self.arguments
        text, scope = getattr(instance, self.source), arguments["scope"]
        if not text or not {self.source, *scope}.isdisjoint(exclude or ()):
            return
        rows = model._base_manager.using(using)
        if not instance._state.adding:
            if rows.filter(pk=instance.pk, **{self.source: text}).exists():
                return
            rows = rows.exclude(pk=instance.pk)
        options, resemblance = arguments["fingerprint_options"], arguments["resemblance"]
        near = SimHash(Value(text), options), self._max_distance(), arguments["radii"]
        rows = rows.filter(**{arguments["fingerprint"] + LOOKUP_SEP + "near": near})
        rows = rows.filter(**{field: getattr(instance, field) for field in scope})
        if arguments["among"] is not None:
            among = arguments["among"].replace("%", "%%")
            rows = rows.filter(RawSQL(f"({among}\n)", (), output_field=BooleanField()))
        if resemblance is not None:
            if arguments["options"] is not None:
                options = arguments["options"]
            rows = rows.alias(found=Resemblance(self.source, Value(text), options)).filter(found__gte=resemblance)
        if rows.exists():
            error = ValidationError(self.get_violation_error_message(), code=self.violation_error_code)
            raise ValidationError({self.source: error})

    def _max_distance(self) -> int:
        """The distance that is given, or the default of a guard with these radii and this resemblance."""
        if self.arguments["max_distance"] is not None:
            distance: int = self.arguments["max_distance"]
            return distance
        if self.arguments["resemblance"] is None:
            return 3
        return 10 if self.arguments["radii"] else 6

    def deconstruct(self) -> tuple[str, tuple[str, ...], dict[str, Any]]:
        _, _, keywords = super().deconstruct()
        return "pg_simhash.django.NoNearDuplicate", (self.source,), keywords | self.arguments

    def __eq__(self, other: object) -> bool:
        if isinstance(other, NoNearDuplicate):
            return self.deconstruct() == other.deconstruct()
        return NotImplemented

    __hash__ = BaseConstraint.__hash__
