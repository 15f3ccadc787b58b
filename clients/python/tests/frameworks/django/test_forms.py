"""The constraint NoNearDuplicate: forms, the admin, and Django REST framework."""

import datetime

from articles.models import Article
from articles.serializers import ArticleSerializer
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.migrations.writer import MigrationWriter
from django.forms import modelform_factory
from django.test import TestCase
from rest_framework import serializers
from stories.models import DatedStory, QuotedStory, Tenant, TenantStory
from texts import NEAR, OTHER, TEXT

from pg_simhash.django import NoNearDuplicate

MESSAGE = "There is already nearly the same text."


class Forms(TestCase):
    def setUp(self):
        self.first = Article.objects.create(url="https://example.org/first", body=TEXT)
        self.form = modelform_factory(Article, fields=["url", "body"])

    def errors(self, body, instance=None):
        return self.form({"url": "https://example.org/a", "body": body}, instance=instance).errors.as_data()

    def test_new(self):
        self.assertEqual(self.errors(OTHER), {})
        self.assertEqual(self.errors("..."), {})
        errors = self.errors(NEAR)
        self.assertEqual([error.code for error in errors.pop("body")], ["near_duplicate"])
        self.assertEqual(errors, {})

    def test_stored(self):
        """An article is no near-duplicate of itself, and one whose text does not change is not checked."""
        self.assertEqual(self.errors(NEAR, self.first), {})
        second = Article.objects.create(url="https://example.org/second", body=OTHER)
        self.assertIn("body", self.errors(NEAR, second))
        second.refresh_from_db()
        self.assertEqual(self.errors(OTHER, second), {})

    def test_field_left_out(self):
        form = modelform_factory(Article, fields=["url"])
        self.assertEqual(form({"url": "https://example.org/b"}, instance=self.first).errors, {})

    def test_serializer(self):
        class Plain(serializers.ModelSerializer):
            class Meta:
                model = Article
                fields = ["url", "body"]

        data = {"url": "https://example.org/c", "body": NEAR}
        plain = Plain(data=data)
        self.assertTrue(plain.is_valid())
        with (
            self.assertRaisesMessage(IntegrityError, "near-duplicate violates guard"),
            transaction.atomic(),
        ):
            plain.save()
        checked = ArticleSerializer(data=data)
        self.assertFalse(checked.is_valid())
        self.assertEqual(checked.errors, {"body": [MESSAGE]})
        changed = ArticleSerializer(self.first, data={"body": NEAR}, partial=True)
        self.assertTrue(changed.is_valid())
        self.assertEqual(changed.save().body, NEAR)
        self.first.refresh_from_db()
        self.assertEqual(
            ArticleSerializer(self.first).data["fingerprint"],
            str(self.first.fingerprint),
        )


class Constraint(TestCase):
    def assertNear(self, constraint, instance):
        with self.assertRaisesMessage(ValidationError, MESSAGE):
            constraint.validate(type(instance), instance)

    def test_scope(self):
        one, other = (
            Tenant.objects.create(name="one"),
            Tenant.objects.create(name="other"),
        )
        TenantStory.objects.create(tenant=one, body=TEXT)
        constraint = NoNearDuplicate("body", name="scoped", scope=["tenant"])
        self.assertNear(constraint, TenantStory(tenant=one, body=NEAR))
        constraint.validate(TenantStory, TenantStory(tenant=other, body=NEAR))
        constraint.validate(TenantStory, TenantStory(tenant=one, body=NEAR), exclude={"tenant"})

    def test_limits(self):
        DatedStory.objects.create(day=datetime.date(2026, 1, 1), number=1, body=TEXT)
        story = DatedStory(day=datetime.date(2026, 1, 1), number=2, body=NEAR)
        # Distance 3, resemblance 0.997.
        self.assertNear(NoNearDuplicate("body", name="n", max_distance=3), story)
        self.assertNear(NoNearDuplicate("body", name="n", resemblance=None), story)
        NoNearDuplicate("body", name="n", max_distance=2).validate(DatedStory, story)
        NoNearDuplicate("body", name="n", resemblance=0.999).validate(DatedStory, story)

    def test_options(self):
        QuotedStory.objects.create(body=TEXT, owner="a")
        constraint = NoNearDuplicate("body", name="n", options={"ngram": 2})
        self.assertNear(constraint, QuotedStory(body=NEAR, owner="a"))

    def test_migration(self):
        constraint = NoNearDuplicate("body", name="n", scope=["tenant"], violation_error_message="Again?")
        self.assertEqual(
            constraint,
            NoNearDuplicate("body", name="n", scope=("tenant",), violation_error_message="Again?"),
        )
        self.assertNotEqual(constraint, NoNearDuplicate("body", name="n"))
        written, imports = MigrationWriter.serialize(constraint)
        self.assertIn("pg_simhash.django.NoNearDuplicate('body', ", written)
        self.assertEqual(imports, {"import pg_simhash.django"})
        self.assertEqual(eval(written, {"pg_simhash": __import__("pg_simhash.django")}), constraint)
