"""The field, and the indexes of Meta.indexes."""

from django.core.exceptions import ValidationError
from django.db import models
from django.test import SimpleTestCase

from pg_simhash.django import (
    FingerprintField,
    SimHash,
    SimHashBand,
    SimHashBlock,
    SimHashSize,
    band_indexes,
    block_indexes,
)


class Field(SimpleTestCase):
    def test_deconstruct(self):
        """A migration has the short path, and no argument that is the default."""
        for arguments in {}, {"null": True}, {"editable": True, "db_column": "Finger print"}:
            _, path, positional, keywords = FingerprintField(**arguments).deconstruct()
            self.assertEqual((path, positional, keywords), ("pg_simhash.django.FingerprintField", [], arguments))
            self.assertEqual(FingerprintField(**keywords).editable, arguments.get("editable", False))

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


class Indexes(SimpleTestCase):
    def test_band_indexes(self):
        options = {"ngram": 2}
        self.assertEqual(
            band_indexes("body", name="story", options=options, bands=2, scope=["tenant"]),
            [
                models.Index(
                    models.F("tenant"),
                    SimHashBand("body", band, options),
                    SimHashSize("body", options),
                    SimHash("body", options),
                    name=f"story_{band}",
                )
                for band in range(2)
            ],
        )

    def test_order_of_options(self):
        """makemigrations writes them sorted, and must not see a change then."""
        given, written = {"ngram": 2, "case_fold": False}, {"case_fold": False, "ngram": 2}
        self.assertEqual(*(band_indexes("body", name="story", options=options) for options in (given, written)))

    def test_block_indexes(self):
        self.assertEqual(
            block_indexes("f", name="story", blocks=2, scope=["tenant"]),
            [
                models.Index(models.F("tenant"), SimHashBlock("f", block, 2), models.F("f"), name=f"story_{block}")
                for block in range(2)
            ],
        )
