"""The lookup ``near``, of texts and of fingerprints."""

import json
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import BooleanField, CharField, Lookup, TextField
from django.db.models.sql import Query
from django.db.models.sql.compiler import SQLCompiler

from .expressions import jsonb_value
from .fields import FingerprintField

DEFAULT_DISTANCE = 3


@CharField.register_lookup
@TextField.register_lookup
class NearText(Lookup):
    """``simhash_near(content, text, criterion)``: whether two texts are near-duplicates.

    ``body__near=text`` is for the default criterion, ``body__near=(text, {"resemblance": 0.9})`` for another one. The
    text is a str or an expression such as ``OuterRef("body")``. Indexes on the bands of the field serve the lookup. If
    the bands have options, give them in the criterion.
    """

    lookup_name = "near"
    output_field = BooleanField()

    def __init__(self, lhs: Any, rhs: Any) -> None:
        rhs, self.criterion = rhs if isinstance(rhs, (tuple, list)) else (rhs, {})
        super().__init__(lhs, rhs)

    @property
    def identity(self) -> tuple[Any, ...]:
        return *super().identity, json.dumps(self.criterion, sort_keys=True)

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, list[Any]]:
        lhs, lhs_params = self.process_lhs(compiler, connection)
        rhs, rhs_params = self.process_rhs(compiler, connection)
        if not self.criterion:
            return f"simhash_near({lhs}, {rhs})", [*lhs_params, *rhs_params]
        criterion, params = compiler.compile(jsonb_value(self.criterion))
        return f"simhash_near({lhs}, {rhs}, {criterion})", [*lhs_params, *rhs_params, *params]


@FingerprintField.register_lookup
class NearFingerprint(Lookup):
    """``simhash_near(fingerprint, value, max_distance)``: whether two fingerprints differ in few bits.

    ``fingerprint__near=value`` is for a distance of at most 3, ``fingerprint__near=(value, 6)`` of at most 6. The value
    is an int, an expression such as ``F("other__fingerprint")`` or ``SimHash(Value(text))``, or a queryset of one
    fingerprint. Block indexes serve the lookup.
    """

    lookup_name = "near"
    output_field = BooleanField()

    def __init__(self, lhs: Any, rhs: Any) -> None:
        rhs, max_distance = rhs if isinstance(rhs, (tuple, list)) else (rhs, DEFAULT_DISTANCE)
        # The distance becomes a constant in the SQL.
        self.max_distance = int(max_distance)
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
