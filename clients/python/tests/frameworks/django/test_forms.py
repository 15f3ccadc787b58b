"""The constraint NoNearDuplicate: forms, the admin, and Django REST framework."""

import datetime

from articles.models import Article
from articles.serializers import ArticleSerializer
from django.apps import apps
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction
from django.db.migrations.state import ProjectState
from django.db.migrations.writer import MigrationWriter
from django.db.models import F, IntegerField, Model, TextField
from django.forms import modelform_factory
from django.test import TestCase
from django.test.utils import isolate_apps
from django.urls import reverse
from rest_framework import serializers
from stories.models import DatedStory, FreeStory, QuotedStory, Tenant, TenantStory
from texts import NEAR, OTHER, TEXT

from pg_simhash.django import Guard, NoNearDuplicate

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

    def test_admin(self):
        self.client.force_login(User.objects.create_superuser("admin"))
        add = reverse("admin:articles_article_add")
        response = self.client.post(add, {"url": "https://example.org/a", "body": NEAR})
        self.assertContains(response, MESSAGE)
        self.assertEqual(list(response.context["adminform"].errors), ["body"])
        self.assertEqual(self.client.post(add, {"url": "https://example.org/a", "body": OTHER}).status_code, 302)

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

    def test_among(self):
        """Only rows for which the condition holds count."""
        DatedStory.objects.create(day=datetime.date(2026, 1, 1), number=1, body=TEXT)
        story = DatedStory(day=datetime.date(2026, 1, 1), number=2, body=NEAR)
        for condition, counts in (
            ("number = 1 -- the first", True),
            ("body LIKE 'word0 %' AND number % 2 = 1", True),
            ("number > 1 OR near IS NOT NULL", False),
            ("NULL", False),
        ):
            constraint = NoNearDuplicate("body", name="n", among=condition)
            with self.subTest(condition):
                if counts:
                    self.assertNear(constraint, story)
                else:
                    constraint.validate(DatedStory, story)

    def test_unless(self):
        """An instance for which the condition holds is not checked."""
        FreeStory.objects.create(slug="a", body=TEXT)
        near = FreeStory(slug="50%", body=NEAR, views=3)
        for condition, is_checked in (
            ("views = 3 -- three", False),
            ("slug LIKE '50%' AND id IS NULL", False),
            ("views > 3", True),
            ("id > 3", True),
        ):
            constraint = NoNearDuplicate("body", name="n", unless=condition)
            with self.subTest(condition):
                if is_checked:
                    self.assertNear(constraint, near)
                else:
                    constraint.validate(FreeStory, near)
        quoted = QuotedStory(body=NEAR, owner="us")
        NoNearDuplicate("body", name="n", unless="\"Owner of it\" = 'us'").validate(QuotedStory, quoted)
        with isolate_apps("stories"):

            class SharedStory(Model):
                body = TextField()
                share = IntegerField(db_column="share in %s")

                class Meta:
                    app_label = "stories"

        shared = SharedStory(body=NEAR, share=60)
        NoNearDuplicate("body", name="n", unless='"share in %s" > 50').validate(SharedStory, shared)
        stored = FreeStory.objects.create(slug="b", body=OTHER)
        stored.body, stored.views = NEAR, F("views") + 1
        self.assertNear(NoNearDuplicate("body", name="n", unless="views = 1"), stored)

    def test_as_guard(self):
        """With the arguments of a guard, what it rejects is near, and nothing else."""
        arguments = {"criterion": {"resemblance": 0.7, "same": ["numbers"]}, "among": "views < 9"}
        guard = Guard("FreeStory", fingerprint="fingerprint", **arguments)
        state = ProjectState.from_apps(apps)
        with connection.schema_editor() as editor:
            guard.database_forwards("stories", editor, state, state)
        constraint = NoNearDuplicate("body", name="n", **arguments)
        FreeStory.objects.create(slug="a", body="Our ferry leaves at noon, from the old pier")
        FreeStory.objects.create(slug="b", body="The museum opens late on Mondays", views=9)
        outcomes = set()
        for body in (
            "OUR FERRY leaves at noon, from the old pier!",
            "Our ferry leaves at noon from the old piers",
            "Our ferry leaves at 12, from the old pier",
            "Our ferry leaves at night, from the new pier",
            "The museum opens late on Mondays!",
            "Nothing is like this",
        ):
            try:
                with transaction.atomic():
                    story = FreeStory.objects.create(slug="c", body=body)
            except IntegrityError:
                is_near = True
            else:
                is_near = False
                story.delete()
            with self.subTest(body):
                if is_near:
                    self.assertNear(constraint, FreeStory(slug="d", body=body))
                else:
                    constraint.validate(FreeStory, FreeStory(slug="d", body=body))
            outcomes.add(is_near)
        self.assertEqual(outcomes, {True, False})

    def test_migration(self):
        more = {"criterion": {"radii": [1, 1, 1], "same": ["numbers"]}, "among": "views < 9", "unless": "views = 0"}
        for name, value in more.items():
            self.assertNotEqual(NoNearDuplicate("body", name="n"), NoNearDuplicate("body", name="n", **{name: value}))
        constraint = NoNearDuplicate("body", name="n", scope=["tenant"], violation_error_message="Again?", **more)
        self.assertEqual(
            constraint,
            NoNearDuplicate("body", name="n", scope=("tenant",), violation_error_message="Again?", **more),
        )
        self.assertNotEqual(constraint, NoNearDuplicate("body", name="n"))
        written, imports = MigrationWriter.serialize(constraint)
        self.assertIn("pg_simhash.django.NoNearDuplicate('body', ", written)
        self.assertEqual(imports, {"import pg_simhash.django"})
        self.assertEqual(eval(written, {"pg_simhash": __import__("pg_simhash.django")}), constraint)
