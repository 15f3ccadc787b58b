"""Guards of tables that Citus manages hold while clients write through all servers at once: no two rows of a shard, of
a reference table or of a register are near-duplicates, and all copies of a reference table are the same."""

import unittest

from coordinator import OnCoordinator
from database import split_statements
from distributed import ENTRY, SERVERS

TABLES_SQL = """
CREATE SCHEMA writes;
SET search_path = writes, public;
CREATE TABLE tenants (tenant integer, id bigint, fp bigint, near bigint, PRIMARY KEY (tenant, id));
SELECT create_distributed_table('tenants', 'tenant', shard_count => 6);
SELECT simhash_attach('tenants', 'fp');
CREATE TABLE copies (id bigint PRIMARY KEY, fp bigint, near bigint);
SELECT create_reference_table('copies');
SELECT simhash_attach('copies', 'fp');
CREATE TABLE local_rows (id bigint PRIMARY KEY, fp bigint, near bigint);
SELECT citus_add_local_table_to_metadata('local_rows');
SELECT simhash_attach('local_rows', 'fp');
CREATE TABLE registered (tenant integer, id bigint, fp bigint, PRIMARY KEY (tenant, id));
SELECT create_distributed_table('registered', 'tenant', shard_count => 6);
CREATE TABLE register (tenant integer, id bigint, fp bigint, PRIMARY KEY (tenant, id));
SELECT simhash_attach('register', 'fp'), simhash_guard('register', 'skip', source => 'fp');
CREATE FUNCTION add_row(new_tenant integer, new_id bigint, new_fp bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO writes.register VALUES (new_tenant, new_id, new_fp);
    IF NOT found THEN
        RETURN false;
    END IF;
    INSERT INTO writes.registered VALUES (new_tenant, new_id, new_fp);
    RETURN true;
END $$;
"""
FINGERPRINT_SQL = "hashint8extended(%(group)s, 0) # (1::bigint << %(bit)s)"


class Guards(OnCoordinator):
    @classmethod
    def setUpClass(cls):
        cls.on_coordinator(*split_statements(TABLES_SQL))

    def write_in_groups(self, statement, servers=tuple(SERVERS), groups=400):
        return self.write(statement, servers, clients=8, rows=600, groups=groups)

    def write_guarded(self, *arguments, **options):
        counts = self.write_in_groups(*arguments, **options)
        self.assertGreater(counts["stored"], 0)
        self.assertGreater(counts["refused"], 0)

    def count_pairs(self, table, group_by=""):
        group = group_by and f"GROUP BY {group_by}"
        arrays = f"SELECT array_agg(id) AS ids, array_agg(fp) AS fingerprints FROM writes.{table} {group}"
        return self.on_coordinator(f"SELECT count(*) FROM ({arrays}) AS arrays, simhash_pairs(ids, fingerprints)")[0][0]

    def test_scope(self):
        """A distributed table, within its distribution column."""
        insert = f"INSERT INTO writes.tenants VALUES (%(tenant)s, %(id)s, {FINGERPRINT_SQL})"
        for action in "skip", "reject":
            self.on_coordinator(
                "TRUNCATE writes.tenants",
                f"SELECT simhash_guard('writes.tenants', '{action}', scope => '{{tenant}}', source => 'fp')",
            )
            self.write_guarded(insert)
            self.assertEqual(self.count_pairs("tenants", group_by="tenant"), 0)
        # Without a guard, the same writers store pairs.
        self.on_coordinator("SELECT simhash_unguard('writes.tenants')", "TRUNCATE writes.tenants")
        self.write_in_groups(insert)
        self.assertGreater(self.count_pairs("tenants", group_by="tenant"), 0)

    def test_marks(self):
        """The mark of a key of two columns is the column outside the scope."""
        self.on_coordinator(
            """SELECT simhash_guard('writes.tenants', 'mark', scope => '{tenant}', source => 'fp',
                mark_column => 'near')""",
            "INSERT INTO writes.tenants (tenant, id, fp) VALUES (100, 1, 5), (100, 2, 4), (101, 3, 5)",
        )
        rows = self.on_coordinator("SELECT id, near FROM writes.tenants WHERE tenant >= 100 ORDER BY id")
        self.assertEqual(rows, [(1, None), (2, 1), (3, None)])
        self.on_coordinator("SELECT simhash_unguard('writes.tenants')")

    def test_copies(self):
        """A reference table, of which each server has a copy."""
        for action in "skip", "reject":
            self.on_coordinator(
                "TRUNCATE writes.copies", f"SELECT simhash_guard('writes.copies', '{action}', source => 'fp')"
            )
            self.write_guarded(f"INSERT INTO writes.copies VALUES (%(id)s, {FINGERPRINT_SQL})")
            self.assertEqual(self.count_pairs("copies"), 0)
            copy = "SELECT md5(string_agg(copies::text, ',' ORDER BY id)) FROM writes.copies"
            self.assertEqual(len({self.on(server, copy)[0] for server in SERVERS}), 1)

    def test_local_table(self):
        """A local table that Citus manages. Writes through other servers reach it too."""
        self.on_coordinator("SELECT simhash_guard('writes.local_rows', 'skip', source => 'fp')")
        self.write_guarded(f"INSERT INTO writes.local_rows VALUES (%(id)s, {FINGERPRINT_SQL})")
        self.assertEqual(self.count_pairs("local_rows"), 0)

    def test_register(self):
        """Deduplication across all shards, by a register on the coordinator."""
        add = f"SELECT WHERE writes.add_row(%(tenant)s, %(id)s, {FINGERPRINT_SQL})"
        self.write_guarded(add, [ENTRY], groups=4000)
        self.assertEqual(self.count_pairs("registered"), 0)
        rows = "SELECT count(*), sum(id), bit_xor(fp) FROM writes.{}"
        self.assertEqual(self.on_coordinator(rows.format("register")), self.on_coordinator(rows.format("registered")))
        # Without a guard, the same writers store pairs.
        self.on_coordinator("SELECT simhash_unguard('writes.register')", "TRUNCATE writes.register, writes.registered")
        self.write_in_groups(add, [ENTRY], groups=4000)
        self.assertGreater(self.count_pairs("registered"), 0)


if __name__ == "__main__":
    unittest.main(argv=["writes.py"], verbosity=2)
