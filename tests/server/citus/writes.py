"""Guards of tables that Citus manages hold while clients write through all servers at once: no two rows of a shard, of
a reference table or of a register are near-duplicates, and all copies of a reference table are the same. The errors of
docs/servers.md, on the table that the page has made.

    python tests/server/citus/writes.py NAME=USER@HOST:PORT...

The arguments are the addresses of the servers coordinator, one and two, on which docs/servers.md has been run.
"""

import pathlib
import re
import sys
import unittest

sys.path.append(f"{sys.path[0]}/..")
from distributed import FIRST, OTHERS, SERVERS, DistributedTest, connect, statements

PAGE = pathlib.Path("docs/servers.md").read_text(encoding="utf-8")

TABLES = """
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
FINGERPRINT = "hashint8extended(%(group)s, 0) # (1::bigint << %(bit)s)"


class OnCoordinator(DistributedTest):
    @classmethod
    def connect(cls, server=FIRST):
        connection = connect(server)
        connection.execute("SET client_min_messages = warning; SET citus.enable_unsafe_triggers = on")
        return connection

    @classmethod
    def on_coordinator(cls, *statements):
        return cls.on(FIRST, *statements)


class Guards(OnCoordinator):
    @classmethod
    def setUpClass(cls):
        cls.on_coordinator(*statements(TABLES))

    def write_in_groups(self, statement, servers=tuple(SERVERS), groups=400):
        return self.write(statement, servers, clients=8, rows=600, groups=groups)

    def write_guarded(self, *arguments, **options):
        counts = self.write_in_groups(*arguments, **options)
        self.assertGreater(counts["stored"], 0)
        self.assertGreater(counts["refused"], 0)

    def count_pairs(self, table, group=""):
        arrays = f"SELECT array_agg(id) AS ids, array_agg(fp) AS prints FROM writes.{table} {group}"
        return self.on_coordinator(f"SELECT count(*) FROM ({arrays}) AS t, simhash_pairs(ids, prints)")[0][0]

    def test_scope(self):
        """A distributed table, within its distribution column."""
        insert = f"INSERT INTO writes.tenants VALUES (%(tenant)s, %(id)s, {FINGERPRINT})"
        for action in "skip", "reject":
            self.on_coordinator(
                "TRUNCATE writes.tenants",
                f"SELECT simhash_guard('writes.tenants', '{action}', scope => '{{tenant}}', source => 'fp')",
            )
            self.write_guarded(insert)
            self.assertEqual(self.count_pairs("tenants", "GROUP BY tenant"), 0)
        # Without a guard, the same writers store pairs.
        self.on_coordinator("SELECT simhash_unguard('writes.tenants')", "TRUNCATE writes.tenants")
        self.write_in_groups(insert)
        self.assertGreater(self.count_pairs("tenants", "GROUP BY tenant"), 0)

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
            self.write_guarded(f"INSERT INTO writes.copies VALUES (%(id)s, {FINGERPRINT})")
            self.assertEqual(self.count_pairs("copies"), 0)
            copy = "SELECT md5(string_agg(c::text, ',' ORDER BY id)) FROM writes.copies AS c"
            self.assertEqual(len({self.on(server, copy)[0] for server in SERVERS}), 1)

    def test_local_table(self):
        """A local table that Citus manages. Writes through other servers reach it too."""
        self.on_coordinator("SELECT simhash_guard('writes.local_rows', 'skip', source => 'fp')")
        self.write_guarded(f"INSERT INTO writes.local_rows VALUES (%(id)s, {FINGERPRINT})")
        self.assertEqual(self.count_pairs("local_rows"), 0)

    def test_register(self):
        """Deduplication across all shards, by a register on the coordinator."""
        add = f"SELECT WHERE writes.add_row(%(tenant)s, %(id)s, {FINGERPRINT})"
        self.write_guarded(add, [FIRST], groups=4000)
        self.assertEqual(self.count_pairs("registered"), 0)
        rows = "SELECT count(*), sum(id), bit_xor(fp) FROM writes.{}"
        self.assertEqual(self.on_coordinator(rows.format("register")), self.on_coordinator(rows.format("registered")))
        # Without a guard, the same writers store pairs.
        self.on_coordinator("SELECT simhash_unguard('writes.register')", "TRUNCATE writes.register, writes.registered")
        self.write_in_groups(add, [FIRST], groups=4000)
        self.assertGreater(self.count_pairs("registered"), 0)


class Commands(OnCoordinator):
    def distribute(self, table, action):
        """A new table of a tenant, a key and a fingerprint, distributed by the tenant, attached and guarded."""
        self.on_coordinator(
            f"CREATE TABLE {table} (tenant integer, id bigint, fp bigint, PRIMARY KEY (tenant, id))",
            f"SELECT create_distributed_table('{table}', 'tenant', shard_count => 1, colocate_with => 'none')",
            f"SELECT simhash_attach('{table}', 'fp')",
            f"SELECT simhash_guard('{table}', '{action}', source => 'fp', scope => '{{tenant}}')",
        )

    def test_errors_of_the_page(self):
        """Each error of the page's table, by the statements that it names."""
        errors = PAGE[PAGE.index("### What fails with Citus") :].split("\n\n")[1]
        rows = [row.split(" | ") for row in errors.splitlines()[2:]]
        self.assertGreaterEqual(len(rows), 5)
        self.on_coordinator(
            "CREATE TABLE later (tenant_id integer, id bigint, simhash bigint, PRIMARY KEY (tenant_id, id))",
            "SELECT simhash_attach('later', 'simhash'), simhash_guard('later')",
            "SELECT create_distributed_table('later', 'tenant_id')",
            "CREATE TABLE appended (tenant_id integer, id bigint, simhash bigint)",
            "SELECT create_distributed_table('appended', 'tenant_id', 'append')",
            "SELECT simhash_attach('appended', 'simhash')",
        )
        guard = "SELECT simhash_guard('docs', scope => '{tenant_id}')"
        off = "SET citus.enable_unsafe_triggers = off;"
        tries = {
            "a command": [("one", "SELECT simhash_index('docs', 'body')"), ("two", "SELECT simhash_guard('docs')")],
            "without the distribution": [(FIRST, "SELECT simhash_guard('docs', scope => '{}')")],
            "allows no triggers": [(FIRST, f"{off} {guard}"), (FIRST, f"{off} SELECT simhash_unguard('docs')")],
            "`append`": [(FIRST, "SELECT simhash_guard('appended', scope => '{tenant_id}')")],
            "distributed then": [(FIRST, "INSERT INTO later VALUES (1, 1, 1)")],
            "simhash_preview": [(FIRST, "SELECT simhash_preview('docs')")],
        }
        for statement, error in rows:
            key = next(key for key in tries if key in statement)
            code, message = re.fullmatch(r"(\w{5}) `(.*)` \|", error).groups()
            for server, sql in tries.pop(key):
                table = re.search("appended|later|docs", sql)[0]
                with self.subTest(sql), self.fails(code, message.replace('"docs"', f'"{table}"')):
                    self.on(server, sql)
        self.assertEqual(tries, {})

    def test_rejection(self):
        """The error names the table and the guard as the user knows them, also when the shard has moved."""
        self.distribute("named", "reject")
        self.on_coordinator("INSERT INTO named VALUES (1, 1, 0)")

        def assert_rejected():
            message = 'near-duplicate violates guard "zzz_simhash_guard" of table "named"'
            with self.fails("23P01", message, "(tenant, id)=(1, 1)"):
                self.on_coordinator("INSERT INTO named VALUES (1, 2, 1)")

        assert_rejected()
        ((shard, source),) = self.on_coordinator("""
            SELECT shardid, nodeport FROM pg_dist_shard JOIN pg_dist_placement USING (shardid)
                JOIN pg_dist_node USING (groupid) WHERE logicalrelid = 'named'::regclass""")
        (host, other), *_ = (SERVERS[server] for server in OTHERS if int(SERVERS[server][1]) != source)
        with self.connect() as connection:
            # Citus allows this in any session.
            move = "SELECT citus_move_shard_placement(%s, %s, %s, %s, %s, 'block_writes')"
            connection.execute(move, [shard, host, source, host, int(other)])
        assert_rejected()

    def test_counts(self):
        """INSERT does not count rows that a guard skips; COPY does."""
        self.distribute("counted", "skip")
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute("INSERT INTO counted VALUES (1, 1, 0), (1, 2, 0), (2, 3, 0)")
            self.assertEqual(cursor.rowcount, 2)
            with cursor.copy("COPY counted FROM STDIN") as copy:
                copy.write("1\t4\t0\n2\t5\t0\n3\t6\t0\n")
            self.assertEqual(cursor.rowcount, 3)
            self.assertEqual(connection.execute("SELECT count(*) FROM counted").fetchone(), (3,))

    def test_guarded_before(self):
        """A guard that skips rows also skips them when its table is distributed, unless it is taken away before."""
        for unguard, left in ("", 1), ("SELECT simhash_unguard('before')", 2):
            with self.subTest(unguard):
                self.on_coordinator(
                    "DROP TABLE IF EXISTS before",
                    "CREATE TABLE before (tenant integer, id bigint, fp bigint, PRIMARY KEY (tenant, id))",
                    "INSERT INTO before VALUES (1, 1, 0), (1, 2, 0)",
                    "SELECT simhash_attach('before', 'fp')",
                    "SELECT simhash_guard('before', 'skip', source => 'fp', scope => '{tenant}')",
                    *filter(None, [unguard]),
                    "SELECT create_distributed_table('before', 'tenant')",
                )
                self.assertEqual(self.on_coordinator("SELECT count(*) FROM before"), [(left,)])
                plan = self.on_coordinator("EXPLAIN SELECT id FROM before WHERE simhash_near(fp, 0)")
                self.assertTrue(any("SimhashScan" in line for (line,) in plan), plan)

    def test_the_usual_life(self):
        """Index, attach and detach, for each kind of table."""
        kinds = {
            "distributed": "create_distributed_table('life', 'id')",
            "reference": "create_reference_table('life')",
            "local": "citus_add_local_table_to_metadata('life')",
        }
        for kind, distribute in kinds.items():
            with self.subTest(kind):
                self.on_coordinator("DROP TABLE IF EXISTS life", "CREATE TABLE life (id bigint PRIMARY KEY, body text)")
                self.on_coordinator(f"SELECT {distribute}")
                self.on_coordinator("INSERT INTO life SELECT n, 'text ' || n FROM generate_series(1, 100) AS n")
                self.on_coordinator("SELECT simhash_index('life', 'body')")
                near = self.on_coordinator("SELECT id FROM life WHERE simhash_near(body, 'text 7')")
                self.assertEqual(near, [(7,)])
                self.on_coordinator("SELECT simhash_attach('life', 'body')")
                near = self.on_coordinator("SELECT id FROM life WHERE simhash_near(simhash, simhash('text 7'))")
                self.assertEqual(near, [(7,)])
                self.on_coordinator("SELECT simhash_detach('life')")
                columns = self.on_coordinator("SELECT count(*) FROM pg_attribute WHERE attrelid = 'life'::regclass"
                    " AND attnum > 0 AND NOT attisdropped")
                self.assertEqual(columns, [(2,)])


if __name__ == "__main__":
    unittest.main(argv=["writes.py"], verbosity=2)
