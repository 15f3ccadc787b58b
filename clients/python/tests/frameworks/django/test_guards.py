"""What Django does under a guard: the traps of docs/frameworks/django.md."""

import psycopg
from archive.models import Note
from django.db import IntegrityError, connection, transaction
from django.test import TestCase
from texts import NEAR, NEAR_RESEMBLANCE, OTHER, TEXT, THIRD

from pg_simhash.django import near_duplicate


def note(name, body):
    return Note(url=f"https://example.org/{name}", body=body)


class Guarded(TestCase):
    action = "reject"

    def setUp(self):
        with connection.cursor() as cursor:
            cursor.execute("SELECT simhash_guard('archive_note', %s, source => 'body')", [self.action])
        self.first = note("first", TEXT)
        self.first.save()

    def three_notes(self, first_key=None):
        """New notes. The second of them is near the stored note."""
        notes = [note("other", OTHER), note("near", NEAR), note("third", THIRD)]
        if first_key:
            for number, one in enumerate(notes):
                one.pk = first_key + number
        return notes

    def stored(self):
        """The texts and keys of the notes beside the first one."""
        return dict(Note.objects.exclude(pk=self.first.pk).values_list("body", "pk"))


class Reject(Guarded):
    def test_near_duplicate(self):
        """The error has the key and the resemblance; updates and all bulk methods raise it."""
        other = note("other", OTHER)
        other.save()
        other.body = NEAR
        upsert = {"update_conflicts": True, "unique_fields": ["url"], "update_fields": ["body"]}
        for write in (
            note("near", NEAR).save,
            other.save,
            lambda: Note.objects.filter(pk=other.pk).update(body=NEAR),
            lambda: Note.objects.bulk_update([other], ["body"]),
            lambda: Note.objects.bulk_create([note("third", THIRD), note("near", NEAR)]),
            lambda: Note.objects.bulk_create([note("near", NEAR)], ignore_conflicts=True),
            lambda: Note.objects.bulk_create([note("near", NEAR)], **upsert),
        ):
            with self.assertRaises(IntegrityError) as caught, transaction.atomic():
                write()
            self.assertIsInstance(caught.exception.__cause__, psycopg.errors.ExclusionViolation)
            near = near_duplicate(caught.exception)
            self.assertEqual((near.key, near.resemblance), ({"id": self.first.pk}, NEAR_RESEMBLANCE))
            self.assertEqual(near.table, "archive_note")
        self.assertEqual(self.stored(), {OTHER: other.pk})

    def test_own_row(self):
        """A row is never its own duplicate. Django does not read generated fields back after an UPDATE."""
        before = self.first.fingerprint
        self.first.body = NEAR
        self.first.save()
        self.assertEqual(self.first.fingerprint, before)
        self.first.refresh_from_db()
        self.assertNotEqual(self.first.fingerprint, before)


class Skip(Guarded):
    """Django expects a row back for each row that it inserts. Under `skip`, most ways to insert fail, and some leave
    wrong keys."""

    action = "skip"

    def test_errors(self):
        for write, error in (
            (note("near", NEAR).save, TypeError),
            (lambda: Note.objects.bulk_create(self.three_notes()), AssertionError),
            (lambda: Note.objects.bulk_create([note("near", NEAR)]), TypeError),
        ):
            with self.assertRaises(error), transaction.atomic():
                write()
        self.assertEqual(self.stored(), {})

    def test_bulk_create_with_keys(self):
        """Without an error, the generated fields of later rows move forward: a fingerprint that is of another row."""
        _, near, third = Note.objects.bulk_create(self.three_notes(first_key=10**6))
        self.assertEqual(self.stored(), {OTHER: 10**6, THIRD: 10**6 + 2})
        self.assertEqual(near.fingerprint, Note.objects.get(body=THIRD).fingerprint)
        self.assertNotIn("fingerprint", third.__dict__)

    def test_update_conflicts(self):
        """Without an error, rows get each other's primary keys."""
        notes = self.three_notes()
        Note.objects.bulk_create(notes, update_conflicts=True, unique_fields=["url"], update_fields=["body"])
        stored = self.stored()
        # The second one is not stored, and has the key of the third one, which has none.
        self.assertEqual([one.pk for one in notes], [stored[OTHER], stored[THIRD], None])

    def test_ignore_conflicts(self):
        """The only way that works: Django expects no rows back, as always with ignore_conflicts."""
        Note.objects.bulk_create(self.three_notes(), ignore_conflicts=True)
        self.assertEqual(set(self.stored()), {OTHER, THIRD})
