"""Indexes for searches within one tenant, and blocks without columns."""

from django.db import IntegrityError, migrations
from django.db.models import Value
from test_operations import Laboratory, generated
from texts import NEAR, TEXT

from pg_simhash.django import Attach, Guard, SimHash, simhash_indexes


def scoped(blocks=4, column="fingerprint"):
    return [
        f'btree ("The tenant", simhash_block({column}, {block}, {blocks})) INCLUDE ({column})'
        for block in range(blocks)
    ]


class Scopes(Laboratory):
    def check_guard(self):
        """A guard with the scope uses the indexes. Another tenant may have the text."""
        done = self.forwards(Guard("Text", scope=["tenant"], fingerprint="fingerprint"))
        self.model.objects.all().delete()
        self.insert(TEXT)
        self.model.objects.create(body=NEAR, tenant=2)
        with self.assertRaises(IntegrityError):
            self.insert(NEAR)
        near = self.model.objects.filter(tenant=2, fingerprint__near=SimHash(Value(TEXT)))
        self.assertEqual(near.get().body, NEAR)
        self.backwards(done)

    def test_attach(self):
        done = self.forwards(Attach("Text", "body", field="fingerprint", scope=["tenant"]))
        self.assertEqual(len(self.indexes()), 4)
        self.assertQuiet(("fingerprint", generated()))
        self.check_guard()
        self.backwards(done)
        self.assertNothing()

    def test_attach_alone(self):
        done = self.forwards(Attach("Text", "body", scope=["tenant"], blocks=3, columns=False))
        self.assertEqual(self.columns(), [])
        self.assertEqual(len(self.indexes()), 3)
        self.assertQuiet()
        self.backwards(done)
        self.assertNothing()

    def test_indexes_of_model(self):
        self.forwards(migrations.AddField("Text", "fingerprint", generated()))
        for index in simhash_indexes("fingerprint", name="text", scope=["tenant"]):
            self.forwards(migrations.AddIndex("Text", index))
        self.assertEqual(self.indexes(), scoped())
        self.check_guard()
