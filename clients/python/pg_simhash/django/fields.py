"""The field of a fingerprint column."""

from typing import Any

from django.db import models

LOWEST, HIGHEST = -(2**63), 2**63 - 1


class FingerprintField(models.BigIntegerField):
    """A 64-bit SimHash fingerprint: a signed ``bigint`` that the database computes.

    It is the output field of a generated column, and has the lookup ``near``::

        fingerprint = models.GeneratedField(
            expression=SimHash("body"), output_field=FingerprintField(), db_persist=True, null=True
        )

    A text without a word has no fingerprint, so the field is ``null=True``. Forms leave the field out.
    """

    description = "SimHash fingerprint (64 bits)"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("editable", False)
        super().__init__(*args, **kwargs)

    def deconstruct(self) -> tuple[str, str, list[Any], dict[str, Any]]:
        name, _, args, kwargs = super().deconstruct()
        if kwargs.pop("editable", True):
            kwargs["editable"] = True
        return name, "pg_simhash.django.FingerprintField", args, kwargs

    def get_prep_value(self, value: Any) -> Any:
        """Checks a fingerprint for the database. Integers beyond signed 64 bits are refused, not wrapped around, and so
        are floats, which have lost bits."""
        if isinstance(value, float):
            raise TypeError(f"Fingerprint {value!r} is a float, which cannot have all bits of a fingerprint.")
        value = super().get_prep_value(value)
        if isinstance(value, int) and not LOWEST <= value <= HIGHEST:
            raise ValueError(
                f"Fingerprint {value} is out of range: fingerprints are signed 64-bit integers. "
                "Subtract 2**64 from an unsigned one that is 2**63 or more."
            )
        return value
