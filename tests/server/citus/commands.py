"""The errors of docs/servers.md, on the table that the page has made; and commands on the tables of Citus."""

import pathlib
import re
import unittest

from coordinator import OnCoordinator
from database import has_scan
from distributed import ENTRY, OTHERS, SERVERS

PAGE = pathlib.Path("docs/servers.md").read_text(encoding="utf-8")


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
        # By a part of the statement in the page's first column.
        statements_of_row = {
            "a command": [("one", "SELECT simhash_index('docs', 'body')"), ("two", "SELECT simhash_guard('docs')")],
            "without the distribution": [(ENTRY, "SELECT simhash_guard('docs', scope => '{}')")],
            "allows no triggers": [(ENTRY, f"{off} {guard}"), (ENTRY, f"{off} SELECT simhash_unguard('docs')")],
            "`append`": [(ENTRY, "SELECT simhash_guard('appended', scope => '{tenant_id}')")],
            "distributed then": [(ENTRY, "INSERT INTO later VALUES (1, 1, 1)")],
            "simhash_preview": [(ENTRY, "SELECT simhash_preview('docs')")],
        }
        for statement, error in rows:
            key = next(key for key in statements_of_row if key in statement)
            code, message = re.fullmatch(r"(\w{5}) `(.*)` \|", error).groups()
            for server, sql in statements_of_row.pop(key):
                table = re.search("appended|later|docs", sql)[0]
                with self.subTest(sql), self.fails(code, message.replace('"docs"', f'"{table}"')):
                    self.on(server, sql)
        self.assertEqual(statements_of_row, {})

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
        for unguard, left in ((), 1), (("SELECT simhash_unguard('before')",), 2):
            with self.subTest(unguard):
                self.on_coordinator(
                    "DROP TABLE IF EXISTS before",
                    "CREATE TABLE before (tenant integer, id bigint, fp bigint, PRIMARY KEY (tenant, id))",
                    "INSERT INTO before VALUES (1, 1, 0), (1, 2, 0)",
                    "SELECT simhash_attach('before', 'fp')",
                    "SELECT simhash_guard('before', 'skip', source => 'fp', scope => '{tenant}')",
                    *unguard,
                    "SELECT create_distributed_table('before', 'tenant')",
                )
                self.assertEqual(self.on_coordinator("SELECT count(*) FROM before"), [(left,)])
                plan = self.on_coordinator("EXPLAIN SELECT id FROM before WHERE simhash_near(fp, 0)")
                self.assertTrue(has_scan(plan), plan)

    def test_index_attach_detach(self):
        """For each kind of table."""
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
                count = "SELECT count(*) FROM pg_attribute WHERE attrelid = 'life'::regclass AND attnum > 0"
                columns = self.on_coordinator(f"{count} AND NOT attisdropped")
                self.assertEqual(columns, [(2,)])


if __name__ == "__main__":
    unittest.main(argv=["commands.py"], verbosity=2)
