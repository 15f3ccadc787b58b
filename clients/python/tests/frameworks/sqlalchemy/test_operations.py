"""Operations of Alembic: what they do, back again, and as a script of --sql."""

import io
import json

import database
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from database import DatabaseTest

import pg_simhash.alembic  # noqa: F401  # It registers the operations.

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
    database.run_with_asyncpg(lambda connection: connection.run_sync(migrate, migration))


WAYS = online, offline, with_asyncpg


class Tables(DatabaseTest):
    def setUp(self):
        super().setUp()
        self.execute("CREATE TABLE notes (id integer PRIMARY KEY, tenant_id integer, body text, near integer)")
        self.execute("INSERT INTO notes SELECT n, n, 'text ' || n FROM generate_series(1, 1000) AS n")

    def catalog(self):
        """The columns, and the definitions of indexes and triggers."""
        columns = self.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = 'notes'::regclass AND attnum > 0 AND NOT attisdropped"
        )
        indexes = self.execute("SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'notes'::regclass")
        triggers = self.execute("SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'notes'::regclass")
        return [sorted(name for (name,) in rows) for rows in (columns, indexes, triggers)]

    def check(self, statement, upgrade, downgrade):
        """In every way, a migration does what SQL does, and its downgrade takes it back."""
        before = self.catalog()
        self.execute(statement)
        expected = self.catalog()
        self.assertNotEqual(expected, before)
        online(downgrade)
        for run in WAYS:
            with self.subTest(run.__name__, statement=statement):
                run(upgrade)
                self.assertEqual(self.catalog(), expected)
                run(downgrade)
                self.assertEqual(self.catalog(), before)

    def test_attach(self):
        options = {"ngram": 2, "weights": {"it's": 0.5, "100% :a": 1}}
        self.check(
            f"SELECT simhash_attach('notes', 'body', blocks => 3, scope => '{{tenant_id}}', prefix => $${STRANGE}$$,"
            f" options => $${json.dumps(options)}$$)",
            lambda op: op.simhash_attach(
                "notes", "body", blocks=3, scope=["tenant_id"], prefix=STRANGE, options=options
            ),
            lambda op: op.simhash_detach("notes", prefix=STRANGE),
        )

    def test_build_indexes(self):
        """The indexes are those of simhash_attach without columns."""
        arguments = {"blocks": 2, "options": {"ngram": 2}, "scope": ["tenant_id"], "prefix": "fp"}
        self.check(
            "SELECT simhash_attach('notes', 'body', blocks => 2, options => '{\"ngram\": 2}', scope => '{tenant_id}',"
            " prefix => 'fp', columns => false)",
            lambda op: op.simhash_build_indexes("notes", "body", **arguments),
            lambda op: op.simhash_detach("notes", prefix="fp"),
        )

    def test_guard(self):
        self.execute("SELECT simhash_attach('notes', 'body')")
        criterion = {"max_distance": 5, "resemblance": None}
        self.check(
            f"SELECT simhash_guard('notes', 'mark', '{json.dumps(criterion)}', '{{tenant_id}}', mark_column => 'near')",
            lambda op: op.simhash_guard("notes", "mark", criterion=criterion, scope=["tenant_id"], mark_column="near"),
            lambda op: op.simhash_unguard("notes"),
        )


class Script(DatabaseTest):
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
