"""The lookup ``near``."""

from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import BooleanField, Lookup
from django.db.models.sql import Query
from django.db.models.sql.compiler import SQLCompiler

from .fields import FingerprintField

DEFAULT_DISTANCE = 3


@FingerprintField.register_lookup
class Near(Lookup):
    """``simhash_near(fingerprint, value, max_distance)``: whether two fingerprints differ in few bits.

    ``fingerprint__near=value`` is for a distance of at most 3, ``fingerprint__near=(value, 6)`` of at most 6. The value
    is an int, an expression such as ``F("other__fingerprint")`` or ``SimHash(Value(text))``, or a queryset of one
    fingerprint. Block indexes serve the lookup.
    """

    lookup_name = "near"
    output_field = BooleanField()

    def __init__(self, lhs: Any, rhs: Any) -> None:
        self.max_distance = DEFAULT_DISTANCE
        if isinstance(rhs, (tuple, list)):
            if len(rhs) != 2:
                raise ValueError(f"The lookup near takes a fingerprint, or (fingerprint, distance), not {rhs!r}.")
            rhs, self.max_distance = rhs
        if type(self.max_distance) is not int or not 0 <= self.max_distance <= 64:
            raise ValueError(f"The distance of the lookup near is an int from 0 to 64, not {self.max_distance!r}.")
        if isinstance(rhs, str):
            raise ValueError(f"The lookup near takes a fingerprint: search for a text with SimHash(Value({rhs!r})).")
        if isinstance(rhs, Query) and not rhs.has_select_fields:
            raise ValueError('The queryset of the lookup near must select a fingerprint: add .values("fingerprint").')
        super().__init__(lhs, rhs)

    @property
    def identity(self) -> tuple[Any, ...]:
        return *super().identity, self.max_distance

    def get_prep_lookup(self) -> Any:
        if hasattr(self.rhs, "resolve_expression"):
            return self.rhs
        # The left side may be an integer expression of any kind; the right side is a fingerprint.
        return FingerprintField().get_prep_value(self.rhs)

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, list[Any]]:
        lhs, lhs_params = self.process_lhs(compiler, connection)
        rhs, rhs_params = self.process_rhs(compiler, connection)
        return f"simhash_near({lhs}, {rhs}, {self.max_distance})", [*lhs_params, *rhs_params]
