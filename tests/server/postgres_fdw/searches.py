"""Searches of a table whose partitions are on two servers return the same rows as searches of a copy on the hub, where
nothing is indexed. The plans that the servers log show whether they have searched their indexes or read whole tables.

    python tests/server/postgres_fdw/searches.py NAME=HOST:PORT...

The arguments are the addresses of the servers hub, one and two.
"""

from hub import OTHERS, PlanLog, connect, create_database, node_type
from distributed import FORMS, PRINT_OF, WORDS, Comparison

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
CREATE TABLE prints (id bigint NOT NULL, tenant integer NOT NULL, fp bigint) PARTITION BY LIST (tenant);
CREATE FOREIGN TABLE prints_one PARTITION OF prints FOR VALUES IN (1, 2) SERVER one OPTIONS (table_name 'prints');
CREATE FOREIGN TABLE prints_two PARTITION OF prints FOR VALUES IN (3, 4) SERVER two OPTIONS (table_name 'prints');
CREATE TABLE prints_copy AS SELECT * FROM prints;
CREATE TABLE questions AS SELECT n, print_of(n, n) AS fp FROM generate_series(1, 4) n;
ANALYZE questions;
"""
HUB_OF_TEXTS = """
CREATE TABLE texts (id bigint, tenant integer, body text) PARTITION BY LIST (tenant);
CREATE FOREIGN TABLE texts_one PARTITION OF texts FOR VALUES IN (1) SERVER one OPTIONS (table_name 'texts');
CREATE FOREIGN TABLE texts_two PARTITION OF texts FOR VALUES IN (3) SERVER two OPTIONS (table_name 'texts');
CREATE TABLE texts_copy AS SELECT * FROM texts;
"""

FORMS = FORMS | {
    "sub-select": "SELECT id FROM {t} WHERE simhash_near(fp, (SELECT fp FROM questions WHERE fp <> $1 LIMIT 1), $2)",
    "LATERAL": "SELECT n, id FROM questions AS q, LATERAL"
    " (SELECT id FROM {t} WHERE simhash_near({t}.fp, q.fp # $1 # $1, $2) OFFSET 0) AS p",
}
JOIN = "SELECT n, id FROM questions AS q JOIN {t} AS p ON simhash_near(p.fp, q.fp, $2) WHERE n > $1 # $1"
# The nearest rows: by LIMIT, and by a function that asks each server for as many, as docs/servers.md does.
NEAREST = "SELECT fp <~> $1 AS distance FROM {t} ORDER BY distance LIMIT $2"
NEAREST_FUNCTION = """
CREATE FUNCTION nearest(query bigint, n integer) RETURNS TABLE (id bigint, distance integer) STABLE LANGUAGE plpgsql
AS $$
BEGIN
    RETURN QUERY EXECUTE format('
        SELECT * FROM (
            (SELECT id, fp <~> $1 AS distance FROM prints_one ORDER BY distance LIMIT %1$s)
            UNION ALL
            (SELECT id, fp <~> $1 AS distance FROM prints_two ORDER BY distance LIMIT %1$s)
        ) AS of_each_server
        ORDER BY distance + 0, id LIMIT %1$s', n) USING query;
END
$$"""

TEXTS = "SELECT n, {tenant}, words(n * 2 + {tenant}, 60) FROM generate_series(1, 3000) AS n"
# Searches of texts by the words from $1 on, the kind of node that a server searches its indexes by, and whether a
# generic plan is sent too.
FORMS_OF_TEXTS = {
    "contains": ("SELECT id FROM {t} WHERE simhash_contains(body, words($1, 20))", "Bitmap Index Scan", False),
    "runs": (
        "SELECT id FROM {t} WHERE simhash_passages(body) && (SELECT simhash_clue(words($1, 20)))",
        "Bitmap Index Scan", True,
    ),
    "near texts": ("SELECT id FROM {t} WHERE simhash_near(body, words($1, 60))", SEARCH, False),
    "near texts of a sub-select": ("SELECT id FROM {t} WHERE simhash_near(body, (SELECT words($1, 60)))", SEARCH, True),
}


class Test(Comparison):
    def set_up(self):
        self.plan_log = PlanLog()
        create_database(DATABASE)
        for number, server in enumerate(OTHERS):
            with connect(server, DATABASE) as connection:
                connection.execute(PRINT_OF + TABLE)
                connection.execute("INSERT INTO prints " + ROWS_OF.format(offset=number, tenant=2 * number + 1))
                connection.execute(f"INSERT INTO prints VALUES (-{number}, {2 * number + 1}, simhash('a text 0'))")
                for scope in "{}", "{tenant}":
                    connection.execute(f"SELECT simhash_attach('prints', 'fp', scope => '{scope}')")
        self.connect()
        self.connection.execute(PRINT_OF + HUB_TABLES)
        self.connection.execute(NEAREST_FUNCTION)

    def connect(self):
        """A new session of the hub: it also has new sessions of the other servers, with their present options."""
        if self.connection:
            self.connection.close()
        self.connection = connect(database=DATABASE)

    def set_options(self, options):
        for server in OTHERS:
            self.connection.execute(f"ALTER SERVER {server} OPTIONS ({options})")
        self.connect()

    def answer(self, form, table, query, number, mode):
        """The sorted rows, and the plans of the other servers. The number is a distance, or one of rows."""
        self.connection.execute(f"SET plan_cache_mode = force_{mode}_plan")
        with self.prepared(form, table):
            self.plan_log.read_new()
            return self.rows(f"EXECUTE form ({query}, {number})"), self.plan_log.read_new()

    def compare(self, name, form, table, *, searches=True, copy_form=None, servers=OTHERS, times=4):
        """Runs a form by several queries. Its rows must be those of the copy. Each of these servers must have searched
        its indexes and nothing else or, without `searches`, have read its whole table. Returns the largest number of
        rows that a server has returned to the hub."""
        fetched = 0
        wanted, other = (SEARCH, WHOLE) if searches else (WHOLE, SEARCH)
        for mode in ("custom", "generic") * times:
            query = f"print_of({self.random.randrange(400)}, {self.random.randrange(4096)})"
            number = self.random.randrange(1, 9)
            label = f"{name} of {table}, {mode}, {query}, {number}"
            rows, plans = self.answer(form, table, query, number, mode)
            expected, _ = self.answer(copy_form or form, f"{table}_copy", query, number, mode)
            self.check_rows(label, rows, expected)
            for server in OTHERS:
                node_types = [node_type(node) for plan in plans[server] for node in plan]
                is_right = wanted in node_types and other not in node_types if server in servers else not node_types
                self.check(label, is_right, f"server {server}: {node_types}")
                fetched = max([fetched, *(plan[0]["Actual Rows"] for plan in plans[server])])
        return fetched

    def all_have_run(self, wanted, plans):
        """Whether each of the other servers has run a plan with a node of that kind."""
        return all(any(node_type(node) == wanted for plan in plans[server] for node in plan) for server in OTHERS)

    def compare_all_forms(self, options, *, searches=True, times=2):
        for name, form in FORMS.items():
            servers = ("one",) if name == "tenant" else OTHERS
            label = f"{options}: {name}"
            fetched = self.compare(label, form, "prints", searches=searches, servers=servers, times=times)
            if searches:
                self.check(label, fetched < ROWS / 4, f"{fetched} rows were fetched")
            elif name not in ("UPDATE", "DELETE"):
                self.check(label, fetched >= ROWS / 2, f"only {fetched} rows were fetched")

    def compare_nearest(self, options):
        """Each server sorts its table, unless it has a LIMIT of its own."""
        self.compare(f"{options}: nearest", NEAREST, "prints", searches=False)
        call = "SELECT distance FROM nearest($1, $2)"
        fetched = self.compare(f"{options}: nearest", call, "prints", copy_form=NEAREST)
        self.check(f"{options}: nearest", fetched <= 8, f"{fetched} rows were fetched")

    def compare_texts(self):
        """Searches of texts by their own indexes. A clue that the hub's plan does not have as a value is not sent."""
        for tenant, server in (1, "one"), (3, "two"):
            with connect(server, DATABASE) as connection:
                connection.execute(WORDS + "CREATE TABLE texts (id bigint, tenant integer, body text)")
                connection.execute(f"INSERT INTO texts {TEXTS.format(tenant=tenant)}")
                # With this contributed module, other columns are in the index of passages too.
                connection.execute("CREATE EXTENSION btree_gin")
                connection.execute("CREATE INDEX ON texts USING gin (tenant, simhash_passages(body))")
                connection.execute("SELECT simhash_index('texts', 'body')")
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
                self.check(f"{name}, {mode}", rows and self.all_have_run(wanted, plans) == is_sent, plans)

    def run(self):
        self.set_up()
        self.compare_texts()
        self.compare_all_forms("with extensions")
        self.compare_nearest("with extensions")
        # The servers' indexes within a tenant.
        _, plans = self.answer(FORMS["tenant"], "prints", 42, 3, "custom")
        scopes = [node.get("Scope") for plan in plans["one"] for node in plan]
        self.check("tenant", ["(tenant = 2)"] in scopes, plans)

        fetched = self.compare("join", JOIN, "prints", searches=False, times=1)
        self.check("join", fetched >= ROWS, f"{fetched} rows were fetched")
        self.set_options("ADD use_remote_estimate 'true'")
        self.compare("join with use_remote_estimate", JOIN, "prints")
        self.compare_all_forms("with use_remote_estimate")

        self.set_options("ADD async_capable 'true', DROP use_remote_estimate")
        plan = self.plan("SELECT id FROM prints WHERE simhash_near(fp, 42)")
        self.check("async", sum("Async Foreign Scan" in line for line in plan) == 2, *plan)
        self.compare_all_forms("async")
        self.compare_nearest("async")
        # Without the option, the same rows are found among all rows, which are fetched.
        self.set_options("DROP extensions, ADD fetch_size '10000'")
        self.compare_all_forms("without extensions", searches=False, times=1)
        self.end()


if __name__ == "__main__":
    Test().run()
