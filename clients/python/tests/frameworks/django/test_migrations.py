"""Commands of manage.py: with all applications, forwards and backwards."""

import io
from pathlib import Path

from django.apps import apps
from django.core import management
from django.db import DatabaseError, connection, migrations, models
from django.db.migrations.loader import MigrationLoader
from django.test import TransactionTestCase
from test_operations import Laboratory, generated, psql
from texts import TEXT

from pg_simhash.django import Guard, SimHash, simhash_indexes

# In the order of their dependencies: the extension is created by the first one.
OURS = "articles", "archive", "stories"


def manage(*arguments, **options):
    with io.StringIO() as output:
        management.call_command(*arguments, stdout=output, stderr=output, **options)
        return output.getvalue()


class Schema(TransactionTestCase):
    """The tables as the database has them."""

    def schema(self):
        statements = {
            "columns": "SELECT attrelid::regclass::text, attname, format_type(atttypid, atttypmod),"
            " pg_get_expr(adbin, adrelid)"
            " FROM pg_attribute LEFT JOIN pg_attrdef ON (adrelid, adnum) = (attrelid, attnum)"
            " JOIN pg_class ON pg_class.oid = attrelid"
            " WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped",
            "indexes": "SELECT pg_get_indexdef(indexrelid) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid"
            " WHERE relnamespace = 'public'::regnamespace",
            "triggers": "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal",
            "extensions": "SELECT extname FROM pg_extension",
        }
        found = {}
        with connection.cursor() as cursor:
            for name, statement in statements.items():
                cursor.execute(statement)
                found[name] = sorted(map(repr, cursor.fetchall()))
        return found


class Commands(Schema):
    def migrations(self, app):
        return sorted(name for label, name in MigrationLoader(connection).disk_migrations if label == app)

    def test_no_changes(self):
        """makemigrations has nothing to add for any application."""
        self.assertEqual(manage("makemigrations", check=True, dry_run=True), "No changes detected\n")

    def test_backwards_and_forwards(self):
        """Backwards nothing is left, not even the extension. Forwards, everything is as it was."""
        before = self.schema()
        self.assertIn("('pg_simhash',)", before["extensions"])
        for app in reversed(OURS):
            manage("migrate", app, "zero")
        gone = self.schema()
        self.assertNotIn("('pg_simhash',)", gone["extensions"])
        self.assertEqual(gone["triggers"], [])
        self.assertNotIn("simhash", str(gone))
        manage("migrate")
        self.assertEqual(self.schema(), before)

    def test_sqlmigrate(self):
        """psql makes of the printed SQL what migrate makes."""
        before = self.schema()
        order = [(app, name) for app in OURS for name in self.migrations(app)]
        for app, name in reversed(order):
            psql(manage("sqlmigrate", app, name, backwards=True))
        self.assertNotIn("simhash", str(self.schema()))
        for app, name in order:
            psql(manage("sqlmigrate", app, name))
        self.assertEqual(self.schema(), before)

    def test_squashmigrations(self):
        """A squashed migration can be read, and makes the same tables."""
        before = self.schema()
        squashed = Path(apps.get_app_config("articles").path) / "migrations/0001_all.py"
        try:
            manage("squashmigrations", "articles", "0003", interactive=False, squashed_name="all")
            text = squashed.read_text()
            for operation in "extension.SimhashExtension(", "CreateModel(", "guard.Guard(":
                self.assertIn(operation, text)
            manage("migrate", "articles", "zero")
            self.assertIn("Applying articles.0001_all... OK", manage("migrate"))
            self.assertEqual(self.schema(), before)
        finally:
            squashed.unlink(missing_ok=True)
            manage("migrate")


class Changes(Laboratory):
    """Changes of a field that a fingerprint is made of."""

    def setUp(self):
        super().setUp()
        self.forwards(migrations.AddField("Text", "fingerprint", generated()))
        for index in simhash_indexes("fingerprint", name="text"):
            self.forwards(migrations.AddIndex("Text", index))
        self.forwards(Guard("Text", fingerprint="fingerprint"))
        self.insert(TEXT)

    def test_type(self):
        change = migrations.AlterField("Text", "body", models.CharField(max_length=10_000, db_column="The body"))
        with self.assertRaisesMessage(DatabaseError, "cannot alter type of a column used by a generated column"):
            self.forwards(change)
        done = [self.forwards(migrations.RemoveIndex("Text", f"text_{block}")) for block in range(4)]
        done.append(self.forwards(migrations.RemoveField("Text", "fingerprint")))
        done.append(self.forwards(change))
        done.append(self.forwards(migrations.AddField("Text", "fingerprint", generated())))
        done += [
            self.forwards(migrations.AddIndex("Text", index)) for index in simhash_indexes("fingerprint", name="text")
        ]
        self.check()
        for step in reversed(done):
            self.backwards(step)
        self.check()

    def check(self):
        """The fingerprints are there, and the guard works."""
        self.assertEqual(self.model.objects.filter(fingerprint__near=SimHash("body")).count(), 1)
        with self.assertRaisesMessage(DatabaseError, "near-duplicate violates guard"):
            self.insert(TEXT)

    def test_removed_text(self):
        """Django drops columns with CASCADE."""
        self.assertIn("fingerprint", self.columns())
        self.forwards(migrations.RemoveField("Text", "body"))
        self.assertEqual(self.columns(), [])
