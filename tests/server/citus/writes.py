"""Guards of tables that Citus manages hold while clients write through all servers at once: no two rows of a shard, of
a reference table or of a register are near-duplicates, and all copies of a reference table are the same. The errors of
docs/citus.md, on the table that the page has made.

    python tests/server/citus/writes.py NAME=USER@HOST:PORT...

The arguments are the addresses of the servers coordinator, one and two, on which docs/citus.md has been run. Needs the
packages of tests/requirements.txt.
"""

import pathlib
import random
import re
import threading
import time
import unittest

import psycopg
from cluster import COORDINATOR, Servers, statements

SERVERS = Servers()
CLIENTS = 8
ROWS = 600  # of each client
PAGE = pathlib.Path("docs/citus.md").read_text(encoding="utf-8")
RETRIED = {"40P01", "40001", "55P03"}

TABLES = """
CREATE SCHEMA writes;
SET search_path = writes, public;
CREATE TABLE tenants (tenant integer, id bigint, fp bigint, near bigint, PRIMARY KEY (tenant, id));
SELECT create_distributed_table('tenants', 'tenant', shard_count => 6);
SELECT simhash_attach('tenants', 'fp');
CREATE TABLE copies (id bigint PRIMARY KEY, fp bigint, near bigint);
SELECT create_reference_table('copies');
SELECT simhash_attach('copies', 'fp');
CREATE TABLE here (id bigint PRIMARY KEY, fp bigint, near bigint);
SELECT citus_add_local_table_to_metadata('here');
SELECT simhash_attach('here', 'fp');
CREATE TABLE registered (tenant integer, id bigint, fp bigint, PRIMARY KEY (tenant, id));
SELECT create_distributed_table('registered', 'tenant', shard_count => 6);
CREATE TABLE register (tenant integer, id bigint, fp bigint, PRIMARY KEY (tenant, id));
SELECT simhash_attach('register', 'fp'), simhash_guard('register', 'skip', fingerprint => 'fp');
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


def on_coordinator(*statements):
    """Runs statements, and returns the rows of the last one."""
    with SERVERS.connect() as connection:
        connection.execute("SET client_min_messages = warning; SET citus.enable_unsafe_triggers = on")
        for statement in statements:
            result = connection.execute(statement)
        return result.fetchall() if result.description else []


class Writers:
    """Clients that write rows of which many are near each other, through these servers."""

    def __init__(self, statement, servers, groups):
        self.statement, self.servers, self.groups = statement, servers, groups
        self.stored = self.refused = self.retried = 0
        self.lock = threading.Lock()
        self.error = None

    def client(self, number):
        rng = random.Random(number)
        stored = refused = retried = 0
        try:
            with SERVERS.connect(self.servers[number % len(self.servers)]) as connection:
                for index in range(ROWS):
                    row = {
                        "tenant": rng.randrange(12),
                        "id": number * 10**9 + index,
                        "group": rng.randrange(self.groups),
                        "bit": rng.randrange(64),
                    }
                    try:
                        count = connection.execute(self.statement, row).rowcount
                        stored += count
                        refused += 1 - count
                    except psycopg.errors.ExclusionViolation:
                        refused += 1
                    except psycopg.Error as error:
                        if error.sqlstate not in RETRIED:
                            raise
                        retried += 1
        except Exception as error:  # noqa: BLE001 - it fails the test, in its own thread
            self.error = error
        with self.lock:
            self.stored += stored
            self.refused += refused
            self.retried += retried

    def run(self):
        threads = [threading.Thread(target=self.client, args=(number,)) for number in range(CLIENTS)]
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self.error:
            raise self.error
        name = re.search(r"writes\.(\w+)", self.statement)[1]
        rate = (self.stored + self.refused) / (time.perf_counter() - start)
        print(f"{name}: {rate:.0f} rows a second, {self.stored} stored, {self.refused} refused, {self.retried} retried")


ROW = "hashint8extended(%(group)s, 0) # (1::bigint << %(bit)s)"


class Guards(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        on_coordinator(*statements(TABLES))

    def write(self, table, servers, groups, values=f"%(id)s, {ROW}"):
        writers = Writers(f"INSERT INTO writes.{table} VALUES ({values})", servers, groups)
        writers.run()
        self.assertGreater(writers.stored, 0)
        self.assertGreater(writers.refused, 0)

    def pairs(self, table):
        return on_coordinator(f"""
            SELECT count(*) FROM (SELECT array_agg(id) AS ids, array_agg(fp) AS prints FROM {table}) AS t,
                simhash_pairs(ids, prints)""")[0][0]

    def test_scope(self):
        """A distributed table, within its distribution column."""
        values = f"%(tenant)s, %(id)s, {ROW}"
        of_tenants = """
            SELECT count(*) FROM
                (SELECT array_agg(id) AS ids, array_agg(fp) AS prints FROM writes.tenants GROUP BY tenant) AS t,
                simhash_pairs(ids, prints)"""
        for action in "skip", "reject":
            on_coordinator(
                "TRUNCATE writes.tenants",
                f"SELECT simhash_guard('writes.tenants', '{action}', scope => '{{tenant}}', fingerprint => 'fp')",
            )
            self.write("tenants", list(SERVERS.addresses), 400, values)
            self.assertEqual(on_coordinator(of_tenants)[0][0], 0)
        # Without a guard, the same writers store pairs.
        on_coordinator("SELECT simhash_unguard('writes.tenants')", "TRUNCATE writes.tenants")
        Writers(f"INSERT INTO writes.tenants VALUES ({values})", list(SERVERS.addresses), 400).run()
        self.assertGreater(on_coordinator(of_tenants)[0][0], 0)

    def test_marks(self):
        """The mark of a key of two columns is the column outside the scope."""
        on_coordinator(
            """SELECT simhash_guard('writes.tenants', 'mark', scope => '{tenant}', fingerprint => 'fp',
                mark_column => 'near')""",
            "INSERT INTO writes.tenants (tenant, id, fp) VALUES (100, 1, 5), (100, 2, 4), (101, 3, 5)",
        )
        rows = on_coordinator("SELECT id, near FROM writes.tenants WHERE tenant >= 100 ORDER BY id")
        self.assertEqual(rows, [(1, None), (2, 1), (3, None)])
        on_coordinator("SELECT simhash_unguard('writes.tenants')")

    def test_copies(self):
        """A reference table, of which each server has a copy."""
        for action in "skip", "reject":
            on_coordinator(
                "TRUNCATE writes.copies", f"SELECT simhash_guard('writes.copies', '{action}', fingerprint => 'fp')"
            )
            self.write("copies", list(SERVERS.addresses), 400)
            self.assertEqual(self.pairs("writes.copies"), 0)
            copies = set()
            for server in SERVERS.addresses:
                with SERVERS.connect(server) as connection:
                    copy = "SELECT md5(string_agg(c::text, ',' ORDER BY id)) FROM writes.copies AS c"
                    copies.add(connection.execute(copy).fetchone())
            self.assertEqual(len(copies), 1)

    def test_here(self):
        """A local table that Citus manages. Writes through other servers reach it too."""
        on_coordinator("SELECT simhash_guard('writes.here', 'skip', fingerprint => 'fp')")
        self.write("here", list(SERVERS.addresses), 400)
        self.assertEqual(self.pairs("writes.here"), 0)

    def test_register(self):
        """Deduplication across all shards, by a register on the coordinator."""
        statement = f"SELECT WHERE writes.add_row(%(tenant)s, %(id)s, {ROW})"
        writers = Writers(statement, [COORDINATOR], 4000)
        writers.run()
        self.assertGreater(writers.stored, 0)
        self.assertGreater(writers.refused, 0)
        self.assertEqual(self.pairs("writes.registered"), 0)
        rows = "SELECT count(*), sum(id), bit_xor(fp) FROM writes.{}"
        self.assertEqual(on_coordinator(rows.format("register")), on_coordinator(rows.format("registered")))
        # Without a guard, the same writers store pairs.
        on_coordinator("SELECT simhash_unguard('writes.register')", "TRUNCATE writes.register, writes.registered")
        Writers(statement, [COORDINATOR], 4000).run()
        self.assertGreater(self.pairs("writes.registered"), 0)


class Commands(unittest.TestCase):
    def test_errors_of_the_page(self):
        """Each error of the page's table, by the statements that it names."""
        table = PAGE[PAGE.index("## What fails") :].split("\n\n")[1]
        rows = [row.split(" | ") for row in table.splitlines()[2:]]
        self.assertGreaterEqual(len(rows), 5)
        guard = "SELECT simhash_guard('docs', scope => '{tenant_id}'"
        on_coordinator(
            "CREATE TABLE later (tenant_id integer, id bigint, simhash bigint, PRIMARY KEY (tenant_id, id))",
            "SELECT simhash_attach('later', 'simhash'), simhash_guard('later')",
            "SELECT create_distributed_table('later', 'tenant_id')",
            "CREATE TABLE appended (tenant_id integer, id bigint, simhash bigint)",
            "SELECT create_distributed_table('appended', 'tenant_id', 'append')",
            "SELECT simhash_attach('appended', 'simhash')",
        )
        tries = {
            "a command": [("one", "SELECT simhash_attach('docs', 'body')"), ("two", "SELECT simhash_guard('docs')")],
            "without the distribution": [(COORDINATOR, "SELECT simhash_guard('docs')")],
            "allows no triggers": [
                (COORDINATOR, f"SET citus.enable_unsafe_triggers = off; {guard})"),
                (COORDINATOR, "SET citus.enable_unsafe_triggers = off; SELECT simhash_unguard('docs')"),
            ],
            "`append`": [(COORDINATOR, "SELECT simhash_guard('appended', scope => '{tenant_id}')")],
            "distributed then": [(COORDINATOR, "INSERT INTO later VALUES (1, 1, 1)")],
            "simhash_preview": [
                (COORDINATOR, "SELECT simhash_preview('docs')"),
                (COORDINATOR, guard.replace("'docs'", "'docs', criterion => '{\"weights\": \"table\"}'") + ")"),
            ],
        }
        tried = 0
        for statement, error in rows:
            key = next(key for key in tries if key in statement)
            code, message = re.fullmatch(r"(\w{5}) `(.*)` \|", error).groups()
            for server, sql in tries[key]:
                with self.subTest(sql), SERVERS.connect(server) as connection:
                    connection.execute("SET citus.enable_unsafe_triggers = on")
                    with self.assertRaises(psycopg.Error) as raised:
                        connection.execute(sql)
                    kind = "appended" if "append" in key else "later"
                    self.assertEqual(raised.exception.sqlstate, code)
                    self.assertEqual(raised.exception.diag.message_primary.replace(kind, "docs"), message)
                    tried += 1
        self.assertEqual(tried, sum(map(len, tries.values())))

    def test_rejection(self):
        """The error names the table and the guard as the user knows them."""
        on_coordinator(
            "CREATE TABLE named (tenant integer, id bigint, fp bigint, PRIMARY KEY (tenant, id))",
            "SELECT create_distributed_table('named', 'tenant')",
            "SELECT simhash_attach('named', 'fp')",
            "SELECT simhash_guard('named', fingerprint => 'fp', scope => '{tenant}')",
            "INSERT INTO named VALUES (1, 1, 0)",
        )
        with self.assertRaises(psycopg.errors.ExclusionViolation) as raised:
            on_coordinator("INSERT INTO named VALUES (1, 2, 1)")
        message = 'near-duplicate violates guard "zzz_simhash_guard" of table "named"'
        self.assertEqual(raised.exception.diag.message_primary, message)
        self.assertIn("(tenant, id)=(1, 1)", raised.exception.diag.message_detail)

    def test_counts(self):
        """INSERT does not count rows that a guard skips; COPY does."""
        on_coordinator(
            "CREATE TABLE counted (tenant integer, id bigint, fp bigint, PRIMARY KEY (tenant, id))",
            "SELECT create_distributed_table('counted', 'tenant')",
            "SELECT simhash_attach('counted', 'fp')",
            "SELECT simhash_guard('counted', 'skip', fingerprint => 'fp', scope => '{tenant}')",
        )
        with SERVERS.connect() as connection, connection.cursor() as cursor:
            cursor.execute("INSERT INTO counted VALUES (1, 1, 0), (1, 2, 0), (2, 3, 0)")
            self.assertEqual(cursor.rowcount, 2)
            with cursor.copy("COPY counted FROM STDIN") as copy:
                copy.write("1\t4\t0\n2\t5\t0\n3\t6\t0\n")
            self.assertEqual(cursor.rowcount, 3)
            self.assertEqual(connection.execute("SELECT count(*) FROM counted").fetchone(), (3,))

    def test_guarded_before(self):
        """A guard that skips rows also skips them when its table is distributed, unless it is taken away before."""
        rows = "SELECT count(*) FROM before"
        for unguard, left in (False, 1), (True, 2):
            with self.subTest(unguard):
                on_coordinator(
                    "DROP TABLE IF EXISTS before",
                    "CREATE TABLE before (tenant integer, id bigint, fp bigint, PRIMARY KEY (tenant, id))",
                    "INSERT INTO before VALUES (1, 1, 0), (1, 2, 0)",
                    "SELECT simhash_attach('before', 'fp')",
                    "SELECT simhash_guard('before', 'skip', fingerprint => 'fp', scope => '{tenant}')",
                    *(["SELECT simhash_unguard('before')"] if unguard else []),
                    "SELECT create_distributed_table('before', 'tenant')",
                )
                self.assertEqual(on_coordinator(rows), [(left,)])
                plan = on_coordinator("EXPLAIN SELECT id FROM before WHERE simhash_near(fp, 0)")
                self.assertTrue(any("SimhashScan" in line for (line,) in plan), plan)

    def test_errors_of_citus(self):
        """The errors of Citus itself that the page names."""
        named = PAGE[PAGE.index("These errors are raised by Citus itself:") :].split("\n\n")[1].splitlines()
        tries = {
            "complex joins": "SELECT (SELECT simhash FROM docs WHERE tenant_id = 2 AND id = 42) FROM docs",
            "distributed plan": """
                SET plan_cache_mode = force_generic_plan;
                PREPARE near(bigint) AS SELECT id FROM docs WHERE simhash_near(simhash, $1);
                EXECUTE near(1)""",
            "local execution": "SELECT count(*) FROM questions; SELECT simhash_attach('questions', 'simhash')",
            "size functions": """
                INSERT INTO docs SELECT tenant_id + 100, id, body FROM docs; SELECT * FROM simhash_layouts('docs')""",
        }
        for words, script in tries.items():
            with self.subTest(words):
                error = next(error for error in named if words in error)
                with self.assertRaises(psycopg.Error) as raised:
                    on_coordinator(script)
                message = " ".join(raised.exception.diag.message_primary.split())
                self.assertIn(f"{raised.exception.sqlstate} `{message}`", error)

    def test_shards_that_move(self):
        """A shard has its guard on another server, too."""
        on_coordinator(
            "CREATE TABLE moved (tenant integer, id bigint, fp bigint, PRIMARY KEY (tenant, id))",
            "SELECT create_distributed_table('moved', 'tenant', shard_count => 1, colocate_with => 'none')",
            "SELECT simhash_attach('moved', 'fp')",
            "SELECT simhash_guard('moved', fingerprint => 'fp', scope => '{tenant}')",
            "INSERT INTO moved VALUES (1, 1, 0)",
        )
        (shard, source), *_ = on_coordinator("""
            SELECT shardid, nodeport FROM pg_dist_shard JOIN pg_dist_placement USING (shardid)
                JOIN pg_dist_node USING (groupid) WHERE logicalrelid = 'moved'::regclass""")
        host, ports = None, {}
        for name, address in SERVERS.addresses.items():
            host, port = address.split("@")[1].rsplit(":", 1)
            ports[name] = int(port)
        other = next(port for name, port in ports.items() if name != COORDINATOR and port != source)
        with SERVERS.connect() as connection:
            # Citus allows this in any session.
            move = "SELECT citus_move_shard_placement(%s, %s, %s, %s, %s, 'block_writes')"
            connection.execute(move, [shard, host, source, host, other])
        with self.assertRaises(psycopg.errors.ExclusionViolation):
            on_coordinator("INSERT INTO moved VALUES (1, 2, 1)")

    def test_the_usual_life(self):
        """Attach, detach and attach again, for each kind of table."""
        kinds = {
            "distributed": "create_distributed_table('life', 'id')",
            "reference": "create_reference_table('life')",
            "local": "citus_add_local_table_to_metadata('life')",
        }
        for kind, distribute in kinds.items():
            with self.subTest(kind):
                on_coordinator("DROP TABLE IF EXISTS life", "CREATE TABLE life (id bigint PRIMARY KEY, body text)")
                on_coordinator(f"SELECT {distribute}")
                on_coordinator("INSERT INTO life SELECT n, 'text ' || n FROM generate_series(1, 100) AS n")
                for columns in "true", "false":
                    on_coordinator(f"SELECT simhash_attach('life', 'body', columns => {columns})")
                    near = on_coordinator("SELECT id FROM life WHERE simhash_near(body, 'text 7')")
                    self.assertEqual(near, [(7,)])
                    on_coordinator("SELECT simhash_detach('life')")
                    columns = on_coordinator("SELECT count(*) FROM pg_attribute WHERE attrelid = 'life'::regclass"
                        " AND attnum > 0 AND NOT attisdropped")
                    self.assertEqual(columns, [(2,)])


if __name__ == "__main__":
    unittest.main(argv=["writes.py"], verbosity=2)
