"""Each migration operation: the database, the state of the models, backwards, and as text."""

import json
import os
import subprocess
import threading
import time

import psycopg
from django.db import (
    DatabaseError,
    IntegrityError,
    NotSupportedError,
    OperationalError,
    connection,
    connections,
    migrations,
    models,
    transaction,
)
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.optimizer import MigrationOptimizer
from django.db.migrations.state import ProjectState
from django.db.migrations.writer import OperationWriter
from django.db.models import Value
from django.test import TransactionTestCase, override_settings
from texts import NEAR, OTHER, TEXT

from pg_simhash.django import (
    Attach,
    Detach,
    FingerprintField,
    Guard,
    HammingDistance,
    IndexConcurrently,
    SimHash,
    SimhashExtension,
    Unguard,
    simhash_indexes,
)

APP = OWNER = "laboratory"
KEY = ("id", models.BigAutoField(primary_key=True))


def generated(options=None, **keywords):
    """The field that a model declares for Attach."""
    return models.GeneratedField(
        expression=SimHash("body", options) if options else SimHash("body"),
        output_field=FingerprintField(),
        db_persist=True,
        null=True,
        **keywords,
    )


class Laboratory(TransactionTestCase):
    """A table `Texts of it` with the column `The body`, without fingerprints."""

    table = "Texts of it"

    def setUp(self):
        self.state = ProjectState()
        self.create(
            "Text",
            ("body", models.TextField(db_column="The body")),
            ("tenant", models.IntegerField(default=1, db_column="The tenant")),
            ("near", models.BigIntegerField(null=True, db_column="Near to")),
            options={"db_table": self.table},
        )
        self.addCleanup(self.execute, f'DROP TABLE "{self.table}" CASCADE')

    def execute(self, statement, *params):
        with connection.cursor() as cursor:
            cursor.execute(statement, params)
            return cursor.fetchall() if cursor.description else None

    def create(self, name, *fields, options=None):
        self.forwards(migrations.CreateModel(name, [KEY, *fields], options))

    def forwards(self, operation, atomic=True, using="default"):
        """Runs an operation, and returns what migrating backwards needs."""
        before, after = self.state, self.state.clone()
        operation.state_forwards(APP, after)
        with connections[using].schema_editor(atomic=atomic) as editor:
            operation.database_forwards(APP, editor, before, after)
        self.state = after
        return operation, before, after

    def backwards(self, done, atomic=True):
        operation, before, after = done
        with connection.schema_editor(atomic=atomic) as editor:
            operation.database_backwards(APP, editor, after, before)
        self.state = before

    def sql(self, operation, backwards=False, atomic=True):
        """What sqlmigrate prints for an operation."""
        after = self.state.clone()
        operation.state_forwards(APP, after)
        with connection.schema_editor(collect_sql=True, atomic=atomic) as editor:
            if backwards:
                operation.database_backwards(APP, editor, after, self.state)
            else:
                operation.database_forwards(APP, editor, self.state, after)
        return "\n".join(editor.collected_sql)

    @property
    def model(self):
        return self.state.apps.get_model(APP, "Text")

    def insert(self, *bodies):
        return self.model.objects.bulk_create(self.model(body=body) for body in bodies)

    def columns(self):
        return [
            name
            for (name,) in self.execute(
                "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 4 AND NOT attisdropped"
                " ORDER BY attnum",
                f'"{self.table}"',
            )
        ]

    def indexes(self):
        """The definitions of the valid indexes, without the primary key's."""
        found = self.execute(
            "SELECT pg_get_indexdef(indexrelid) FROM pg_index"
            " WHERE indrelid = %s::regclass AND NOT indisprimary AND indisvalid",
            f'"{self.table}"',
        )
        return sorted(definition.split(" USING ")[1] for (definition,) in found)

    def triggers(self):
        return self.execute(
            "SELECT tgname, encode(tgargs, 'escape') FROM pg_trigger"
            " WHERE tgrelid = %s::regclass AND NOT tgisinternal ORDER BY 1",
            f'"{self.table}"',
        )

    def assertNothing(self):
        self.assertEqual((self.columns(), self.indexes(), self.triggers()), ([], [], []))

    def assertQuiet(self, *fields):
        """makemigrations finds no change if the model has these fields beside the first ones."""
        declared = ProjectState()
        first = {"id": KEY[1], **{name: self.model._meta.get_field(name) for name in ("body", "tenant", "near")}}
        migrations.CreateModel(
            "Text", [*((name, field.clone()) for name, field in first.items()), *fields], {"db_table": self.table}
        ).state_forwards(APP, declared)
        self.assertEqual(MigrationAutodetector(self.state, declared)._detect_changes(), {})
        # The comparison can fail.
        migrations.RemoveField("Text", "tenant").state_forwards(APP, declared)
        self.assertNotEqual(MigrationAutodetector(self.state, declared)._detect_changes(), {})


def attached(prefix, blocks=4):
    """The columns that simhash_attach adds."""
    return [prefix, f"{prefix}_size", *(f"{prefix}_block{block}" for block in range(blocks))]


class TestExtension(Laboratory):
    def test_exists(self):
        self.forwards(SimhashExtension())
        self.assertEqual(self.execute("SELECT count(*) FROM pg_extension WHERE extname = 'pg_simhash'"), [(1,)])

    def test_in_use(self):
        """Backwards is an error while tables use the extension; it drops none of their columns."""
        done = self.forwards(SimhashExtension())
        message = "cannot drop extension pg_simhash because other objects depend on it"
        with self.assertRaisesMessage(DatabaseError, message):
            self.backwards(done)


class TestAttach(Laboratory):
    def test_unknown_to_the_model(self):
        done = self.forwards(Attach("Text", "body"))
        self.assertEqual(self.columns(), attached("simhash"))
        self.assertEqual(
            self.indexes(), [f"btree (simhash_block{block}, simhash_size) INCLUDE (simhash)" for block in range(4)]
        )
        self.assertQuiet()
        self.insert(TEXT)
        self.assertEqual(
            self.execute(f'SELECT simhash = simhash("The body") FROM "{self.table}"'),
            [(True,)],
        )
        self.backwards(done)
        self.assertNothing()

    def test_field(self):
        done = self.forwards(Attach("Text", "body", field="fingerprint"))
        self.assertEqual(self.columns(), attached("fingerprint"))
        self.assertQuiet(("fingerprint", generated()))
        (text,) = self.insert(TEXT)
        found = self.model.objects.filter(fingerprint__near=SimHash(Value(NEAR)))
        self.assertEqual(found.get().fingerprint, text.fingerprint)
        self.backwards(done)
        self.assertNothing()
        self.assertQuiet()

    def test_arguments(self):
        operation = Attach("text", "body", field="fingerprint", prefix="Finger print", blocks=2, options={"ngram": 2})
        done = self.forwards(operation)
        self.assertEqual(self.columns(), attached("Finger print", 2))
        self.assertEqual(
            self.indexes(),
            [
                f'btree ("Finger print_block{block}", "Finger print_size") INCLUDE ("Finger print")'
                for block in range(2)
            ],
        )
        self.assertQuiet(("fingerprint", generated({"ngram": 2}, db_column="Finger print")))
        (text,) = self.insert(TEXT)
        found = self.model.objects.annotate(
            same=HammingDistance("fingerprint", SimHash(Value(TEXT), {"ngram": 2})),
            other=HammingDistance("fingerprint", SimHash(Value(TEXT))),
        ).get()
        self.assertEqual(found.same, 0)
        self.assertGreater(found.other, 3)
        self.backwards(done)
        self.assertNothing()

    def test_again(self):
        """What is attached already is skipped, so a migration that was applied by hand can be applied."""
        self.forwards(Attach("Text", "body"))
        with connection.schema_editor() as editor:
            Attach("Text", "body").database_forwards(APP, editor, self.state, self.state)
        self.assertEqual(self.columns(), attached("simhash"))

    def test_detach(self):
        self.forwards(Attach("Text", "body", field="fingerprint"))
        done = self.forwards(Detach("Text", "body", field="fingerprint"))
        self.assertNothing()
        self.assertQuiet()
        self.backwards(done)
        self.assertEqual(self.columns(), attached("fingerprint"))
        self.assertQuiet(("fingerprint", generated()))

    def test_without_columns(self):
        """The indexes are on the expression that queries have in place of a field. Detach with it can be reversed."""
        arguments = {"prefix": "other", "options": {"ngram": 2}, "columns": False}
        attached = self.forwards(Attach("Text", "body", **arguments))
        indexes = self.indexes()
        self.assertEqual((self.columns(), len(indexes)), ([], 4))
        self.assertQuiet()
        (text, _) = self.insert(TEXT, OTHER)
        near = self.model.objects.alias(fingerprint=SimHash("body", {"ngram": 2})).filter(
            fingerprint__near=(SimHash(Value(NEAR), {"ngram": 2}), 10)
        )
        self.assertEqual(near.get(), text)
        with transaction.atomic():
            self.execute("SET LOCAL enable_seqscan = off")
            self.assertIn("Custom Scan (SimhashScan)", near.explain())
        detached = self.forwards(Detach("Text", "body", **arguments))
        self.assertNothing()
        self.backwards(detached)
        self.assertEqual((self.columns(), self.indexes()), ([], indexes))
        self.backwards(attached)
        self.assertNothing()

    def test_field_without_columns(self):
        """A field would have no column."""
        for operation in Attach, Detach:
            with self.assertRaisesMessage(ValueError, "without columns, the model has no field for the fingerprint"):
                operation("Text", "body", field="fingerprint", columns=False)

    def test_wrong_source(self):
        with self.assertRaisesMessage(DatabaseError, 'column "author" of relation "Texts of it" does not exist'):
            self.forwards(Attach("Text", "author"))


def psql(script):
    """Runs a script in the database of the tests, as an administrator would run what sqlmigrate prints."""
    command = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", connection.settings_dict["NAME"]]
    environment = os.environ | {"PGOPTIONS": "-c client_min_messages=warning"}
    subprocess.run(command, input=script, text=True, check=True, stdout=subprocess.DEVNULL, env=environment)


class TestIndexConcurrently(Laboratory):
    def setUp(self):
        super().setUp()
        self.insert(TEXT, OTHER, NEAR)

    def definitions(self, blocks, scope=""):
        fingerprint = 'simhash("The body")'
        layout = "" if blocks == 4 else f", {blocks}"
        return [
            f'btree ({scope}simhash_block({fingerprint}, {block}{layout}), simhash_size("The body"), {fingerprint})'
            for block in range(blocks)
        ]

    def test_layouts(self):
        """Each prefix has its own indexes, and nothing else is added."""
        done = self.forwards(IndexConcurrently("Text", "body"), atomic=False)
        other = self.forwards(
            IndexConcurrently("Text", "body", blocks=2, scope=["tenant"], prefix="other"), atomic=False
        )
        self.assertEqual(self.columns(), [])
        self.assertEqual(self.indexes(), sorted(self.definitions(4) + self.definitions(2, '"The tenant", ')))
        self.assertQuiet()
        near = self.model.objects.annotate(distance=HammingDistance(SimHash("body"), SimHash(Value(TEXT))))
        self.assertEqual(near.filter(distance__lte=3).count(), 2)
        self.backwards(other, atomic=False)
        self.assertEqual(self.indexes(), self.definitions(4))
        self.backwards(done, atomic=False)
        self.assertNothing()

    def test_atomic_migration(self):
        with self.assertRaisesMessage(
            NotSupportedError, "The IndexConcurrently operation cannot be executed inside a transaction"
        ):
            self.forwards(IndexConcurrently("Text", "body"))

    def cancel_waiting(self, pid):
        """Cancels what this backend runs as soon as it waits for another session."""
        waiting = "SELECT pg_cancel_backend(%(pid)s) WHERE pg_blocking_pids(%(pid)s) <> '{}'"
        with psycopg.connect(dbname=connection.settings_dict["NAME"], autocommit=True) as other:
            while not other.execute(waiting, {"pid": pid}).fetchone():
                time.sleep(0.01)

    def test_interrupted(self):
        """The invalid index that an interrupted CREATE INDEX CONCURRENTLY leaves is built again."""

        def execute(run, sql, params, many, context):
            if str(sql).startswith("CREATE INDEX CONCURRENTLY"):
                with psycopg.connect(dbname=connection.settings_dict["NAME"]) as writer:
                    writer.execute(f'UPDATE "{self.table}" SET "The tenant" = 2')
                    pid = connection.connection.info.backend_pid
                    threading.Thread(target=self.cancel_waiting, args=(pid,), daemon=True).start()
                    try:
                        return run(sql, params, many, context)
                    finally:
                        writer.rollback()
            return run(sql, params, many, context)

        message = "canceling statement due to user request"
        with self.assertRaisesMessage(OperationalError, message), connection.execute_wrapper(execute):
            self.forwards(IndexConcurrently("Text", "body"), atomic=False)
        self.forwards(IndexConcurrently("Text", "body"), atomic=False)
        self.assertEqual(self.indexes(), self.definitions(4))

    def test_psql_runs_sql(self):
        operation = IndexConcurrently("Text", "body", options={"ngram": 2}, blocks=3)
        self.assertEqual(
            self.sql(operation, atomic=False),
            """SELECT simhash_index_commands('"Texts of it"', source => 'The body', prefix => 'simhash', """
            """blocks => 3, options => '{"ngram": 2}') \\gexec""",
        )
        psql(self.sql(operation, atomic=False))
        self.assertEqual(len(self.indexes()), 3)
        psql(self.sql(operation, backwards=True, atomic=False))
        self.assertNothing()

    def test_django_own_operation(self):
        """The indexes of Meta.indexes are built concurrently by Django's own operation."""
        from django.contrib.postgres.operations import AddIndexConcurrently

        self.forwards(migrations.AddField("Text", "fingerprint", generated()))
        for index in simhash_indexes("fingerprint", name="own"):
            self.forwards(AddIndexConcurrently("Text", index), atomic=False)
        self.assertEqual(len(self.indexes()), 4)


class TestGuard(Laboratory):
    def setUp(self):
        super().setUp()
        self.forwards(Attach("Text", "body", field="fingerprint"))

    def test_reject(self):
        done = self.forwards(Guard("Text", fingerprint="fingerprint"))
        self.insert(TEXT)
        with self.assertRaises(IntegrityError):
            self.insert(NEAR)
        self.assertQuiet(("fingerprint", generated()))
        self.backwards(done)
        self.insert(NEAR)
        self.assertEqual(self.triggers(), [])

    def test_arguments(self):
        self.forwards(
            Guard(
                "Text",
                "mark",
                criterion={"max_distance": 4, "resemblance": None},
                scope=["tenant"],
                mark_field="near",
                fingerprint="fingerprint",
            )
        )
        ((name, arguments),) = self.triggers()
        self.assertEqual(name, "zzz_simhash_guard")
        action, criterion, *columns = arguments.split("\\000")
        self.assertEqual(json.loads(criterion), {"max_distance": 4, "radii": [], "resemblance": None})
        self.assertEqual([action, *columns], ["mark", "fingerprint", "Near to", "The tenant", ""])

    def test_criterion_and_conditions(self):
        asked = {"radii": [0, 0, -1, 1], "same": ["numbers"], "ngram": 2}
        conditions = {"among": '"The tenant" > 0', "unless": '"The tenant" < 0'}
        self.forwards(Guard("Text", criterion=asked, fingerprint="fingerprint", **conditions))
        ((_, arguments),) = self.triggers()
        action, criterion, *columns = arguments.split("\\000")
        self.assertEqual(json.loads(criterion), asked | {"max_distance": 10, "flips": [5, 3], "resemblance": 0.84})
        among, unless = '("The tenant" > 0)', '("The tenant" < 0)'
        self.assertEqual([action, *columns], ["reject", "fingerprint", "", "", among, "", unless, ""])

    def test_unguard(self):
        arguments = {"fingerprint": "fingerprint", "criterion": {"resemblance": 0.8}}
        self.forwards(Guard("Text", "skip", **arguments))
        before = self.triggers()
        done = self.forwards(Unguard("Text", "skip", **arguments))
        self.assertEqual(self.triggers(), [])
        self.backwards(done)
        self.assertEqual(self.triggers(), before)

    def test_changed_guard(self):
        """Unguard with the old arguments and Guard with the new ones: backwards, the old guard is there again."""
        old, new = {"fingerprint": "fingerprint"}, {"fingerprint": "fingerprint", "criterion": {"max_distance": 8}}
        self.forwards(Guard("Text", "reject", **old))
        before = self.triggers()
        steps = [self.forwards(Unguard("Text", "reject", **old)), self.forwards(Guard("Text", "skip", **new))]
        self.assertNotEqual(self.triggers(), before)
        for step in reversed(steps):
            self.backwards(step)
        self.assertEqual(self.triggers(), before)

    def test_wrong_action(self):
        with self.assertRaisesMessage(DatabaseError, "drop"):
            self.forwards(Guard("Text", "drop", fingerprint="fingerprint"))


OPERATIONS = [
    SimhashExtension(),
    Attach("Text", "body", field="fingerprint", options={"ngram": 2}, scope=["tenant"]),
    Attach("Text", "body", columns=False),
    Detach("Text", "body", prefix="other"),
    IndexConcurrently("Text", "body", blocks=2),
    Guard("Text", "mark", mark_field="near", criterion={"resemblance": None}),
    Unguard("Text"),
]


class AllOperations(Laboratory):
    databases = {"default", "elsewhere"}

    def test_routers(self):
        """Where the router does not allow the model, nothing happens, forwards or backwards."""
        for operation in OPERATIONS[1:]:
            with self.subTest(operation), override_settings(DATABASE_ROUTERS=["routers.Nowhere"]):
                before = len(connection.queries_log)
                self.backwards(self.forwards(operation, atomic=False), atomic=False)
                self.assertEqual(len(connection.queries_log), before)
        self.assertNothing()

    def test_written_and_read(self):
        """squashmigrations writes operations with all arguments."""
        for operation in OPERATIONS:
            with self.subTest(operation):
                text, imports = OperationWriter(operation, indentation=0).serialize()
                names = {}
                exec("\n".join(imports), names)
                copy = eval(text.removesuffix(","), names)
                self.assertEqual(copy.deconstruct()[0], operation.deconstruct()[0])
                self.assertEqual(
                    vars(copy) | {"_constructor_args": None}, vars(operation) | {"_constructor_args": None}
                )

    def test_descriptions(self):
        self.assertEqual(
            [(operation.formatted_description(), operation.migration_name_fragment) for operation in OPERATIONS],
            [
                ("+ Creates extension pg_simhash", "create_extension_pg_simhash"),
                ("+ Attach fingerprints of body to model Text", "text_attach_fingerprint"),
                ("+ Attach fingerprints of body to model Text", "text_attach_simhash"),
                ("- Detach fingerprints of body from model Text", "text_detach_other"),
                ("+ Concurrently index 2 blocks of body of model Text", "text_body_2_blocks"),
                ("+ Guard model Text (mark)", "text_guard"),
                ("- Remove the guard of model Text", "text_unguard"),
            ],
        )


class Squashing(Laboratory):
    def optimize(self, *operations):
        return MigrationOptimizer().optimize(list(operations), APP)

    def test_undone(self):
        for do, undo in (Guard, Unguard), (Attach, Detach):
            arguments = {"fingerprint": "f"} if do is Guard else {"field": "f"}
            other = migrations.CreateModel("Other", [KEY])
            self.assertEqual(
                self.optimize(do("Text", "body", **arguments), other, undo("text", "body", **arguments)), [other]
            )
            unlike = [do("Text", "body", **arguments), undo("Text", "body")]
            self.assertEqual(self.optimize(*unlike), unlike)
            elsewhere = [do("Text", "body"), undo("Other", "body")]
            self.assertEqual(self.optimize(*elsewhere), elsewhere)
