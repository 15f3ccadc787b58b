"""The migration operations: the database, the state of the models, backwards, and as text."""

import json
import os
import subprocess

from django.db import IntegrityError, NotSupportedError, connection, migrations, models, transaction
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.state import ProjectState
from django.db.migrations.writer import OperationWriter
from django.db.models import Value
from django.test import TransactionTestCase, override_settings
from texts import NEAR, OTHER, TEXT

from pg_simhash.django import (
    FingerprintField,
    Guard,
    IndexConcurrently,
    SimHash,
    SimhashExtension,
    Unguard,
    simhash_indexes,
)

APP = "laboratory"
KEY = ("id", models.BigAutoField(primary_key=True))


class Nowhere:
    """A router that has no table in any database."""

    def allow_migrate(self, db, app_label, **hints):
        return False


def psql(script):
    """Runs a script in the database of the tests, as an administrator would run what sqlmigrate prints."""
    command = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", connection.settings_dict["NAME"]]
    environment = os.environ | {"PGOPTIONS": "-c client_min_messages=warning"}
    subprocess.run(command, input=script, text=True, check=True, stdout=subprocess.DEVNULL, env=environment)


class Operations(TransactionTestCase):
    """A table `Texts of it` with the column `The body`."""

    table = "Texts of it"

    def setUp(self):
        self.state = ProjectState()
        fields = [
            KEY,
            ("body", models.TextField(db_column="The body")),
            ("tenant", models.IntegerField(default=1, db_column="The tenant")),
            ("near", models.BigIntegerField(null=True, db_column="Near to")),
        ]
        self.model_operation = migrations.CreateModel("Text", fields, {"db_table": self.table})
        self.forwards(self.model_operation)
        self.addCleanup(self.execute, f'DROP TABLE "{self.table}" CASCADE')

    def execute(self, statement, *params):
        with connection.cursor() as cursor:
            cursor.execute(statement, params)
            return cursor.fetchall() if cursor.description else None

    def forwards(self, *operations, atomic=True):
        """Runs operations in one migration, and returns what migrating the last one backwards needs."""
        with connection.schema_editor(atomic=atomic) as editor:
            for operation in operations:
                before, after = self.state, self.state.clone()
                operation.state_forwards(APP, after)
                operation.database_forwards(APP, editor, before, after)
                self.state = after
        return operation, before, after

    def backwards(self, done, atomic=True):
        operation, before, after = done
        with connection.schema_editor(atomic=atomic) as editor:
            operation.database_backwards(APP, editor, after, before)
        self.state = before

    def sql(self, operation, way="database_forwards", atomic=True):
        """What sqlmigrate prints for an operation."""
        with connection.schema_editor(collect_sql=True, atomic=atomic) as editor:
            getattr(operation, way)(APP, editor, self.state, self.state)
        return "\n".join(editor.collected_sql)

    @property
    def model(self):
        return self.state.apps.get_model(APP, "Text")

    def made(self):
        """The indexes that are not the primary key's, and the guard."""
        indexes = self.execute(
            "SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = %s::regclass AND NOT indisprimary",
            f'"{self.table}"',
        )
        guards = self.execute(
            "SELECT action, criterion, fingerprint, scope, mark_column, among, unless FROM simhash_guards()"
            " WHERE target = %s::regclass",
            f'"{self.table}"',
        )
        return sorted(definition.split(" USING ")[1] for (definition,) in indexes), guards

    def test_index_concurrently(self):
        """Nothing is added but indexes, which queries find, and makemigrations finds no change."""
        operation = IndexConcurrently("Text", "body", blocks=2, scope=["tenant"], options={"ngram": 2}, prefix="two")
        done = self.forwards(operation, atomic=False)
        of = """("The body", '{"ngram": 2}'::jsonb)"""
        indexes = [
            f'btree ("The tenant", simhash_block(simhash{of}, {block}, 2), simhash_size{of}, simhash{of})'
            for block in range(2)
        ]
        self.assertEqual(self.made(), (indexes, []))
        declared = ProjectState()
        self.model_operation.state_forwards(APP, declared)
        self.assertEqual(MigrationAutodetector(self.state, declared)._detect_changes(), {})
        self.backwards(done, atomic=False)
        self.assertEqual(self.made(), ([], []))

    def test_search_by_indexes_alone(self):
        self.forwards(IndexConcurrently("Text", "body"), atomic=False)
        text, _ = self.model.objects.bulk_create(self.model(body=body) for body in (TEXT, OTHER))
        near = self.model.objects.alias(fingerprint=SimHash("body")).filter(fingerprint__near=SimHash(Value(NEAR)))
        self.assertEqual(near.get(), text)
        with transaction.atomic():
            self.execute("SET LOCAL enable_seqscan = off")
            self.assertIn("Custom Scan (SimhashScan)", near.explain())

    def test_atomic_migration(self):
        message = "The IndexConcurrently operation cannot be executed inside a transaction"
        with self.assertRaisesMessage(NotSupportedError, message):
            self.forwards(IndexConcurrently("Text", "body"))

    def test_psql_runs_sql(self):
        operation = IndexConcurrently("Text", "body", options={"ngram": 2}, blocks=3)
        script = self.sql(operation, atomic=False)
        self.assertEqual(
            script,
            """SELECT simhash_index_commands('"Texts of it"', source => 'The body', prefix => 'simhash', """
            """blocks => 3, options => '{"ngram": 2}') \\gexec""",
        )
        psql(script)
        self.assertEqual(len(self.made()[0]), 3)
        psql(self.sql(operation, "database_backwards", atomic=False))
        self.assertEqual(self.made(), ([], []))

    def test_guard(self):
        """Names of fields become those of columns. Unguard takes the guard away, and brings it back."""
        self.forwards(IndexConcurrently("Text", "body"), atomic=False)
        indexes, _ = self.made()
        criterion = {"max_distance": 4, "resemblance": None}
        arguments = {
            "criterion": criterion,
            "scope": ["tenant"],
            "among": '"The tenant" > 0',
            "unless": '"The tenant" < 0',
        }
        guarded = self.forwards(Guard("Text", "mark", mark_field="near", **arguments))
        guards = self.made()[1]
        ((action, found, *others),) = guards
        self.assertEqual((action, criterion.items() <= json.loads(found).items()), ("mark", True))
        among, unless = '("The tenant" > 0)', '("The tenant" < 0)'
        self.assertEqual(others, ["The body", ["The tenant"], "Near to", among, unless])
        first, near = (self.model.objects.create(body=body) for body in (TEXT, NEAR))
        near.refresh_from_db()
        self.assertEqual(near.near, first.pk)
        unguarded = self.forwards(Unguard("Text", "mark", mark_field="near", **arguments))
        self.assertEqual(self.made(), (indexes, []))
        self.backwards(unguarded)
        self.assertEqual(self.made(), (indexes, guards))
        self.backwards(guarded)
        self.assertEqual(self.made(), (indexes, []))

    def test_guard_in_the_migration_of_the_model(self):
        """The guard needs indexes that Django creates at the end of a migration."""
        fingerprint = models.GeneratedField(
            expression=SimHash("body"), output_field=FingerprintField(), db_persist=True, null=True
        )
        fields = [KEY, ("body", models.TextField()), ("fingerprint", fingerprint)]
        options = {"db_table": "own", "indexes": simhash_indexes("fingerprint", name="own")}
        self.forwards(migrations.CreateModel("Own", fields, options), Guard("Own", fingerprint="fingerprint"))
        self.addCleanup(self.execute, "DROP TABLE own")
        own = self.state.apps.get_model(APP, "Own")
        own.objects.create(body=TEXT)
        with self.assertRaises(IntegrityError):
            own.objects.create(body=NEAR)

    def test_routers(self):
        """Where the router does not allow the model, nothing happens, forwards or backwards."""
        with override_settings(DATABASE_ROUTERS=["test_operations.Nowhere"]):
            for operation in IndexConcurrently("Text", "body"), Guard("Text"), Unguard("Text"):
                self.backwards(self.forwards(operation, atomic=False), atomic=False)
        self.assertEqual(self.made(), ([], []))

    def test_written_and_read(self):
        """makemigrations and squashmigrations write operations with all arguments."""
        for operation in (
            SimhashExtension(),
            IndexConcurrently("Text", "body", blocks=2),
            Guard("Text", "mark", mark_field="near", criterion={"resemblance": None}),
            Unguard("Text"),
        ):
            with self.subTest(operation):
                text, imports = OperationWriter(operation, indentation=0).serialize()
                names = {}
                exec("\n".join(imports), names)
                copy = eval(text.removesuffix(","), names)
                of_both = [vars(one) | {"_constructor_args": None} for one in (copy, operation)]
                self.assertEqual(*of_both)
                self.assertEqual(copy.describe(), operation.describe())
