"""Tables of the tests: one that exists before it gets indexes (the page has its second migration), and one that has
bands, and fingerprints that the database computes."""

from django.db import models

from pg_simhash.django import FingerprintField, SimHash, band_indexes, block_indexes


class Letter(models.Model):
    body = models.TextField()


class Note(models.Model):
    url = models.URLField(unique=True)
    body = models.TextField()
    fingerprint = models.GeneratedField(
        expression=SimHash("body"), output_field=FingerprintField(), db_persist=True, null=True
    )

    class Meta:
        indexes = [
            *band_indexes("body", name="note_body"),
            *block_indexes("fingerprint", name="note_simhash"),
        ]
