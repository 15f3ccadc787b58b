"""Reflection and Alembic's autogenerate: every layout of the extension stays as it is, and nothing else is hidden."""

import logging

from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from database import DatabaseTest
from sqlalchemy import (
    BigInteger,
    Column,
    Computed,
    FetchedValue,
    Identity,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    column,
    func,
)

from pg_simhash.alembic import include_object
from pg_simhash.sqlalchemy import band_indexes, block, block_indexes, simhash


def notes(*items, schema=None):
    """A table of the model, alone in its metadata."""
    key = Column("id", BigInteger, Identity(), primary_key=True)
    others = Column("tenant_id", Integer), Column("title", String(200)), Column("body", Text)
    return Table("notes", MetaData(), key, *others, *items, schema=schema)


def generated(*arguments, name="simhash", type_=BigInteger):
    return Column(name, type_, Computed(*arguments, persisted=True))


def fingerprint(**options):
    return generated(simhash(column("body"), **options))


def proposals(differences):
    """What autogenerate proposes, as (operation, name) in order."""
    found = []
    for difference in differences:
        if isinstance(difference, list):
            found += [(operation, name) for operation, _, _, name, *_ in difference]
        else:
            found.append((difference[0], difference[-1].name))
    return sorted(found)


class AutogenerateTest(DatabaseTest):
    def differences(self, table, include=include_object):
        with self.engine.connect() as connection:
            options = {"include_object": include, "include_schemas": table.schema is not None}
            context = MigrationContext.configure(connection, opts=options)
            return proposals(compare_metadata(context, table.metadata))

    def check_clean(self, table):
        """No difference and, because warnings are errors, no warning. Without the filter, there are differences."""
        self.assertEqual(self.differences(table), [])
        self.assertNotEqual(self.differences(table, include=None), [])


class Attached(AutogenerateTest):
    """Layouts of simhash_attach."""

    def attach(self, arguments=""):
        notes().create(self.engine)
        self.execute(f"SELECT simhash_attach('notes', 'body'{arguments})")

    def test_not_in_the_model(self):
        self.attach()
        self.check_clean(notes())

    def test_in_the_model(self):
        """The fingerprint, or all columns, as generated columns."""
        self.attach()
        self.check_clean(notes(fingerprint()))
        values = [block(simhash(column("body")), number) for number in range(4)]
        blocks = [generated(value, name=f"simhash_block{n}", type_=Integer) for n, value in enumerate(values)]
        self.check_clean(notes(fingerprint(), *blocks))

    def test_arguments(self):
        self.attach(""", scope => '{tenant_id}', options => '{"tokens": "words", "weights": {"it''s": 0.5, "a": 1}}'""")
        self.check_clean(notes())
        self.check_clean(notes(fingerprint(tokens="words", weights={"it's": 0.5, "a": 1})))

    def test_other_schema(self):
        """Neither the schema of the table nor that of the extension is on the search path."""
        self.execute("CREATE SCHEMA extensions")
        self.execute("ALTER EXTENSION pg_simhash SET SCHEMA extensions")
        self.execute("CREATE SCHEMA other")
        notes(schema="other").create(self.engine)
        self.execute("SELECT extensions.simhash_attach('other.notes', 'body', options => '{\"ngram\": 2}')")
        self.check_clean(notes(schema="other"))
        self.check_clean(notes(fingerprint(ngram=2), schema="other"))

    def test_bigint_of_the_application(self):
        """Blocks of a column that the application fills: the column belongs to the model."""
        model = notes(Column("fp", BigInteger))
        model.create(self.engine)
        self.execute("SELECT simhash_attach('notes', 'fp', prefix => 'fp')")
        self.check_clean(model)
        self.assertEqual(self.differences(notes()), [("remove_column", "fp")])

    def test_other_objects(self):
        """What the extension did not make is compared."""
        self.attach()
        self.execute("ALTER TABLE notes ADD other integer, ADD lost bigint GENERATED ALWAYS AS (id + 1) STORED")
        self.execute("CREATE INDEX lost_idx ON notes (lower(body))")
        self.execute("CREATE INDEX by_title ON notes (title, simhash_block0, tenant_id)")
        columns, indexes = ("lost", "other"), ("by_title", "lost_idx")
        expected = [*(("remove_column", name) for name in columns), *(("remove_index", name) for name in indexes)]
        self.assertEqual(self.differences(notes()), expected)
        self.execute("ALTER TABLE notes DROP title, DROP lost, DROP other")
        self.execute("DROP INDEX lost_idx")
        self.assertEqual(self.differences(notes()), [("add_column", "title")])

    def test_another_definition(self):
        """Alembic can neither see nor make this change, so there is a warning and the comment stays."""
        self.attach()
        for modelled in (
            fingerprint(ngram=2),
            generated(simhash(column("title"))),
            Column("simhash", BigInteger),
            Column("simhash", Text),
            Column("simhash", Integer, FetchedValue()),
        ):
            with self.subTest(repr(modelled)), self.assertWarnsRegex(UserWarning, '"notes.simhash" differs'):
                self.assertEqual(self.differences(notes(modelled)), [])


class Indexed(AutogenerateTest):
    """The indexes of simhash_index and of simhash_index_commands."""

    def test_not_in_the_model(self):
        notes().create(self.engine)
        self.execute("SELECT simhash_index('notes', 'body')")
        for arguments in ", options => '{\"ngram\": 2}'", ", scope => '{tenant_id}', bands => 3":
            for (command,) in self.execute(f"SELECT simhash_index_commands('notes', 'body'{arguments})"):
                self.execute(command)
        self.check_clean(notes())


class Modelled(AutogenerateTest):
    """Generated columns and expression indexes that the model declares, without commands of the extension."""

    def model(self, *arguments, options=None, **keywords):
        table = notes(fingerprint(**(options or {})))
        block_indexes(table.c.simhash, *arguments, **keywords)
        return table

    def model_of_texts(self, *arguments, **keywords):
        table = notes()
        band_indexes(table.c.body, *arguments, **keywords)
        return table

    def models(self):
        yield self.model()
        yield self.model(2)
        yield self.model(3, options={"ngram": 2, "weights": {"it's": 0.5, "a": 1}})
        scoped = self.model()
        block_indexes(scoped.c.simhash, 3, scope=[scoped.c.tenant_id, scoped.c.title])
        yield scoped
        yield self.model_of_texts()
        scoped = self.model_of_texts(12, ngram=2, weights={"it's": 0.00001, "a": 1})
        band_indexes(scoped.c.body, scope=[scoped.c.tenant_id, scoped.c.title], name="ix_notes_scoped")
        band_indexes(func.coalesce(scoped.c.title, "") + scoped.c.body, name="ix_notes_text")
        yield scoped

    def test_created(self):
        """With and without the filter, nothing differs after MetaData.create_all."""
        for number, table in enumerate(self.models()):
            with self.subTest(number):
                table.metadata.create_all(self.engine)
                self.assertEqual(self.differences(table), [])
                self.assertEqual(self.differences(table, include=None), [])
                table.metadata.drop_all(self.engine)

    def test_removed_from_the_model(self):
        """Only what the extension made stays: a column and indexes of the model are dropped with it."""
        table = self.model()
        band_indexes(table.c.body, 2)
        table.create(self.engine)
        names = [f"body_band{number}" for number in range(2)] + [f"simhash_block{number}" for number in range(4)]
        indexes = [("remove_index", f"ix_notes_{name}") for name in names]
        self.assertEqual(self.differences(notes(fingerprint())), indexes)
        self.assertEqual(self.differences(notes()), [("remove_column", "simhash"), *indexes])

    def test_indexes_of_the_extension(self):
        """The column is the model's, and simhash_attach made the indexes."""
        table = notes(fingerprint())
        table.create(self.engine)
        self.execute("SELECT simhash_attach('notes', 'simhash')")
        self.check_clean(table)


logging.getLogger("alembic").setLevel(logging.ERROR)
