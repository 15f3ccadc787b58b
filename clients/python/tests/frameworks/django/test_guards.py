"""What Django does under a guard of each action: every way to write a row."""

import datetime
import io
import json
import tempfile

import psycopg
from django.core import management
from django.db import IntegrityError, connection, transaction
from django.test import TestCase, TransactionTestCase
from stories.models import (
    DatedStory,
    MarkedStory,
    NumberedStory,
    QuotedStory,
    RejectedStory,
    SkippedNote,
    SkippedStory,
    Tenant,
)
from texts import NEAR, OTHER, TEXT, THIRD

from pg_simhash.django import near_duplicate

# What Django 5.2 raises when INSERT ... RETURNING returns no row.
NO_ROW = "'NoneType' object is not iterable"


def load(model, *rows):
    """Loads a fixture of rows, and returns what loaddata prints."""
    objects = [{"model": model._meta.label, "pk": row.pop("pk"), "fields": row} for row in rows]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file, io.StringIO() as output:
        json.dump(objects, file)
        file.flush()
        management.call_command("loaddata", file.name, stdout=output)
        return output.getvalue().strip()


class Guarded:
    """A story with the text TEXT, and ways to write others."""

    model = None

    def setUp(self):
        self.first = self.model.objects.create(slug="first", body=TEXT)

    def unsaved(self, slug, body, **fields):
        return self.model(slug=slug, body=body, **fields)

    def three(self, first_key=None):
        """Three stories of which the second one is near the first story."""
        bodies = {"other": OTHER, "near": NEAR, "third": THIRD}
        stories = [self.unsaved(slug, body) for slug, body in bodies.items()]
        if first_key:
            for number, story in enumerate(stories):
                story.pk = first_key + number
        return stories

    def slugs(self):
        return sorted(self.model.objects.values_list("slug", flat=True))

    def keys_in_memory(self, stories):
        return {story.slug: story.pk for story in stories}

    def keys_in_database(self):
        return dict(self.model.objects.exclude(pk=self.first.pk).values_list("slug", "pk"))

    def test_own_row(self):
        """A row is never its own duplicate."""
        self.first.views = 1
        self.first.save()
        self.first.body = NEAR
        before = self.first.fingerprint
        self.first.save()
        # Django does not read generated fields back after an UPDATE.
        self.assertEqual(self.first.fingerprint, before)
        self.first.refresh_from_db()
        self.assertNotEqual(self.first.fingerprint, before)
        self.assertEqual((self.first.views, self.first.body), (1, NEAR))

    def test_upsert_of_own_row(self):
        """A row with the same key is not a near-duplicate: it is updated."""
        story = self.unsaved("first", NEAR)
        self.model.objects.bulk_create([story], update_conflicts=True, unique_fields=["slug"], update_fields=["body"])
        self.assertEqual(story.pk, self.first.pk)
        self.assertEqual(self.model.objects.get().body, NEAR)


class Reject(Guarded, TestCase):
    model = RejectedStory

    def assertRejects(self, write, *arguments, **keywords):
        with self.assertRaises(IntegrityError) as caught, transaction.atomic():
            write(*arguments, **keywords)
        error = caught.exception.__cause__
        self.assertIsInstance(error, psycopg.errors.ExclusionViolation)
        self.assertEqual(error.diag.constraint_name, "zzz_simhash_guard")
        near = near_duplicate(caught.exception)
        self.assertEqual((near.key, near.distance, round(near.resemblance, 3)), ({"id": self.first.pk}, 3, 0.997))
        self.assertEqual(near.table, "stories_rejectedstory")

    def test_save(self):
        story = self.unsaved("near", NEAR)
        self.assertRejects(story.save)
        self.assertIsNone(story.pk)
        self.assertTrue(story._state.adding)
        self.assertRejects(self.unsaved("near", NEAR, pk=10**6).save)
        self.assertRejects(self.model.objects.create, slug="near", body=NEAR)
        self.assertEqual(self.slugs(), ["first"])

    def test_bulk_create(self):
        """All rows or none: ON CONFLICT is about unique indexes, not about guards."""
        for options in (
            {},
            {"ignore_conflicts": True},
            {"update_conflicts": True, "unique_fields": ["slug"], "update_fields": ["body"]},
        ):
            stories = self.three()
            self.assertRejects(self.model.objects.bulk_create, stories, **options)
            self.assertEqual({story.pk for story in stories}, {None})
        self.assertEqual(self.slugs(), ["first"])

    def test_update(self):
        story = self.model.objects.create(slug="other", body=OTHER)
        story.body = NEAR
        self.assertRejects(story.save)
        self.assertRejects(story.save, update_fields=["body"])
        self.assertRejects(self.model.objects.filter(slug="other").update, body=NEAR)
        self.assertRejects(self.model.objects.bulk_update, [story], ["body"])
        self.assertEqual(self.model.objects.get(slug="other").body, OTHER)


class Skip(Guarded, TestCase):
    """Django expects a row back for each row that it inserts. Under `skip`, most ways to insert fail, and some leave
    wrong keys. docs/frameworks/django.md has a table of what happens."""

    model = SkippedStory

    def test_save(self):
        for story in self.unsaved("near", NEAR), self.unsaved("near", NEAR, pk=10**6):
            with self.assertRaisesMessage(TypeError, NO_ROW), transaction.atomic():
                story.save()
            self.assertTrue(story._state.adding)
        with self.assertRaisesMessage(TypeError, NO_ROW), transaction.atomic():
            self.model.objects.create(slug="near", body=NEAR)
        self.assertEqual(self.slugs(), ["first"])

    def test_bulk_create(self):
        """Django checks that it gets as many rows as it inserts, so none is stored."""
        for stories, error in (self.three(), AssertionError), ([self.unsaved("near", NEAR)], TypeError):
            with self.assertRaises(error), transaction.atomic():
                self.model.objects.bulk_create(stories)
            self.assertEqual({story.pk for story in stories}, {None})
            self.assertEqual(self.slugs(), ["first"])

    def test_bulk_create_with_keys(self):
        """Without an error, the generated fields of later rows move forward: a fingerprint that is of another row."""
        stories = self.model.objects.bulk_create(self.three(first_key=10**6))
        self.assertEqual(self.keys_in_database(), {"other": 10**6, "third": 10**6 + 2})
        _, near, third = stories
        self.assertEqual(near.fingerprint, self.model.objects.get(slug="third").fingerprint)
        self.assertFalse(near._state.adding)
        self.assertNotIn("fingerprint", third.__dict__)

    def test_ignore_conflicts(self):
        """The only way that works: Django expects no rows back, as always with ignore_conflicts."""
        stories = self.model.objects.bulk_create(self.three(), ignore_conflicts=True)
        self.assertEqual(self.keys_in_memory(stories), {"other": None, "near": None, "third": None})
        self.assertEqual(self.slugs(), ["first", "other", "third"])

    def test_update_conflicts(self):
        """Without an error, rows get each other's primary keys."""
        stories = self.three()
        self.model.objects.bulk_create(stories, update_conflicts=True, unique_fields=["slug"], update_fields=["body"])
        stored = self.keys_in_database()
        self.assertEqual(sorted(stored), ["other", "third"])
        self.assertEqual(
            self.keys_in_memory(stories),
            {
                "other": stored["other"],
                "near": stored["third"],  # it is not stored, and has the key of another story
                "third": None,  # it is stored, and has no key
            },
        )


class SkipWithoutReturning(TestCase):
    """A model whose primary key and other fields all come from Python: Django asks for no row back."""

    def setUp(self):
        self.first = SkippedNote.objects.create(body=TEXT)

    def check(self, note):
        self.assertFalse(note._state.adding)
        self.assertEqual(SkippedNote.objects.get(), self.first)

    def test_save(self):
        """The note looks stored, and is not."""
        note = SkippedNote(body=NEAR)
        note.save()
        self.check(note)
        with self.assertRaises(SkippedNote.DoesNotExist):
            note.refresh_from_db()

    def test_is_stored(self):
        """A look-up tells whether the note is stored."""
        for body, stored in (NEAR, False), (OTHER, True):
            note = SkippedNote.objects.create(body=body)
            self.assertEqual(SkippedNote.objects.filter(pk=note.pk).exists(), stored)


class Mark(Guarded, TestCase):
    model = MarkedStory

    def assertMarked(self, marks):
        """Stories and what they are near; the first story is not marked."""
        found = dict(self.model.objects.exclude(slug="first").values_list("slug", "near__slug"))
        self.assertEqual(found, marks)
        self.assertIsNone(self.model.objects.get(slug="first").near)

    def test_save(self):
        """The mark is in the database, not yet in the instance."""
        story = self.unsaved("near", NEAR)
        story.save()
        self.assertIsNone(story.near)
        story.refresh_from_db()
        self.assertEqual(story.near, self.first)
        self.assertMarked({"near": "first"})

    def test_save_again(self):
        """The instance that lacks the mark does not remove it: the guard marks what is near."""
        story = self.model.objects.create(slug="near", body=NEAR)
        story.views = 1
        story.save()
        self.assertMarked({"near": "first"})

    def test_bulk_create(self):
        for options in (
            {},
            {"ignore_conflicts": True},
            {"update_conflicts": True, "unique_fields": ["slug"], "update_fields": ["body"]},
        ):
            with self.subTest(options):
                stories = self.model.objects.bulk_create(self.three(), **options)
                self.assertMarked({"other": None, "near": "first", "third": None})
                if "ignore_conflicts" not in options:
                    self.assertEqual(self.keys_in_memory(stories), self.keys_in_database())
                self.model.objects.exclude(slug="first").delete()


class MarkWithKeys(TestCase):
    """Models with a CompositePrimaryKey."""

    def test_rest_of_key(self):
        """The tenant is in the scope, so the number names a story. Relations work in both directions."""
        one, two = Tenant.objects.bulk_create([Tenant(name="one"), Tenant(name="two")])
        first = NumberedStory.objects.create(tenant=one, number=1, body=TEXT)
        other = NumberedStory.objects.create(tenant=two, number=1, body=TEXT)
        near = NumberedStory.objects.create(tenant=one, number=2, body=NEAR)
        near.refresh_from_db()
        self.assertEqual((near.near_number, near.near), (1, first))
        with self.assertNumQueries(1):
            self.assertEqual(NumberedStory.objects.select_related("near").get(pk=near.pk).near, first)
        self.assertEqual(list(first.copies.all()), [near])
        self.assertFalse(other.copies.exists())
        near.body = OTHER
        near.save()
        self.assertIsNone(NumberedStory.objects.get(pk=near.pk).near)

    def test_whole_key(self):
        """The mark is a JSON object, whose members are the arguments of get()."""
        first = DatedStory.objects.create(day=datetime.date(2026, 2, 1), number=1, body=TEXT)
        near = DatedStory.objects.create(day=datetime.date(2026, 2, 3), number=1, body=NEAR)
        near.refresh_from_db()
        self.assertEqual(near.near, {"day": "2026-02-01", "number": 1})
        self.assertEqual(DatedStory.objects.get(**near.near), first)
        self.assertEqual(DatedStory.objects.get(near=near.near), near)


class Scope(TestCase):
    def test_names_with_quotes(self):
        QuotedStory.objects.create(owner="one", body=TEXT)
        QuotedStory.objects.create(owner="two", body=TEXT)
        with self.assertRaises(IntegrityError) as caught, transaction.atomic():
            QuotedStory.objects.create(owner="one", body=TEXT)
        self.assertEqual(caught.exception.__cause__.diag.table_name, "Editor's stories")
        story = QuotedStory.objects.get(owner="one")
        self.assertEqual(QuotedStory.objects.filter(fingerprint__near=story.fingerprint).count(), 2)


class Savepoints(TestCase):
    """In a TestCase, each test is a transaction, and setUpTestData a savepoint in it."""

    @classmethod
    def setUpTestData(cls):
        cls.story = RejectedStory.objects.create(slug="first", body=TEXT)

    def test_goes_on(self):
        """After an error, the transaction goes on from the savepoint of atomic()."""
        with transaction.atomic():
            with self.assertRaises(IntegrityError), transaction.atomic():
                RejectedStory.objects.create(slug="near", body=NEAR)
            RejectedStory.objects.create(slug="other", body=OTHER)
        self.assertEqual(RejectedStory.objects.count(), 2)


class Flush(TransactionTestCase):
    """A TransactionTestCase empties the tables by TRUNCATE after each test. Guards stay."""

    def test_flush_command(self):
        for _ in range(2):
            self.assertFalse(RejectedStory.objects.exists())
            RejectedStory.objects.create(slug="first", body=TEXT)
            with self.assertRaises(IntegrityError):
                RejectedStory.objects.create(slug="near", body=NEAR)
            management.call_command("flush", interactive=False, verbosity=0)


class Fixtures(TransactionTestCase):
    def test_round_trip(self):
        """Fingerprints in a fixture are not loaded: the database computes them."""
        RejectedStory.objects.create(slug="first", body=TEXT)
        before = RejectedStory.objects.values().get()
        with io.StringIO() as dump:
            management.call_command("dumpdata", "stories.RejectedStory", stdout=dump)
            ((row,),) = [json.loads(dump.getvalue())]
        self.assertEqual(row["fields"].pop("fingerprint"), before["fingerprint"])
        RejectedStory.objects.all().delete()
        load(RejectedStory, {"pk": row["pk"], **row["fields"], "fingerprint": 1})
        self.assertEqual(RejectedStory.objects.values().get(), before)

    def test_without_guard(self):
        """Near-duplicates in fixtures are loaded while the guard's trigger is disabled."""
        guard = "ALTER TABLE stories_rejectedstory {} TRIGGER zzz_simhash_guard"
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(guard.format("DISABLE"))
            printed = load(
                RejectedStory, {"pk": 1, "slug": "first", "body": TEXT}, {"pk": 2, "slug": "near", "body": NEAR}
            )
            cursor.execute(guard.format("ENABLE"))
        self.assertEqual(printed, "Installed 2 object(s) from 1 fixture(s)")
        self.assertEqual(RejectedStory.objects.count(), 2)
        with self.assertRaises(IntegrityError):
            RejectedStory.objects.create(slug="again", body=NEAR)
