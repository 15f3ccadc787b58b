"""Writes through the hub into tables with guards on two servers; the errors of docs/servers.md, on the tables that the
page has made; and simhash_attach on a hub."""

import pathlib
import unittest
from functools import partial

import psycopg

from database import run_script
from distributed import DistributedTest, run_in_threads
from hub import OTHERS, create_database

TEXT_OF = "../server/text_of.sql"
PAGE = pathlib.Path("docs/servers.md").read_text(encoding="utf-8")

INSERT_SQL = "INSERT INTO docs (id, tenant_id, body) VALUES (%s, %s, text_of(%s) || %s)"


class Hub(DistributedTest):
    def setUp(self):
        self.hub = self.connect()
        self.addCleanup(self.hub.close)

    def value(self, query, *values):
        return self.hub.execute(query, values).fetchone()[0]


class Guards(Hub):
    """Guards within the tenant. Tenants 1 and 2 are on server one, 3 and 4 on server two."""

    database = "writes"

    @classmethod
    def setUpClass(cls):
        create_database(cls.database)
        for server in OTHERS:
            with cls.connect(server) as connection:
                run_script(connection, TEXT_OF)
                connection.execute("""
                    CREATE TABLE docs (id bigint PRIMARY KEY, tenant_id integer NOT NULL, body text, near_id bigint);
                    SELECT simhash_index('docs', 'body')""")
        with cls.connect() as hub:
            run_script(hub, TEXT_OF)
            hub.execute("""
                CREATE TABLE docs (id bigint, tenant_id integer, body text, near_id bigint)
                    PARTITION BY LIST (tenant_id);
                CREATE FOREIGN TABLE docs_one PARTITION OF docs FOR VALUES IN (1, 2) SERVER one
                    OPTIONS (table_name 'docs');
                CREATE FOREIGN TABLE docs_two PARTITION OF docs FOR VALUES IN (3, 4) SERVER two
                    OPTIONS (table_name 'docs')""")
            for server in OTHERS:
                hub.execute(f"ALTER SERVER {server} OPTIONS (ADD batch_size '1', ADD options '-c lock_timeout=1s')")

    def guard(self, action, batch_size=1, more=""):
        for server in OTHERS:
            self.on(
                server, "TRUNCATE docs", f"SELECT simhash_guard('docs', '{action}', scope => '{{tenant_id}}'{more})"
            )
            self.hub.execute(f"ALTER SERVER {server} OPTIONS (SET batch_size '{batch_size}')")
        for tenant in 1, 3:
            self.hub.execute(INSERT_SQL, (tenant, tenant, 1, ""))

    def ids(self):
        return [id for (id,) in self.hub.execute("SELECT id FROM docs ORDER BY id")]

    def test_reject(self):
        for batch_size in 1, 100:
            self.guard("reject", batch_size)
            self.hub.execute(INSERT_SQL, (2, 1, 2, ""))
            with self.fails(
                "23P01",
                'near-duplicate violates guard "zzz_simhash_guard" of table "docs"',
                "The text has a resemblance of 0.9",
                "to that of key (id)=(1).",
                "Skip the row, or change the existing one.",
            ):
                self.hub.execute(INSERT_SQL, (5, 1, 1, " more"))
            self.assertIn("remote SQL command: INSERT INTO public.docs", self.diag.context)
            # postgres_fdw does not pass these on.
            self.assertIsNone(self.diag.datatype_name)
            self.assertIsNone(self.diag.constraint_name)
            # Nothing of the statement stays on the other server.
            with self.fails("23P01"):
                self.hub.execute("INSERT INTO docs (id, tenant_id, body) VALUES (5, 3, 'new'), (6, 1, text_of(1))")
            with self.fails("23P01"):
                self.hub.execute("UPDATE docs SET body = text_of(1) WHERE id = 2")
            self.assertEqual(self.ids(), [1, 2, 3])
            self.hub.execute(INSERT_SQL, (5, 4, 1, " more"))  # another tenant
            with self.fails("23P01"):
                self.hub.execute(
                    "INSERT INTO docs (id, tenant_id, body) VALUES (6, 1, text_of(1)) ON CONFLICT DO NOTHING"
                )
            self.assertEqual(self.ids(), [1, 2, 3, 5])

    def test_skip(self):
        rows = [(5, 1, 1, " more"), (6, 1, 6, ""), (7, 3, 1, " more"), (8, 3, 8, ""), (9, 2, 1, ""),
                (10, 2, 1, " more")]
        values = ", ".join(f"({id}, {tenant}, text_of({n}) || '{more}')" for id, tenant, n, more in rows)
        for batch_size in 1, 100:
            self.guard("skip", batch_size)
            self.assertEqual(self.hub.execute(INSERT_SQL, rows[0]).statusmessage, "INSERT 0 0")
            self.assertEqual(self.hub.execute(INSERT_SQL + " RETURNING id", rows[0]).fetchall(), [])
            done = self.hub.execute(f"INSERT INTO docs (id, tenant_id, body) VALUES {values}")
            self.assertEqual(done.statusmessage, "INSERT 0 3")
            self.assertEqual(self.ids(), [1, 3, 6, 8, 9])
            done = self.hub.execute(
                "INSERT INTO docs (id, tenant_id, body) VALUES (10, 1, text_of(6)), (11, 3, 'new'), (12, 3, text_of(8))"
                " RETURNING id"
            )
            self.assertEqual(done.fetchall(), [(11,)])
            self.assertEqual(self.hub.execute("UPDATE docs SET body = text_of(1) WHERE id = 6").rowcount, 0)
            text, other = self.value("SELECT text_of(1)"), self.value("SELECT text_of(20)")
            with self.hub.cursor().copy("COPY docs (id, tenant_id, body) FROM STDIN") as copy:
                for id, tenant, body in (20, 1, text), (21, 1, other), (22, 3, text), (23, 3, other), (24, 3, other):
                    copy.write_row((id, tenant, body))
            self.assertEqual(self.ids(), [1, 3, 6, 8, 9, 11, 21, 23])

    def test_mark(self):
        for batch_size in 1, 100:
            self.guard("mark", batch_size, ", mark_column => 'near_id'")
            marked = self.hub.execute(INSERT_SQL + " RETURNING id, near_id", (5, 1, 1, " more")).fetchall()
            self.assertEqual(marked, [(5, 1)])
            self.hub.execute(
                "INSERT INTO docs (id, tenant_id, body) VALUES (6, 3, text_of(1)), (7, 3, 'new'), (8, 4, text_of(1))"
            )
            found = self.hub.execute("SELECT id, near_id FROM docs WHERE id > 5 ORDER BY id").fetchall()
            self.assertEqual(found, [(6, 3), (7, None), (8, None)])

    def test_committed_after_the_snapshot(self):
        for action, code in ("reject", "23P01"), ("skip", "40001"), ("mark", "40001"):
            self.guard(action, more=", mark_column => 'near_id'" if action == "mark" else "")
            self.hub.execute("BEGIN")
            self.assertEqual(self.value("SELECT count(*) FROM docs"), 2)
            with self.connect() as other:
                other.execute(INSERT_SQL, (5, 1, 5, ""))
            with self.fails(code):
                self.hub.execute(INSERT_SQL, (6, 1, 5, " more"))
            self.hub.execute("ROLLBACK")

    def test_deadlock_of_two_servers(self):
        self.guard("reject")
        with self.connect() as other:
            sessions = {self.hub: ((5, 1, 5, ""), (6, 3, 6, " more")), other: ((7, 3, 6, ""), (8, 1, 5, " more"))}
            for session, (first, _) in sessions.items():
                session.execute("BEGIN")
                session.execute(INSERT_SQL, first)
            codes = []

            def wait(session, row):
                try:
                    session.execute(INSERT_SQL, row)
                except psycopg.Error as error:
                    codes.append(error.sqlstate)
                    session.execute("ROLLBACK")

            run_in_threads([partial(wait, session, row) for session, (_, row) in sessions.items()])
            self.assertIn("55P03", codes)
            self.assertLessEqual(set(codes), {"55P03", "23P01"})

    def test_many_sessions(self):
        """Within a tenant, no two rows are near, whatever many sessions store through the hub."""
        self.guard("skip", 10)
        for server in OTHERS:
            self.on(server, "TRUNCATE docs")
        insert = """INSERT INTO docs (id, tenant_id, body)
            VALUES (%(id)s, %(tenant)s %% 4 + 1, text_of(%(group)s) || repeat(' more', %(bit)s %% 3))"""
        counts = self.write(insert, clients=4, rows=60, groups=30)
        self.assertGreater(counts["stored"], 60)
        self.assertGreater(counts["refused"], 10)
        near = """SELECT count(*) FROM docs AS one JOIN docs AS other
            ON one.id < other.id AND simhash_resemblance(one.body, other.body) >= 0.84"""
        self.assertEqual(self.value(near + " AND one.tenant_id = other.tenant_id"), 0)
        # Rows of different tenants are near each other, also on different servers.
        self.assertGreater(self.value(near + " AND one.tenant_id < 3 AND other.tenant_id > 2"), 0)

    def test_rights(self):
        """The guard's expressions run on the table's server, as the role of the user mapping, which may only insert."""
        self.on(
            "one",
            "CREATE ROLE remote LOGIN",
            "CREATE TABLE owned (id bigint PRIMARY KEY, body text, secret text DEFAULT '4711')",
            "INSERT INTO owned VALUES (1, text_of(1))",
            """SELECT simhash_index('owned', 'body'),
                simhash_guard('owned', unless => $$current_user <> 'remote'$$)""",
            "GRANT INSERT ON owned TO remote",
        )
        self.hub.execute("""
            CREATE ROLE local;
            CREATE FOREIGN TABLE owned (id bigint, body text) SERVER one;
            GRANT INSERT ON owned TO local;
            CREATE USER MAPPING FOR local SERVER one OPTIONS (user 'remote', password_required 'false');
            SET ROLE local""")
        insert = "INSERT INTO owned SELECT 2, text_of(1)"
        with self.fails("23P01", "Only users with SELECT on its key can see which row it is near."):
            self.hub.execute(insert)
        with self.connect("one") as one:
            one.execute("INSERT INTO owned SELECT 3, text_of(1)")
            one.execute("DELETE FROM owned")
            one.execute("SELECT simhash_guard('owned', among => 'secret::integer / 0 > 0', unless => '')")
            one.execute("INSERT INTO owned VALUES (1, text_of(1))")
        with self.fails("22012", 'table "owned" cannot evaluate an expression on another row'):
            self.hub.execute(insert)
        self.assertIsNone(self.diag.message_detail)
        self.assertNotIn("4711", self.diag.context)


class Page(Hub):
    """The errors that the page describes, on the tables that it has made."""

    def documented(self, code, message, *more):
        self.assertIn(f"{code} `{message}", PAGE)
        return self.fails(code, message, *more)

    def test_other_fingerprints(self):
        """A table whose fingerprints have other options has others than the hub computes."""
        message = 'foreign table "{}" has other fingerprints than this table'
        self.assertIn(f"55000 `{message.format('docs_two')}`", PAGE)
        attach = "SELECT simhash_attach('others', 'body')"
        self.hub.execute("CREATE TABLE others (id bigint, tenant_id integer, body text) PARTITION BY LIST (tenant_id)")
        for tenant, server in enumerate(OTHERS, start=1):
            self.on(
                server,
                "CREATE TABLE others (id bigint, tenant_id integer, body text)",
                "GRANT SELECT ON others TO app",
                f"INSERT INTO others VALUES (1, {tenant}, NULL), (2, {tenant}, 'Some text that has several words')",
                "SELECT simhash_attach('others', 'body')",
            )
            self.hub.execute(
                f"CREATE FOREIGN TABLE others_{server} PARTITION OF others FOR VALUES IN ({tenant}) SERVER {server}"
                " OPTIONS (table_name 'others')"
            )
        detach = "SELECT simhash_detach('others')"
        self.on("two", detach, """SELECT simhash_attach('others', 'body', '{"ngram": 2}')""")
        hint = 'Attach the table on its server "two" with the same options'
        with self.fails("55000", message.format("others_two"), hint):
            self.hub.execute(attach)
        self.on("two", detach, attach)
        self.hub.execute(attach)
        found = self.hub.execute("SELECT tenant_id FROM others WHERE simhash_near(simhash, simhash(body)) ORDER BY 1")
        self.assertEqual(found.fetchall(), [(1,), (2,)])

    def test_extension_in_another_schema(self):
        self.on("two", "CREATE SCHEMA elsewhere", "ALTER EXTENSION pg_simhash SET SCHEMA elsewhere")
        with self.documented("42883", "function public.simhash_near(text, text, jsonb) does not exist"):
            self.hub.execute("SELECT id FROM docs WHERE simhash_near(body, 'a text')")
        self.on("two", "ALTER EXTENSION pg_simhash SET SCHEMA public")
        self.hub.execute("SELECT id FROM docs WHERE simhash_near(body, 'a text')")

    def test_attach(self):
        """A hub whose tables are attached on one server, then on both."""
        for server in OTHERS:
            self.on(server, "CREATE TABLE late (id bigint, tenant_id integer, body text)")
        self.on("one", "SELECT simhash_attach('late', 'body')")
        # The owner of the table is not a superuser, and has user mappings of its own.
        self.hub.execute("""
            CREATE ROLE owner;
            CREATE TABLE late (id bigint, tenant_id integer, body text) PARTITION BY LIST (tenant_id);
            CREATE TABLE late_here PARTITION OF late FOR VALUES IN (0);
            CREATE FOREIGN TABLE late_one PARTITION OF late FOR VALUES IN (1) SERVER one OPTIONS (table_name 'late');
            CREATE FOREIGN TABLE late_two PARTITION OF late FOR VALUES IN (2) SERVER two OPTIONS (table_name 'late')""")
        for table in "late", "late_here", "late_one", "late_two":
            self.hub.execute(f"ALTER TABLE {table} OWNER TO owner")
        self.hub.execute("GRANT CREATE ON SCHEMA public TO owner")
        # Although a superuser calls it, the tables are read as their owner.
        with self.documented("42704", "user mapping not found for"):
            self.hub.execute("SELECT simhash_attach('late', 'body')")
        for server in OTHERS:
            self.hub.execute(
                f"CREATE USER MAPPING FOR owner SERVER {server} OPTIONS (user 'postgres', password_required 'false')"
            )
        self.hub.execute("SET ROLE owner")
        self.hub.execute(
            "INSERT INTO late SELECT n, n % 3, string_agg(md5(n || ' ' || word), ' ')"
            " FROM generate_series(1, 900) AS n, generate_series(1, 50) AS word GROUP BY n"
        )
        attach = "SELECT simhash_attach('late', 'body')"
        with self.documented("42703", 'column "simhash" does not exist'):
            self.hub.execute(attach)
        self.assertEqual(
            self.value("SELECT count(*) FROM pg_attribute WHERE attname = 'simhash' AND attrelid = 'late'::regclass"), 0
        )
        self.on("two", "SELECT simhash_attach('late', 'body')")
        notices = []
        self.hub.add_notice_handler(lambda notice: notices.append(notice.message_primary))
        self.hub.execute(attach)
        self.assertIn('analyzing table "late_here"', notices)
        self.assertEqual([notice for notice in notices if "analyzing" in notice], ['analyzing table "late_here"'])
        self.hub.execute(attach)
        self.assertEqual(notices[-1], 'table "late" is already attached, skipping')
        for id in 3, 4, 5:
            found = self.hub.execute(
                "SELECT id, tenant_id FROM late WHERE simhash_near(simhash, (SELECT simhash FROM late WHERE id = %s))",
                (id,),
            )
            self.assertEqual(found.fetchall(), [(id, id % 3)])
        plan = self.hub.execute("EXPLAIN SELECT id FROM late WHERE simhash_near(simhash, 42)").fetchall()
        self.assertTrue(any("(SimhashScan) on late_here" in line for (line,) in plan), plan)


if __name__ == "__main__":
    unittest.main(argv=["writes"], verbosity=0)
