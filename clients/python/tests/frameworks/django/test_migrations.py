"""Commands of manage.py: with all applications, forwards and backwards."""

import io

from django.core import management
from django.db import connection
from django.test import TransactionTestCase

# In the order of their dependencies: the extension is created by the first one.
OURS = "articles", "archive"


def manage(*arguments, **options):
    with io.StringIO() as output:
        management.call_command(*arguments, stdout=output, stderr=output, **options)
        return output.getvalue()


class Commands(TransactionTestCase):
    def schema(self):
        """The columns, indexes, triggers and extensions that the database has."""
        statements = (
            "SELECT attrelid::regclass::text, attname, format_type(atttypid, atttypmod), pg_get_expr(adbin, adrelid)"
            " FROM pg_attribute LEFT JOIN pg_attrdef ON (adrelid, adnum) = (attrelid, attnum)"
            " JOIN pg_class ON pg_class.oid = attrelid"
            " WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped",
            "SELECT pg_get_indexdef(indexrelid) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid"
            " WHERE relnamespace = 'public'::regnamespace",
            "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal",
            "SELECT extname FROM pg_extension",
        )
        found = []
        with connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
                found.append(sorted(map(repr, cursor.fetchall())))
        return found

    def test_no_changes(self):
        """makemigrations has nothing to add for any application."""
        self.assertEqual(manage("makemigrations", check=True, dry_run=True), "No changes detected\n")

    def test_backwards_and_forwards(self):
        """Backwards nothing is left, not even the extension. Forwards, everything is as it was."""
        before = self.schema()
        self.assertIn("pg_simhash", str(before))
        for app in reversed(OURS):
            manage("migrate", app, "zero")
        self.assertNotIn("simhash", str(self.schema()))
        manage("migrate")
        self.assertEqual(self.schema(), before)
