"""The lookup and the expressions, compared with distances that Python computes."""

import random

from django.db import connection
from django.db.models import Exists, F, Max, OuterRef, Subquery, Value
from django.test import TestCase
from stories.models import FreeStory
from texts import NEAR, OTHER, TEXT, hamming

from pg_simhash.django import HammingDistance, Resemblance, SimHash


class Stories(TestCase):
    """3,000 stories of 100 random words, and variants of some of them."""

    @classmethod
    def setUpTestData(cls):
        generator = random.Random(1)
        bodies = [" ".join(f"{generator.getrandbits(32):x}" for _ in range(100)) for _ in range(3000)]
        bodies += [body + " more" * (number % 3) + f" {number % 4}" for number, body in enumerate(bodies[:60])]
        FreeStory.objects.bulk_create(
            FreeStory(slug=f"story-{number}", body=body) for number, body in enumerate(bodies)
        )
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE stories_freestory")
        cls.fingerprints = dict(FreeStory.objects.values_list("pk", "fingerprint"))
        cls.story = FreeStory.objects.get(slug="story-3001")
        cls.query = cls.story.fingerprint

    def near(self, query, distance):
        """The keys of the stories within a distance: the oracle."""
        return {pk for pk, fingerprint in self.fingerprints.items() if hamming(fingerprint, query) <= distance}

    def assertScans(self, queryset):
        self.assertIn("Custom Scan (SimhashScan) on stories_freestory", queryset.explain())


class Lookup(Stories):
    def test_default_distance(self):
        queryset = FreeStory.objects.filter(fingerprint__near=self.query)
        self.assertEqual(set(queryset.values_list("pk", flat=True)), self.near(self.query, 3))
        self.assertIn(", 3)", str(queryset.query))
        self.assertScans(queryset)

    def test_radii(self):
        """Within the distance, and within its radius in some of four blocks. A radius of -1 leaves a block out."""
        for radii in [1, 1, 1, 1], [0, 0, -1, -1], (-1, 2, -1, -1):
            expected = {
                pk
                for pk in self.near(self.query, 10)
                for block, radius in enumerate(radii)
                if ((self.fingerprints[pk] ^ self.query) >> (48 - 16 * block) & 0xFFFF).bit_count() <= radius
            }
            found = FreeStory.objects.filter(fingerprint__near=(self.query, 10, radii))
            self.assertEqual(set(found.values_list("pk", flat=True)), expected)
            self.assertScans(found)

    def test_text(self):
        """The copies of a text, by the indexes; a criterion says what a copy is."""
        text = self.story.body.upper() + " and seven words more than it had"
        resemblances = FreeStory.objects.alias(found=Resemblance("body", Value(text)))
        for limit, value in (0.84, text), (0.95, (text, {"resemblance": 0.95})), (0.6, (text, {"resemblance": 0.6})):
            queryset = FreeStory.objects.filter(body__near=value)
            expected = resemblances.filter(found__gte=limit).values_list("pk", flat=True)
            self.assertEqual(set(queryset.values_list("pk", flat=True)), set(expected))
            self.assertScans(queryset)
        pairs = FreeStory.objects.filter(
            Exists(FreeStory.objects.filter(body__near=OuterRef("body"), pk__lt=OuterRef("pk")))
        )
        self.assertEqual(pairs.count(), 60)

    def test_fingerprint_of_text(self):
        queryset = FreeStory.objects.filter(fingerprint__near=SimHash(Value(self.story.body.upper())))
        self.assertEqual(set(queryset.values_list("pk", flat=True)), self.near(self.query, 3))
        self.assertScans(queryset)

    def test_queryset(self):
        one = FreeStory.objects.filter(pk=self.story.pk).values("fingerprint")
        for value in one, Subquery(one), (one, 3):
            queryset = FreeStory.objects.filter(fingerprint__near=value)
            self.assertEqual(set(queryset.values_list("pk", flat=True)), self.near(self.query, 3))
            self.assertScans(queryset)

    def test_outer_reference(self):
        """The stories that have another near story: a join of the table with itself by the scan."""
        others = FreeStory.objects.filter(fingerprint__near=OuterRef("fingerprint")).exclude(pk=OuterRef("pk"))
        found = FreeStory.objects.filter(pk__gt=self.story.pk - 2, pk__lt=self.story.pk + 2).filter(Exists(others))
        expected = {
            pk for pk in range(self.story.pk - 1, self.story.pk + 2) if self.near(self.fingerprints[pk], 3) - {pk}
        }
        self.assertEqual(set(found.values_list("pk", flat=True)), expected)
        self.assertIn(self.story.pk, expected)

    def test_nearest_other(self):
        nearest = (
            FreeStory.objects.exclude(pk=OuterRef("pk"))
            .alias(distance=HammingDistance("fingerprint", OuterRef("fingerprint")))
            .order_by("distance", "pk")
            .values("pk")[:1]
        )
        queryset = FreeStory.objects.filter(pk=self.story.pk).annotate(nearest=Subquery(nearest))
        expected = min(
            (hamming(fingerprint, self.query), pk)
            for pk, fingerprint in self.fingerprints.items()
            if pk != self.story.pk
        )
        self.assertEqual(queryset.get().nearest, expected[1])
        self.assertScans(queryset)

    def test_update_and_delete(self):
        near = FreeStory.objects.filter(fingerprint__near=self.query)
        self.assertEqual(near.update(views=7), len(self.near(self.query, 3)))
        self.assertEqual(near.aggregate(Max("views")), {"views__max": 7})
        self.assertEqual(near.delete()[1]["stories.FreeStory"], len(self.near(self.query, 3)))


class WrongValues(TestCase):
    def check(self, value, message):
        with self.assertRaisesMessage(ValueError, message):
            FreeStory.objects.filter(fingerprint__near=value)

    def test_text(self):
        self.check("a text", "The lookup near takes a fingerprint: search for a text with SimHash(Value('a text')).")

    def test_unsigned(self):
        message = "Fingerprint 18446744073709551615 is out of range: fingerprints are signed 64-bit integers. "
        self.check(2**64 - 1, message + "Subtract 2**64 from an unsigned one that is 2**63 or more.")
        with self.assertRaisesMessage(ValueError, message):
            FreeStory.objects.order_by(HammingDistance("fingerprint", 2**64 - 1)).first()

    def test_radii(self):
        for radii in 1, "1,1", [1, 1.0], None:
            self.check((1, 10, radii), f"The radii of the lookup near are a list of ints, not {radii!r}.")


class Expressions(Stories):
    def test_fingerprint(self):
        for body in TEXT, "Ünïcode 100 % \\ 'quoted'", "":
            story = FreeStory.objects.create(slug="one", body=body)
            found = FreeStory.objects.filter(pk=story.pk).values_list(
                SimHash("body"), SimHash(Value(body)), "fingerprint", SimHash("body", {"ngram": 2})
            )
            computed, of_text, stored, other = found.get()
            self.assertEqual({computed, of_text, stored}, {story.fingerprint})
            self.assertNotEqual(other, stored or 1)
            story.delete()

    def test_distance(self):
        for pk, distance in FreeStory.objects.values_list("pk", HammingDistance("fingerprint", self.query)):
            self.assertEqual(distance, hamming(self.fingerprints[pk], self.query))
        self.assertEqual(
            FreeStory.objects.values_list(HammingDistance(F("fingerprint"), "fingerprint") + 1).first(), (1,)
        )

    def test_nearest(self):
        queryset = FreeStory.objects.annotate(distance=HammingDistance("fingerprint", self.query))
        nearest = queryset.order_by("distance", "pk")[:10]
        expected = sorted((hamming(fingerprint, self.query), pk) for pk, fingerprint in self.fingerprints.items())[:10]
        self.assertEqual([(story.distance, story.pk) for story in nearest], expected)
        self.assertScans(nearest)
        self.assertScans(FreeStory.objects.order_by(HammingDistance("fingerprint", SimHash(Value(TEXT))))[:10])

    def test_resemblance(self):
        story = FreeStory.objects.create(slug="one", body=TEXT)
        found = FreeStory.objects.filter(pk=story.pk).values_list(
            Resemblance("body", Value(NEAR)),
            Resemblance("body", Value(OTHER)),
            Resemblance("body", Value(NEAR), {"ngram": 2}),
        )
        # Common are 599 of 601 words, 598 of 600 pairs of words and, with pairs as features, 597 of 599 pairs of pairs.
        self.assertEqual(found.get(), ((599 + 598) / (601 + 600), 0, (598 + 597) / (600 + 599)))
