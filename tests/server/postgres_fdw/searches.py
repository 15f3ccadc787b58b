"""Searches of a table whose partitions are on two servers return the same rows as searches of a copy on the hub, where
nothing is indexed. The plans that the servers log show whether they have searched their indexes or read whole tables.

    python tests/server/postgres_fdw/searches.py NAME=HOST:PORT...

The arguments are the addresses of the servers hub, one and two.
"""

import psycopg
from cluster import OTHERS, connect, create_database, kind, new_plans
from distributed import FORMS, PRINT_OF, WORDS, Comparison
from patience import not_reached, until

DATABASE = "searches"
ROWS = 16_000  # of each server
SEARCH, WHOLE = "SimhashScan", "Seq Scan"

# Half of the fingerprints are near one of 400.
ROWS_OF = f"""
SELECT n * 3 + {{offset}}, n % 2 + {{tenant}},
    CASE WHEN n % 2 = 0 THEN print_of(n % 400, n + {{offset}}) ELSE hashint8extended(n, {{tenant}}) END
FROM generate_series(1, {ROWS}) AS n
"""
TABLE = "CREATE TABLE prints (id bigint PRIMARY KEY, tenant integer NOT NULL, fp bigint);"
HUB_TABLES = """
CREATE TABLE {table} (id bigint NOT NULL, tenant integer NOT NULL, fp bigint) PARTITION BY LIST (tenant);
CREATE FOREIGN TABLE {table}_one PARTITION OF {table} FOR VALUES IN (1, 2) SERVER one OPTIONS (table_name 'prints');
CREATE FOREIGN TABLE {table}_two PARTITION OF {table} FOR VALUES IN (3, 4) SERVER two OPTIONS (table_name 'prints');
"""
HUB_OF_TEXTS = """
CREATE TABLE texts (id bigint, tenant integer, body text) PARTITION BY LIST (tenant);
CREATE FOREIGN TABLE texts_one PARTITION OF texts FOR VALUES IN (1) SERVER one OPTIONS (table_name 'texts');
CREATE FOREIGN TABLE texts_two PARTITION OF texts FOR VALUES IN (3) SERVER two OPTIONS (table_name 'texts');
CREATE TABLE texts_copy AS SELECT * FROM texts;
"""

FORMS = FORMS | {
    "sub-select": "SELECT id FROM {t} WHERE simhash_near(fp, (SELECT fp FROM questions WHERE fp <> $1 LIMIT 1), $2)",
    "two servers' sub-select": "SELECT id FROM {t} WHERE fp <~> (SELECT fp FROM {t} WHERE simhash_near(fp, $1, $2)"
    " ORDER BY fp <~> $1, id LIMIT 1) <= $2",
    "text": "SELECT id FROM {t} WHERE simhash_near(fp, (SELECT simhash('a text ' || ($1 # $1))), $2)",
    "LATERAL": "SELECT n, id FROM questions AS q, LATERAL"
    " (SELECT id FROM {t} WHERE simhash_near({t}.fp, q.fp # $1 # $1, $2) OFFSET 0) AS p",
}
JOIN = "SELECT n, id FROM questions AS q JOIN {t} AS p ON simhash_near(p.fp, q.fp, $2) WHERE n > $1 # $1"
# The nearest distances; by naming the partitions, as docs/postgres_fdw.md does; and by a function that does so.
NEAREST = "SELECT fp <~> $1 AS distance FROM {t} ORDER BY distance LIMIT $2"
NEAREST_BY_HAND = """
SELECT * FROM (
    (SELECT id, fp <~> $1 AS distance FROM prints_one ORDER BY distance LIMIT %1$s)
    UNION ALL
    (SELECT id, fp <~> $1 AS distance FROM prints_two ORDER BY distance LIMIT %1$s)
) AS of_each_server
ORDER BY distance + 0, id LIMIT %1$s"""
NEAREST_FUNCTION = f"""
CREATE FUNCTION nearest(query bigint, n integer) RETURNS TABLE (id bigint, distance integer) STABLE LANGUAGE plpgsql
AS $$
BEGIN
    RETURN QUERY EXECUTE format('{NEAREST_BY_HAND}', n) USING query;
END
$$"""
NEAREST_CALL = "SELECT distance FROM nearest($1, $2)"
NEAREST_LATERAL = "SELECT n, distance FROM questions AS q, nearest((SELECT q.fp # $1 # $1), $2)"
NEAREST_LATERAL_HERE = """
SELECT n, distance FROM questions AS q, LATERAL
    (SELECT fp <~> (q.fp # $1 # $1) AS distance FROM {t} ORDER BY distance LIMIT $2) AS s"""
# The fingerprint of a text that the plan does not know.
TEXT = "SELECT id FROM {t} WHERE simhash_near(fp, simhash('a text ' || ($1 # $1)), $2)"

TEXTS = "SELECT n, {tenant}, words(n * 2 + {tenant}, 60) FROM generate_series(1, 3000) AS n"
# Searches of texts by the words from $1 on, the kind of node that a server searches its indexes by, and whether a
# generic plan is sent too.
FORMS_OF_TEXTS = {
    "contains": ("SELECT id FROM {t} WHERE simhash_contains(body, words($1, 20))", "Bitmap Index Scan", False),
    "runs": (
        "SELECT id FROM {t} WHERE simhash_passages(body) && (SELECT simhash_clue(words($1, 20)))",
        "Bitmap Index Scan",
        True,
    ),
    "near texts": ("SELECT id FROM {t} WHERE simhash_near(body, words($1, 60))", SEARCH, False),
}


class Test(Comparison):
    def set_up(self):
        create_database(DATABASE)
        for number, server in enumerate(OTHERS):
            with connect(server, DATABASE) as connection:
                connection.execute(PRINT_OF + TABLE)
                connection.execute("INSERT INTO prints " + ROWS_OF.format(offset=number, tenant=2 * number + 1))
                connection.execute(f"INSERT INTO prints VALUES (-{number}, {2 * number + 1}, simhash('a text 0'))")
                # One server has columns for the blocks, the other does not.
                columns = "true" if server == "one" else "false"
                for scope in "{}", "{tenant}":
                    connection.execute(
                        f"SELECT simhash_attach('prints', 'fp', columns => {columns}, scope => '{scope}')"
                    )
        self.connect()
        self.connection.execute(PRINT_OF + HUB_TABLES.format(table="prints") + HUB_TABLES.format(table="mixed"))
        self.connection.execute("CREATE TABLE mixed_here PARTITION OF mixed FOR VALUES IN (5, 6)")
        self.connection.execute("INSERT INTO mixed " + ROWS_OF.format(offset=2, tenant=5))
        self.connection.execute("SELECT simhash_attach('mixed', 'fp', columns => false)")
        for table in "prints", "mixed":
            self.connection.execute(f"CREATE TABLE {table}_copy AS SELECT * FROM {table}")
        self.connection.execute("CREATE TABLE questions AS SELECT n, print_of(n, n) AS fp FROM generate_series(1, 4) n")
        self.connection.execute("ANALYZE questions")
        self.connection.execute(NEAREST_FUNCTION)

    def connect(self):
        """A new session of the hub: it also has new sessions of the other servers, with their present options."""
        if self.connection:
            self.connection.close()
        self.connection = connect(database=DATABASE)

    def options(self, options):
        for server in OTHERS:
            self.connection.execute(f"ALTER SERVER {server} OPTIONS ({options})")
        self.connect()

    def answer(self, form, table, query, limit, mode):
        """The sorted rows, and the plans of the other servers."""
        self.connection.execute(f"SET plan_cache_mode = force_{mode}_plan")
        with self.prepared(form, table):
            new_plans()
            return self.rows(f"EXECUTE form ({query}, {limit})"), new_plans()

    def compare(self, name, form, table, *, searches=True, copy_form=None, servers=OTHERS, times=4):
        """Runs a form by several queries. Its rows must be those of the copy. Each of these servers must have searched
        its indexes and nothing else or, without `searches`, have read its whole table. Returns the largest number of
        rows that a server has returned to the hub."""
        fetched = 0
        wanted, other = (SEARCH, WHOLE) if searches else (WHOLE, SEARCH)
        for mode in ("custom", "generic") * times:
            query = f"print_of({self.random.randrange(400)}, {self.random.randrange(4096)})"
            limit = self.random.randrange(1, 9)
            label = f"{name} of {table}, {mode}, {query}, {limit}"
            rows, plans = self.answer(form, table, query, limit, mode)
            expected, _ = self.answer(copy_form or form, f"{table}_copy", query, limit, mode)
            self.check_rows(label, rows, expected)
            for server in OTHERS:
                kinds = [kind(node) for plan in plans[server] for node in plan]
                is_right = wanted in kinds and other not in kinds if server in servers else not kinds
                self.check(label, is_right, f"server {server}: {kinds}")
                fetched = max([fetched, *(plan[0]["Actual Rows"] for plan in plans[server])])
        return fetched

    def all_are(self, wanted, plans):
        """Whether each of the other servers has run a plan with a node of that kind."""
        return all(any(kind(node) == wanted for plan in plans[server] for node in plan) for server in OTHERS)

    def all_forms(self, options, *, searches=True, times=2):
        for table in "prints", "mixed":
            for name, form in FORMS.items():
                servers = ("one",) if name == "tenant" else OTHERS
                label = f"{options}: {name}"
                fetched = self.compare(label, form, table, searches=searches, servers=servers, times=times)
                if searches:
                    self.check(label, fetched < ROWS / 4, f"{fetched} rows were fetched")
                elif name not in ("UPDATE", "DELETE"):
                    self.check(label, fetched >= ROWS / 2, f"only {fetched} rows were fetched")

    def nearest(self, options):
        """The nearest rows, of which each server returns no more than the limit."""
        for form, copy_form in (NEAREST_CALL, NEAREST), (NEAREST_LATERAL, NEAREST_LATERAL_HERE):
            fetched = self.compare(f"{options}: nearest", form, "prints", copy_form=copy_form)
            self.check(f"{options}: nearest", fetched <= 8, f"{fetched} rows were fetched")

    def texts(self):
        """Searches of texts by their own indexes. A clue that the hub's plan does not have as a value is not sent."""
        for tenant, server in (1, "one"), (3, "two"):
            with connect(server, DATABASE) as connection:
                connection.execute(WORDS + "CREATE TABLE texts (id bigint, tenant integer, body text)")
                connection.execute(f"INSERT INTO texts {TEXTS.format(tenant=tenant)}")
                # With this contributed module, other columns are in the index of passages too.
                connection.execute("CREATE EXTENSION btree_gin")
                connection.execute("CREATE INDEX ON texts USING gin (tenant, simhash_passages(body))")
                connection.execute("SELECT simhash_attach('texts', 'body', columns => false)")
                connection.execute("VACUUM ANALYZE texts")
                search = f"SELECT id FROM texts WHERE tenant = {tenant} AND simhash_contains(body, words(600, 20), .2)"
                plan = "\n".join(line for (line,) in connection.execute(f"EXPLAIN (COSTS OFF) {search}"))
                condition = f"Index Cond: ((tenant = {tenant}) AND (simhash_passages("
                rows = sorted(connection.execute(search).fetchall())
                connection.execute("SET enable_bitmapscan = off")
                expected = sorted(connection.execute(search).fetchall())
                self.check("btree_gin", condition in plan and rows and rows == expected, plan, len(rows), len(expected))
        self.connection.execute(WORDS + HUB_OF_TEXTS)
        for name, (form, wanted, is_always_sent) in FORMS_OF_TEXTS.items():
            for mode, is_sent in ("custom", True), ("generic", is_always_sent):
                query = self.random.randrange(100, 5000)
                rows, plans = self.answer(form, "texts", query, 0, mode)
                expected, _ = self.answer(form, "texts_copy", query, 0, mode)
                self.check_rows(f"{name}, {mode}", rows, expected)
                self.check(f"{name}, {mode}", rows and self.all_are(wanted, plans) == is_sent, plans)

    def explained(self, what, query, text, count=1):
        """The hub's plan of a query has lines with a text."""
        plan = self.plan(query)
        self.check(what, sum(text in line for line in plan) == count, *plan)

    def run(self):
        self.set_up()
        self.texts()
        self.all_forms("with extensions")

        # LIMIT is not sent to several partitions: each server sorts its table, unless it has a limit for each.
        self.compare("nearest", NEAREST, "prints", searches=False)
        self.nearest("with extensions")
        # A limit that is a parameter is not sent in a generic plan, nor is a fingerprint that is made from a text.
        for form, mode, wanted in (
            (NEAREST_BY_HAND.replace("%1$s", "$2"), "generic", WHOLE),
            (TEXT, "generic", WHOLE),
            (TEXT, "custom", SEARCH),
        ):
            _, plans = self.answer(form, "prints", 1, 3, mode)
            self.check(form, self.all_are(wanted, plans), plans)

        # The servers' indexes within a tenant.
        _, plans = self.answer(FORMS["tenant"], "prints", 42, 3, "custom")
        scopes = [node.get("Scope") for plan in plans["one"] for node in plan]
        self.check("tenant", ["(tenant = 2)"] in scopes, plans)
        # Partitions of the hub are searched too.
        self.explained("mixed", "SELECT id FROM mixed WHERE simhash_near(fp, 42)", "(SimhashScan) on mixed_here")

        fetched = self.compare("join", JOIN, "prints", searches=False, times=1)
        self.check("join", fetched >= ROWS, f"{fetched} rows were fetched")
        self.options("ADD use_remote_estimate 'true'")
        self.compare("join with use_remote_estimate", JOIN, "prints")
        self.nearest("with use_remote_estimate")
        self.compare("nearest, with use_remote_estimate", NEAREST, "prints", searches=False)
        self.all_forms("with use_remote_estimate")

        self.options("ADD async_capable 'true'")
        near = "SELECT id FROM prints WHERE simhash_near(fp, 42)"
        self.explained("async", near, "Async Foreign Scan", 2)
        self.compare("join, async", JOIN, "prints")
        self.options("DROP use_remote_estimate")
        self.all_forms("async")
        self.nearest("async")
        nearest = NEAREST_BY_HAND.replace("$1", "42").replace("%1$s", "5")
        self.explained("nearest, async", nearest, "Async Foreign Scan", 2)

        # Servers that expect few rows of a cursor to be read need no limit.
        self.options("ADD options '-c cursor_tuple_fraction=0.0001'")
        fetched = self.compare("nearest, cursor_tuple_fraction", NEAREST, "prints")
        self.check("nearest, cursor_tuple_fraction", fetched == 100, f"{fetched} rows were fetched")
        self.options("DROP options")

        # A search of one server opens no connection to the other. Those of earlier sessions may take minutes to end.
        for query, expected in (f"{near} AND tenant = 2", [1, 0]), (near, [1, 1]):
            self.connection.execute(query)
            until(lambda: self.connections() == expected, f"connections {expected}")
        # Without the option, the same rows are found among all rows, which are fetched.
        self.options("DROP extensions, ADD fetch_size '10000'")
        self.all_forms("without extensions", searches=False, times=1)
        self.end()

    def connections(self):
        """How many sessions of each of the other servers are the hub's."""
        query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'postgres_fdw'"
        counts = []
        for server in OTHERS:
            with connect(server, DATABASE) as connection:
                counts.append(connection.execute(query).fetchone()[0])
        return counts


if __name__ == "__main__":
    with not_reached(psycopg.errors.QueryCanceled):
        Test().run()
