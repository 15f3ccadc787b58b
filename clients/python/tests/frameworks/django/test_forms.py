"""The constraint NoNearDuplicate: forms, the admin, and Django REST framework."""

import json

from articles.models import Article
from articles.serializers import ArticleSerializer
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction
from django.db.migrations.writer import MigrationWriter
from django.forms import modelform_factory
from django.test import TestCase
from django.urls import reverse
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

    def test_admin(self):
        self.client.force_login(User.objects.create_superuser("admin"))
        add = reverse("admin:articles_article_add")
        response = self.client.post(add, {"url": "https://example.org/a", "body": NEAR})
        self.assertContains(response, MESSAGE)
        self.assertEqual(list(response.context["adminform"].errors), ["body"])
        self.assertEqual(self.client.post(add, {"url": "https://example.org/a", "body": OTHER}).status_code, 302)

    def test_serializer(self):
        data = {"url": "https://example.org/c", "body": NEAR}
        checked = ArticleSerializer(data=data)
        self.assertFalse(checked.is_valid())
        self.assertEqual(checked.errors, {"body": [MESSAGE]})
        changed = ArticleSerializer(self.first, data={"body": NEAR}, partial=True)
        self.assertTrue(changed.is_valid())
        self.assertEqual(changed.save().body, NEAR)


class Constraint(TestCase):
    def setUp(self):
        Article.objects.create(url="https://example.org/1", body=TEXT)

    def finds(self, instance, **arguments):
        try:
            NoNearDuplicate("body", name="n", **arguments).validate(Article, instance)
        except ValidationError as error:
            self.assertEqual(error.message_dict, {"body": [MESSAGE]})
            return True
        return False

    def test_scope(self):
        self.assertTrue(self.finds(Article(url="https://example.org/1", body=NEAR), scope=["url"]))
        self.assertFalse(self.finds(Article(url="https://example.org/2", body=NEAR), scope=["url"]))

    def test_other_scope(self):
        """An article with the stored text is checked if it changes to another scope, or was not among the rows."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT simhash_unguard('articles_article')")
        second = Article.objects.create(url="https://example.org/2", body=TEXT)
        self.assertFalse(self.finds(second, scope=["url"]))
        self.assertTrue(self.finds(second, among="url LIKE '%/1'"))
        second.url = "https://example.org/1"
        self.assertTrue(self.finds(second, scope=["url"]))

    def test_among(self):
        """Only rows for which the condition holds count. It may end in a comment, and have a % and an OR."""
        for among, counts in (
            ("url LIKE '%/1' -- the first", True),
            ("body LIKE 'word0 %' AND id % 1 = 0", True),
            ("url LIKE '%/2' OR id IS NULL", False),
            ("NULL", False),
        ):
            with self.subTest(among):
                self.assertEqual(self.finds(Article(url="https://example.org/3", body=NEAR), among=among), counts)

    def test_as_guard(self):
        """With the criterion of a guard, exactly what the guard rejects is near."""
        criterion = {"resemblance": 0.7, "bands": 6, "same": ["numbers"]}
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT simhash_guard('articles_article', 'reject', %s, source => 'body')", [json.dumps(criterion)]
            )
        Article.objects.create(url="https://example.org/ferry", body="Our ferry leaves at noon, from the old pier")
        outcomes = set()
        for body in (
            "OUR FERRY leaves at noon, from the old pier!",
            "Our ferry leaves at noon from the old piers",
            "Our ferry leaves at 12, from the old pier",
            "Our ferry leaves at night, from the new pier",
            "Nothing is like this",
        ):
            instance = Article(url="https://example.org/new", body=body)
            with self.subTest(body):
                is_near = self.finds(instance, criterion=criterion)
                try:
                    with transaction.atomic():
                        instance.save()
                        instance.delete()
                    is_rejected = False
                except IntegrityError:
                    is_rejected = True
                self.assertEqual(is_near, is_rejected)
                outcomes.add(is_rejected)
        self.assertEqual(outcomes, {True, False})

    def test_migration(self):
        arguments = {"criterion": {"same": ["numbers"]}, "among": "id < 9", "scope": ["url"]}
        constraint = NoNearDuplicate("body", name="n", violation_error_message="Again?", **arguments)
        self.assertNotEqual(constraint, NoNearDuplicate("body", name="n", violation_error_message="Again?"))
        written, imports = MigrationWriter.serialize(constraint)
        self.assertEqual(imports, {"import pg_simhash.django"})
        self.assertEqual(eval(written, {"pg_simhash": __import__("pg_simhash.django")}), constraint)
