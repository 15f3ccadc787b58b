"""Operations of Alembic: what they do, back again, and as a script of --sql."""

import asyncio
import io
import json

import database
import sqlalchemy
from alembic.autogenerate import render_python_code
from alembic.operations import Operations
from alembic.operations.ops import UpgradeOps
from alembic.runtime.migration import MigrationContext
from database import DatabaseTest

from pg_simhash.alembic.operations import (
    CreateSimhashExtensionOp,
    DropSimhashExtensionOp,
    SimhashAttachOp,
    SimhashBuildIndexesOp,
    SimhashDetachOp,
    SimhashGuardOp,
    SimhashUnguardOp,
)

# A name with all characters that SQL, SQLAlchemy or a driver may take for something else.
STRANGE = 'it\'s 100%s :a "table"'


def migrate(connection, migration):
    """Runs a migration as env.py runs it: in a transaction, which an autocommit_block commits."""
    context = MigrationContext.configure(connection)
    with context.begin_transaction():
        migration(Operations(context))


def script(migration):
    """The script that --sql makes of a migration."""
    written = io.StringIO()
    context = MigrationContext.configure(
        dialect_name="postgresql",
        dialect_opts={"paramstyle": "named"},
        opts={"as_sql": True, "output_buffer": written, "literal_binds": True},
    )
    with context.begin_transaction():
        migration(Operations(context))
    return written.getvalue()


def online(migration):
    engine = database.engine()
    try:
        with engine.connect() as connection:
            migrate(connection, migration)
    finally:
        engine.dispose()


def offline(migration):
    database.run_script(script(migration))


def with_asyncpg(migration):
    async def run():
        engine = database.engine("asyncpg")
        async with engine.connect() as connection:
            await connection.run_sync(migrate, migration)
        await engine.dispose()

    asyncio.run(run())


class OperationsTest(DatabaseTest):
    """Runs each migration in every way."""

    def every_way(self, migration, check):
        for run in online, offline, with_asyncpg:
            with self.subTest(run.__name__):
                run(migration)
                check()

    def catalog(self, table="notes"):
        """The columns, the definitions of indexes and the triggers of a table."""
        (oid,) = self.execute("SELECT %s::regclass::oid::text", table)[0]
        columns = self.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped", oid
        )
        indexes = self.execute("SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = %s", oid)
        triggers = self.execute("SELECT tgname FROM pg_trigger WHERE tgrelid = %s AND NOT tgisinternal", oid)
        return [sorted(name for (name,) in rows) for rows in (columns, indexes, triggers)]


class Extension(OperationsTest):
    def version(self):
        return self.execute(
            "SELECT nspname FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'pg_simhash'"
        )

    def test_extension(self):
        def check():
            self.assertEqual(self.version(), [("public",)])

        self.every_way(lambda op: op.create_simhash_extension(), check)
        self.execute("DROP EXTENSION pg_simhash")
        self.every_way(lambda op: op.create_simhash_extension(), check)

    def test_dropped(self):
        def create_and_drop(op):
            op.create_simhash_extension()
            op.drop_simhash_extension()

        self.every_way(create_and_drop, lambda: self.assertEqual(self.version(), []))


class Attach(OperationsTest):
    def setUp(self):
        super().setUp()
        self.execute("CREATE TABLE notes (id bigint PRIMARY KEY, tenant_id integer, body text)")
        self.before = self.catalog()

    def check_same_as(self, statement, migration, downgrade, table="notes"):
        """A migration does what SQL does, and its downgrade takes it back."""
        before = self.catalog(table)
        self.execute(statement)
        expected = self.catalog(table)
        self.assertNotEqual(expected, before)
        online(downgrade)
        for run in online, offline, with_asyncpg:
            with self.subTest(run.__name__):
                run(migration)
                self.assertEqual(self.catalog(table), expected)
                run(downgrade)
                self.assertEqual(self.catalog(table), before)

    def test_attach(self):
        self.check_same_as(
            "SELECT simhash_attach('notes', 'body')",
            lambda op: op.simhash_attach("notes", "body"),
            lambda op: op.simhash_detach("notes"),
        )

    def test_arguments(self):
        self.check_same_as(
            "SELECT simhash_attach('notes', 'body', blocks => 3, prefix => 'fp',"
            """ options => '{"ngram": 2, "weights": {"it''s": 0.5, "100% :a": 1}}')""",
            lambda op: op.simhash_attach(
                "notes",
                "body",
                blocks=3,
                prefix="fp",
                options={"ngram": 2, "weights": {"it's": 0.5, "100% :a": 1}},
            ),
            lambda op: op.simhash_detach("notes", prefix="fp"),
        )

    def test_scope(self):
        self.check_same_as(
            "SELECT simhash_attach('notes', 'body', scope => '{tenant_id}', columns => false)",
            lambda op: op.simhash_attach("notes", "body", scope=["tenant_id"], columns=False),
            lambda op: op.simhash_detach("notes"),
        )


class BuildIndexes(OperationsTest):
    def setUp(self):
        super().setUp()
        self.execute("CREATE TABLE notes (id bigint PRIMARY KEY, tenant_id integer, body text)")
        self.execute("INSERT INTO notes SELECT n, n, 'text ' || n FROM generate_series(1, 1000) AS n")
        self.before = self.catalog()

    def check(self, migration, downgrade, blocks):
        for run in online, offline, with_asyncpg:
            with self.subTest(run.__name__):
                run(migration)
                columns, found, triggers = self.catalog()
                self.assertEqual((columns, triggers), (["body", "id", "tenant_id"], []))
                self.assertEqual(len([index for index in found if "simhash_block(simhash(body" in index]), blocks)
                run(downgrade)
                self.assertEqual(self.catalog(), self.before)

    def test_defaults(self):
        self.check(lambda op: op.simhash_build_indexes("notes", "body"), lambda op: op.simhash_detach("notes"), 4)

    def test_arguments(self):
        self.check(
            lambda op: op.simhash_build_indexes(
                "notes", "body", blocks=2, options={"ngram": 2}, scope=["tenant_id"], prefix="fp"
            ),
            lambda op: op.simhash_detach("notes", prefix="fp"),
            2,
        )

    def test_interrupted(self):
        """The migration can be repeated: what is done is not done again, what is left is completed."""

        def upgrade(op):
            op.simhash_build_indexes("notes", "body")

        online(upgrade)
        expected = self.catalog()
        self.execute("DROP INDEX notes_simhash_block2_idx")
        online(upgrade)
        self.assertEqual(self.catalog(), expected)

    def test_after_the_transaction(self):
        """What the migration did before the indexes is committed, and the version is written after them."""

        def upgrade(op):
            op.execute("CREATE TABLE before_indexes (id integer)")
            op.simhash_build_indexes("notes", "missing")

        with self.assertRaisesRegex(sqlalchemy.exc.ProgrammingError, 'column "missing" .* does not exist'):
            online(upgrade)
        self.assertEqual(self.execute("SELECT count(*) FROM before_indexes"), [(0,)])


class Guard(OperationsTest):
    def setUp(self):
        super().setUp()
        self.execute("CREATE TABLE notes (id integer PRIMARY KEY, tenant_id integer, body text, near integer)")
        self.execute("SELECT simhash_attach('notes', 'body', prefix => 'fp')")

    def definition(self):
        found = self.execute("SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'notes'::regclass")
        return [trigger for (trigger,) in found]

    def check(self, statement, guard):
        self.execute(statement)
        expected = self.definition()
        self.assertEqual(len(expected), 1)
        online(lambda op: op.simhash_unguard("notes"))
        for run in online, offline, with_asyncpg:
            with self.subTest(run.__name__):
                run(guard)
                self.assertEqual(self.definition(), expected)
                run(lambda op: op.simhash_unguard("notes"))
                self.assertEqual(self.definition(), [])

    def test_reject(self):
        self.check(
            "SELECT simhash_guard('notes', fingerprint => 'fp')", lambda op: op.simhash_guard("notes", fingerprint="fp")
        )

    def test_mark(self):
        self.check(
            """SELECT simhash_guard('notes', 'mark', '{"max_distance": 5, "resemblance": null}', '{tenant_id}',"""
            """ mark_column => 'near', fingerprint => 'fp')""",
            lambda op: op.simhash_guard(
                "notes",
                "mark",
                criterion={"max_distance": 5, "resemblance": None},
                scope=["tenant_id"],
                mark_column="near",
                fingerprint="fp",
            ),
        )

    def test_criterion_and_condition(self):
        criterion = {"resemblance": 0.75, "radii": [1, 0, -1, 0], "same": ["numbers"]}
        self.check(
            f"SELECT simhash_guard('notes', 'skip', '{json.dumps(criterion)}', among => 'near IS NULL',"
            " fingerprint => 'fp')",
            lambda op: op.simhash_guard("notes", "skip", criterion=criterion, among="near IS NULL", fingerprint="fp"),
        )


class Script(OperationsTest):
    """Scripts of --sql, read as a person reads them."""

    def test_script(self):
        def upgrade(op):
            op.create_simhash_extension(schema="other")
            op.simhash_attach("Notes", "body", blocks=3, options={"ngram": 2}, scope=["a", "b"], schema="other")
            op.simhash_guard("Notes", criterion={"resemblance": None}, schema="other")
            op.simhash_build_indexes("docs", "body", blocks=2)
            op.simhash_unguard("docs")
            op.simhash_detach("docs", prefix="fp")
            op.drop_simhash_extension()

        lines = [line for line in script(upgrade).splitlines() if line]
        self.assertEqual(
            lines,
            [
                "BEGIN;",
                "CREATE EXTENSION IF NOT EXISTS pg_simhash SCHEMA other;",
                (
                    "SELECT simhash_attach('other.\"Notes\"', 'body', blocks => 3, options => '{\"ngram\": 2}',"
                    " scope => ARRAY['a', 'b']::text[]);"
                ),
                "SELECT simhash_guard('other.\"Notes\"', 'reject', criterion => '{\"resemblance\": null}');",
                "COMMIT;",
                "-- for psql, which runs the commands that this query returns",
                "SELECT simhash_index_commands('docs', 'body', blocks => 2) \\gexec",
                "BEGIN;",
                "SELECT simhash_unguard('docs');",
                "SELECT simhash_detach('docs', prefix => 'fp');",
                "DROP EXTENSION pg_simhash;",
                "COMMIT;",
            ],
        )


OPERATIONS = {
    "op.create_simhash_extension()": CreateSimhashExtensionOp(),
    "op.create_simhash_extension(schema='other')": CreateSimhashExtensionOp("other"),
    "op.drop_simhash_extension()": DropSimhashExtensionOp(),
    "op.simhash_attach('notes', 'body', blocks=3, options={'ngram': 2}, scope=['a'], columns=False)": SimhashAttachOp(
        "notes", "body", blocks=3, options={"ngram": 2}, scope=["a"], columns=False
    ),
    "op.simhash_build_indexes('notes', 'body', blocks=3)": SimhashBuildIndexesOp("notes", "body", blocks=3),
    "op.simhash_detach('notes', prefix='fp')": SimhashDetachOp("notes", prefix="fp"),
    "op.simhash_guard('notes', action='skip', criterion={'radii': []})": SimhashGuardOp("notes", "skip", {"radii": []}),
    "op.simhash_unguard('notes')": SimhashUnguardOp("notes"),
}


class Rendered(OperationsTest):
    """Operations in directives that a hook of autogenerate adds."""

    def test_code(self):
        code = render_python_code(UpgradeOps(ops=list(OPERATIONS.values())))
        lines = [line.strip() for line in code.splitlines() if not line.strip().startswith("#")]
        self.assertEqual(lines, list(OPERATIONS))

    def test_reverse(self):
        for operation, reverse in (
            (CreateSimhashExtensionOp(), "op.drop_simhash_extension()"),
            (DropSimhashExtensionOp(), "op.create_simhash_extension()"),
            (
                SimhashAttachOp("notes", "body", prefix="fp", schema="s"),
                "op.simhash_detach('notes', prefix='fp', schema='s')",
            ),
            (SimhashGuardOp("notes", "skip"), "op.simhash_unguard('notes')"),
        ):
            with self.subTest(reverse):
                reversed = operation.reverse()
                self.assertIn(reverse, render_python_code(UpgradeOps(ops=[reversed])))
                if not isinstance(operation, DropSimhashExtensionOp | CreateSimhashExtensionOp):
                    self.assertIs(reversed.reverse(), operation)

    def test_irreversible(self):
        for operation in SimhashDetachOp("notes"), SimhashUnguardOp("notes"):
            with self.assertRaisesRegex(ValueError, 'does not say .* table "notes"'):
                operation.reverse()
