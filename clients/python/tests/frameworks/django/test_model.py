"""The field, and the indexes of Meta.indexes."""

from django.core.exceptions import ValidationError
from django.db import connection, models
from django.test import SimpleTestCase

from pg_simhash.django import FingerprintField, SimHashBlock, simhash_indexes


class Field(SimpleTestCase):
    def test_deconstruct(self):
        """A migration has the short path, and no argument that is the default."""
        for arguments in {}, {"null": True}, {"editable": True, "db_column": "Finger print"}:
            _, path, positional, keywords = FingerprintField(**arguments).deconstruct()
            self.assertEqual((path, positional, keywords), ("pg_simhash.django.FingerprintField", [], arguments))
            self.assertEqual(FingerprintField(**keywords).editable, arguments.get("editable", False))

    def test_type(self):
        self.assertEqual(FingerprintField().db_type(connection), "bigint")
        self.assertEqual(FingerprintField().description, "SimHash fingerprint (64 bits)")

    def test_values(self):
        field = FingerprintField(editable=True, null=True)
        for value in -(2**63), 0, 2**63 - 1:
            self.assertEqual(field.get_prep_value(str(value)), value)
            self.assertEqual(field.clean(str(value), None), value)
        self.assertIsNone(field.get_prep_value(None))
        for value in -(2**63) - 1, 2**63:
            with self.assertRaisesMessage(ValueError, f"Fingerprint {value} is out of range"):
                field.get_prep_value(value)
            with self.assertRaises(ValidationError):
                field.clean(value, None)
        with self.assertRaisesMessage(TypeError, "Fingerprint 9.0 is a float"):
            field.get_prep_value(9.0)

    def test_lookup(self):
        """Other integers do not have the lookup."""
        self.assertIn("near", FingerprintField.get_lookups())
        self.assertNotIn("near", models.BigIntegerField.get_lookups())


class Indexes(SimpleTestCase):
    def test_defaults(self):
        self.assertEqual(
            simhash_indexes("fingerprint", name="story"),
            [
                models.Index(SimHashBlock("fingerprint", block, 4), name=f"story_{block}", include=["fingerprint"])
                for block in range(4)
            ],
        )

    def test_arguments(self):
        self.assertEqual(
            simhash_indexes("f", name="story", blocks=2, scope=["tenant", "language"], covering=False),
            [
                models.Index(
                    models.F("tenant"), models.F("language"), SimHashBlock("f", block, 2), name=f"story_{block}"
                )
                for block in range(2)
            ],
        )
