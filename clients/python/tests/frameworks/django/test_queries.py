"""The lookups and the expressions, compared with what Python computes, and that searches use the indexes."""

import random

from archive.models import Letter, Note
from django.db import connection
from django.db.models import Exists, OuterRef, Subquery, Value
from django.test import TestCase
from texts import NEAR, OTHER, TEXT

from pg_simhash import hamming
from pg_simhash.django import HammingDistance, Resemblance, SimHash


class Queries(TestCase):
    """Notes of 100 random words, and variants of some of them."""

    @classmethod
    def setUpTestData(cls):
        rng = random.Random(1)
        bodies = [" ".join(f"{rng.getrandbits(32):x}" for _ in range(100)) for _ in range(1000)]
        bodies += [body + " more" * (number % 3) + f" {number % 4}" for number, body in enumerate(bodies[:60])]
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")
            Note.objects.bulk_create(
                Note(url=f"https://example.org/{number}", body=body) for number, body in enumerate(bodies)
            )
            cursor.execute("ANALYZE archive_note")
        cls.fingerprints = dict(Note.objects.values_list("pk", "fingerprint"))
        cls.note = Note.objects.get(url="https://example.org/1001")
        cls.query = cls.note.fingerprint

    def assertFinds(self, queryset, expected):
        self.assertEqual(set(queryset.values_list("pk", flat=True)), set(expected))
        self.assertIn("Custom Scan (SimhashScan) on archive_note", queryset.explain())

    def near(self, distance):
        """The oracle: the keys of the notes within a distance of the query, by hamming in Python."""
        return {pk for pk, fingerprint in self.fingerprints.items() if hamming(fingerprint, self.query) <= distance}

    def test_near(self):
        one = Note.objects.filter(pk=self.note.pk).values("fingerprint")
        for value, distance in (
            (self.query, 3),
            ((self.query, 5), 5),
            (SimHash(Value(self.note.body.upper())), 3),
            (one, 3),
            ((Subquery(one), 3), 3),
        ):
            with self.subTest(value):
                self.assertFinds(Note.objects.filter(fingerprint__near=value), self.near(distance))

    def test_near_text(self):
        """The copies of a text; a criterion says what a copy is."""
        text = self.note.body.upper() + " and seven words more than it had"
        resemblances = Note.objects.alias(found=Resemblance("body", Value(text)))
        for least, value in (0.84, text), (0.93, (text, {"resemblance": 0.93})):
            expected = resemblances.filter(found__gte=least).values_list("pk", flat=True)
            self.assertFinds(Note.objects.filter(body__near=value), expected)
        pairs = Note.objects.filter(Exists(Note.objects.filter(body__near=OuterRef("body"), pk__lt=OuterRef("pk"))))
        self.assertEqual(pairs.count(), 60)

    def test_nearest(self):
        queryset = Note.objects.annotate(distance=HammingDistance("fingerprint", self.query))
        nearest = queryset.order_by("distance", "pk")[:10]
        expected = sorted((hamming(fingerprint, self.query), pk) for pk, fingerprint in self.fingerprints.items())[:10]
        self.assertEqual([(note.distance, note.pk) for note in nearest], expected)
        self.assertIn("Custom Scan (SimhashScan)", nearest.explain())

    def test_expressions(self):
        note = Note.objects.create(url="https://example.org/a", body=TEXT)
        computed, of_text, other, *resemblances = (
            Note.objects.filter(pk=note.pk)
            .values_list(
                SimHash("body"),
                SimHash(Value(TEXT)),
                SimHash("body", {"ngram": 2}),
                Resemblance("body", Value(NEAR)),
                Resemblance("body", Value(OTHER)),
                Resemblance("body", Value(NEAR), {"ngram": 2}),
            )
            .get()
        )
        self.assertEqual({computed, of_text}, {note.fingerprint})
        self.assertNotEqual(other, computed)
        # Common are 599 of 601 words, 598 of 600 pairs of words and, with pairs as features, 597 of 599 pairs of pairs.
        self.assertEqual(resemblances, [(599 + 598) / (601 + 600), 0, (598 + 597) / (600 + 599)])

    def test_wrong_values(self):
        for value, message in (
            ("a text", "The lookup near takes a fingerprint: search for a text with SimHash(Value('a text'))."),
            (2**64 - 1, "Fingerprint 18446744073709551615 is out of range: fingerprints are signed 64-bit integers. "),
            (Note.objects.all(), 'The queryset of the lookup near must select a fingerprint: add .values("'),
        ):
            with self.assertRaisesMessage(ValueError, message):
                Note.objects.filter(fingerprint__near=value)


class Indexed(TestCase):
    """A table whose indexes are not in its model."""

    def test_search(self):
        letter, _ = Letter.objects.bulk_create(Letter(body=body) for body in (TEXT, OTHER))
        near = Letter.objects.filter(body__near=NEAR)
        self.assertEqual(near.get(), letter)
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")
        self.assertIn("Custom Scan (SimhashScan)", near.explain())
