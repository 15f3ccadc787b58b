"""Searches of a table whose partitions are on two servers return the same rows as searches of a copy on the hub, where
nothing is indexed. The plans that the servers log show whether they have searched their indexes or read whole tables.
"""

from distributed import NEAR_FINGERPRINT_SQL, SEARCHES, WORDS_SQL, Comparison
from hub import OTHERS, PlanLog, connect, create_database, node_type

DATABASE = "searches"
ROWS = 16_000  # of each server
# The kinds of nodes by which a server searches its indexes, and reads a whole table.
SEARCH_NODE, WHOLE_NODE = "SimhashScan", "Seq Scan"

# Every second fingerprint is near the fingerprint of one of 400 groups. All others are random.
ROWS_OF_A_SERVER_SQL = f"""
SELECT n * 3 + {{offset}}, n % 2 + {{tenant}},
    CASE WHEN n % 2 = 0 THEN near_fingerprint(n % 400, n + {{offset}}) ELSE hashint8extended(n, {{tenant}}) END
FROM generate_series(1, {ROWS}) AS n
"""
TABLE_SQL = "CREATE TABLE fingerprints (id bigint PRIMARY KEY, tenant integer NOT NULL, fp bigint);"
HUB_TABLES_SQL = """
CREATE TABLE fingerprints (id bigint NOT NULL, tenant integer NOT NULL, fp bigint) PARTITION BY LIST (tenant);
CREATE FOREIGN TABLE fingerprints_one PARTITION OF fingerprints FOR VALUES IN (1, 2) SERVER one
    OPTIONS (table_name 'fingerprints');
CREATE FOREIGN TABLE fingerprints_two PARTITION OF fingerprints FOR VALUES IN (3, 4) SERVER two
    OPTIONS (table_name 'fingerprints');
CREATE TABLE fingerprints_copy AS SELECT * FROM fingerprints;
CREATE TABLE questions AS SELECT n, near_fingerprint(n, n) AS fp FROM generate_series(1, 4) AS n;
ANALYZE questions;
"""
HUB_TEXT_TABLES_SQL = """
CREATE TABLE texts (id bigint, tenant integer, body text) PARTITION BY LIST (tenant);
CREATE FOREIGN TABLE texts_one PARTITION OF texts FOR VALUES IN (1) SERVER one OPTIONS (table_name 'texts');
CREATE FOREIGN TABLE texts_two PARTITION OF texts FOR VALUES IN (3) SERVER two OPTIONS (table_name 'texts');
CREATE TABLE texts_copy AS SELECT * FROM texts;
"""

ALL_SEARCHES = SEARCHES | {
    "sub-select": "SELECT id FROM {table} WHERE"
    " simhash_near(fp, (SELECT fp FROM questions WHERE fp <> $1 LIMIT 1), $2)",
    "LATERAL": "SELECT n, id FROM questions AS question, LATERAL"
    " (SELECT id FROM {table} WHERE simhash_near({table}.fp, question.fp # $1 # $1, $2) OFFSET 0) AS found",
}
JOIN_SEARCH = (
    "SELECT n, id FROM questions AS question JOIN {table} AS found ON simhash_near(found.fp, question.fp, $2)"
    " WHERE n > $1 # $1"
)
# The nearest rows: by LIMIT, and by a function that asks each server for this number, as docs/servers.md does.
NEAREST_SEARCH = "SELECT fp <~> $1 AS distance FROM {table} ORDER BY distance LIMIT $2"
NEAREST_FUNCTION_SQL = """
CREATE FUNCTION nearest(query bigint, count integer) RETURNS TABLE (id bigint, distance integer) STABLE LANGUAGE plpgsql
AS $$
BEGIN
    RETURN QUERY EXECUTE format('
        SELECT * FROM (
            (SELECT id, fp <~> $1 AS distance FROM fingerprints_one ORDER BY distance LIMIT %1$s)
            UNION ALL
            (SELECT id, fp <~> $1 AS distance FROM fingerprints_two ORDER BY distance LIMIT %1$s)
        ) AS of_each_server
        ORDER BY distance + 0, id LIMIT %1$s', count) USING query;
END
$$"""

TEXTS_SQL = "SELECT n, {tenant}, words(n * 2 + {tenant}, 60) FROM generate_series(1, 3000) AS n"
# Searches of texts by the words from $1 on, the kind of node that a server searches its indexes by, and whether a
# generic plan is sent too.
TEXT_SEARCHES = {
    "contains": ("SELECT id FROM {table} WHERE simhash_contains(body, words($1, 20))", "Bitmap Index Scan", False),
    "runs": (
        "SELECT id FROM {table} WHERE simhash_passages(body) && (SELECT simhash_clue(words($1, 20)))",
        "Bitmap Index Scan", True,
    ),
    "near texts": ("SELECT id FROM {table} WHERE simhash_near(body, words($1, 60))", SEARCH_NODE, False),
    "sub-select": ("SELECT id FROM {table} WHERE simhash_near(body, (SELECT words($1, 60)))", SEARCH_NODE, True),
}


class Test(Comparison):
    def set_up(self):
        self.plan_log = PlanLog()
        create_database(DATABASE)
        for number, server in enumerate(OTHERS):
            with connect(server, DATABASE) as connection:
                connection.execute(NEAR_FINGERPRINT_SQL + TABLE_SQL)
                tenant = 2 * number + 1
                rows = ROWS_OF_A_SERVER_SQL.format(offset=number, tenant=tenant)
                connection.execute(f"INSERT INTO fingerprints {rows}")
                connection.execute(f"INSERT INTO fingerprints VALUES (-{number}, {tenant}, simhash('a text 0'))")
                for scope in "{}", "{tenant}":
                    connection.execute(f"SELECT simhash_attach('fingerprints', 'fp', scope => '{scope}')")
        self.connect()
        self.connection.execute(NEAR_FINGERPRINT_SQL + HUB_TABLES_SQL + NEAREST_FUNCTION_SQL)

    def connect(self):
        """A new session of the hub: it also has new sessions of the other servers, with their present options."""
        if self.connection:
            self.connection.close()
        self.connection = connect(dbname=DATABASE)

    def set_options(self, options):
        for server in OTHERS:
            self.connection.execute(f"ALTER SERVER {server} OPTIONS ({options})")
        self.connect()

    def answer(self, search, table, query, limit, mode):
        """The sorted rows, and the plans of the other servers. The limit is a distance, or a number of rows."""
        self.connection.execute(f"SET plan_cache_mode = force_{mode}_plan")
        with self.prepared(search, table):
            self.plan_log.read_new()
            return self.rows(f"EXECUTE search ({query}, {limit})"), self.plan_log.read_new()

    def compare_searched(self, name, search, table="fingerprints", **options):
        """Each server must have searched its indexes, and nothing else."""
        return self.compare(name, search, table, SEARCH_NODE, WHOLE_NODE, **options)

    def compare_read_whole(self, name, search, table="fingerprints", **options):
        """Each server must have read its whole table, and not have searched."""
        return self.compare(name, search, table, WHOLE_NODE, SEARCH_NODE, **options)

    def compare(self, name, search, table, wanted, unwanted, *, copy_search=None, servers=OTHERS, rounds=4):
        """Runs a search by several queries. Its rows must be those of the copy, and the plans of these servers must
        have nodes of the wanted kind only. Returns the largest number of rows that a server has returned to the hub."""
        fetched = 0
        for mode in ("custom", "generic") * rounds:
            query = f"near_fingerprint({self.rng.randrange(400)}, {self.rng.randrange(4096)})"
            limit = self.rng.randrange(1, 9)
            label = f"{name} of {table}, {mode}, {query}, {limit}"
            rows, plans = self.answer(search, table, query, limit, mode)
            expected, _ = self.answer(copy_search or search, f"{table}_copy", query, limit, mode)
            self.check_rows(label, rows, expected)
            for server in OTHERS:
                node_types = [node_type(node) for plan in plans[server] for node in plan]
                is_right = wanted in node_types and unwanted not in node_types if server in servers else not node_types
                self.check(label, is_right, f"server {server}: {node_types}")
                fetched = max([fetched, *(plan[0]["Actual Rows"] for plan in plans[server])])
        return fetched

    def all_have_run(self, wanted, plans):
        """Whether each of the other servers has run a plan with a node of that kind."""
        return all(any(node_type(node) == wanted for plan in plans[server] for node in plan) for server in OTHERS)

    def compare_all(self, options, *, is_sent=True, rounds=2):
        """Compares all searches. The servers search their indexes if the condition is sent to them."""
        compare = self.compare_searched if is_sent else self.compare_read_whole
        for name, search in ALL_SEARCHES.items():
            servers = ("one",) if name == "tenant" else OTHERS
            fetched = compare(f"{options}: {name}", search, servers=servers, rounds=rounds)
            is_right = fetched < ROWS / 4 if is_sent else fetched >= ROWS / 2 or name in ("UPDATE", "DELETE")
            self.check(f"{options}: {name}", is_right, f"{fetched} rows were fetched")

    def compare_nearest(self, options):
        """Each server sorts its table, unless it has a LIMIT of its own."""
        self.compare_read_whole(f"{options}: nearest", NEAREST_SEARCH)
        call = "SELECT distance FROM nearest($1, $2)"
        fetched = self.compare_searched(f"{options}: nearest", call, copy_search=NEAREST_SEARCH)
        self.check(f"{options}: nearest", fetched <= 8, f"{fetched} rows were fetched")

    def compare_texts(self):
        """Searches of texts by their own indexes. A clue that the hub's plan does not have as a value is not sent."""
        for tenant, server in (1, "one"), (3, "two"):
            with connect(server, DATABASE) as connection:
                connection.execute(WORDS_SQL + "CREATE TABLE texts (id bigint, tenant integer, body text)")
                connection.execute(f"INSERT INTO texts {TEXTS_SQL.format(tenant=tenant)}")
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
        self.connection.execute(WORDS_SQL + HUB_TEXT_TABLES_SQL)
        for name, (search, wanted, is_always_sent) in TEXT_SEARCHES.items():
            for mode, is_sent in ("custom", True), ("generic", is_always_sent):
                query = self.rng.randrange(100, 5000)
                rows, plans = self.answer(search, "texts", query, 0, mode)
                expected, _ = self.answer(search, "texts_copy", query, 0, mode)
                self.check_rows(f"{name}, {mode}", rows, expected)
                self.check(f"{name}, {mode}", rows and self.all_have_run(wanted, plans) == is_sent, plans)

    def run(self):
        self.set_up()
        self.compare_texts()
        self.compare_all("with extensions")
        self.compare_nearest("with extensions")
        # The servers' indexes within a tenant.
        _, plans = self.answer(SEARCHES["tenant"], "fingerprints", 42, 3, "custom")
        scopes = [node.get("Scope") for plan in plans["one"] for node in plan]
        self.check("tenant", ["(tenant = 2)"] in scopes, plans)

        fetched = self.compare_read_whole("join", JOIN_SEARCH, rounds=1)
        self.check("join", fetched >= ROWS, f"{fetched} rows were fetched")
        self.set_options("ADD use_remote_estimate 'true'")
        self.compare_searched("join with use_remote_estimate", JOIN_SEARCH)
        self.compare_all("with use_remote_estimate")

        self.set_options("ADD async_capable 'true', DROP use_remote_estimate")
        plan = self.plan("SELECT id FROM fingerprints WHERE simhash_near(fp, 42)")
        self.check("async", sum("Async Foreign Scan" in line for line in plan) == 2, *plan)
        self.compare_all("async")
        self.compare_nearest("async")
        # Without the option, the same rows are found among all rows, which are fetched.
        self.set_options("DROP extensions, ADD fetch_size '10000'")
        self.compare_all("without extensions", is_sent=False, rounds=1)
        self.exit_with_result()


if __name__ == "__main__":
    Test().run()
