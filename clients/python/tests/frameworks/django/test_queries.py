"""The lookups and the expressions, compared with what Python computes, and that searches use the indexes."""

import random

from archive.models import Letter
from articles.models import Article
from django.db import connection
from django.db.models import Exists, OuterRef, Subquery, Value
from django.test import TestCase
from texts import NEAR, OTHER, TEXT, hamming

from pg_simhash.django import HammingDistance, Resemblance, SimHash


class Queries(TestCase):
    """Articles of 100 random words, and variants of some of them."""

    @classmethod
    def setUpTestData(cls):
        generator = random.Random(1)
        bodies = [" ".join(f"{generator.getrandbits(32):x}" for _ in range(100)) for _ in range(1000)]
        bodies += [body + " more" * (number % 3) + f" {number % 4}" for number, body in enumerate(bodies[:60])]
        with connection.cursor() as cursor:
            cursor.execute("SELECT simhash_unguard('articles_article')")
            cursor.execute("SET LOCAL enable_seqscan = off")
            Article.objects.bulk_create(
                Article(url=f"https://example.org/{number}", body=body) for number, body in enumerate(bodies)
            )
            cursor.execute("ANALYZE articles_article")
        cls.fingerprints = dict(Article.objects.values_list("pk", "fingerprint"))
        cls.article = Article.objects.get(url="https://example.org/1001")
        cls.query = cls.article.fingerprint

    def assertFinds(self, queryset, expected):
        self.assertEqual(set(queryset.values_list("pk", flat=True)), set(expected))
        self.assertIn("Custom Scan (SimhashScan) on articles_article", queryset.explain())

    def near(self, distance):
        """The keys of the articles within a distance: the oracle."""
        return {pk for pk, fingerprint in self.fingerprints.items() if hamming(fingerprint, self.query) <= distance}

    def test_near(self):
        one = Article.objects.filter(pk=self.article.pk).values("fingerprint")
        for value, distance in (
            (self.query, 3),
            ((self.query, 5), 5),
            (SimHash(Value(self.article.body.upper())), 3),
            (one, 3),
            ((Subquery(one), 3), 3),
        ):
            with self.subTest(value):
                self.assertFinds(Article.objects.filter(fingerprint__near=value), self.near(distance))

    def test_radii(self):
        """Within the distance, and within its radius in some of four blocks. A radius of -1 leaves a block out."""
        for radii in [1, 1, 1, 1], (-1, 2, -1, -1):
            expected = {
                pk
                for pk in self.near(10)
                for block, radius in enumerate(radii)
                if ((self.fingerprints[pk] ^ self.query) >> (48 - 16 * block) & 0xFFFF).bit_count() <= radius
            }
            self.assertFinds(Article.objects.filter(fingerprint__near=(self.query, 10, radii)), expected)

    def test_near_text(self):
        """The copies of a text; a criterion says what a copy is."""
        text = self.article.body.upper() + " and seven words more than it had"
        resemblances = Article.objects.alias(found=Resemblance("body", Value(text)))
        for limit, value in (0.84, text), (0.6, (text, {"resemblance": 0.6})):
            expected = resemblances.filter(found__gte=limit).values_list("pk", flat=True)
            self.assertFinds(Article.objects.filter(body__near=value), expected)
        pairs = Article.objects.filter(
            Exists(Article.objects.filter(body__near=OuterRef("body"), pk__lt=OuterRef("pk")))
        )
        self.assertEqual(pairs.count(), 60)

    def test_nearest(self):
        queryset = Article.objects.annotate(distance=HammingDistance("fingerprint", self.query))
        nearest = queryset.order_by("distance", "pk")[:10]
        expected = sorted((hamming(fingerprint, self.query), pk) for pk, fingerprint in self.fingerprints.items())[:10]
        self.assertEqual([(article.distance, article.pk) for article in nearest], expected)
        self.assertIn("Custom Scan (SimhashScan)", nearest.explain())

    def test_expressions(self):
        article = Article.objects.create(url="https://example.org/a", body=TEXT)
        computed, of_text, other, *resemblances = (
            Article.objects.filter(pk=article.pk)
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
        self.assertEqual({computed, of_text}, {article.fingerprint})
        self.assertNotEqual(other, computed)
        # Common are 599 of 601 words, 598 of 600 pairs of words and, with pairs as features, 597 of 599 pairs of pairs.
        self.assertEqual(resemblances, [(599 + 598) / (601 + 600), 0, (598 + 597) / (600 + 599)])

    def test_wrong_values(self):
        for value, message in (
            ("a text", "The lookup near takes a fingerprint: search for a text with SimHash(Value('a text'))."),
            (2**64 - 1, "Fingerprint 18446744073709551615 is out of range: fingerprints are signed 64-bit integers. "),
            (Article.objects.all(), 'The queryset of the lookup near must select a fingerprint: add .values("'),
        ):
            with self.assertRaisesMessage(ValueError, message):
                Article.objects.filter(fingerprint__near=value)


class IndexesAlone(TestCase):
    def test_search(self):
        letter, _ = Letter.objects.bulk_create(Letter(body=body) for body in (TEXT, OTHER))
        near = Letter.objects.alias(fingerprint=SimHash("body")).filter(fingerprint__near=SimHash(Value(NEAR)))
        self.assertEqual(near.get(), letter)
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")
        self.assertIn("Custom Scan (SimhashScan)", near.explain())
