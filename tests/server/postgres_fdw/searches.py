"""Searches of a table whose partitions are on two servers return the same rows as searches of a copy on the hub, where
nothing is indexed. The plans that the servers log show whether they have searched their indexes or read whole tables.

    python tests/server/postgres_fdw/searches.py NAME=HOST:PORT...

The arguments are the addresses of the servers hub, one and two. Needs the packages of tests/requirements.txt.
"""

import random
import statistics
import sys
import time

sys.path.append(f"{sys.path[0]}/../../load")

import psycopg
from cluster import HUB, OTHERS, Servers, is_search, is_whole, nodes
from patience import not_reached, until

DATABASE = "searches"
ROWS = 16_000  # of each server
SEED = 7

# Half of the fingerprints are near one of 400.
PRINT_OF = """
CREATE FUNCTION print_of(g integer, noise integer) RETURNS bigint IMMUTABLE LANGUAGE sql
    RETURN hashint8extended(g, 0) # (1::bigint << noise % 64) # (1::bigint << noise / 64 % 64);
"""
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

# Searches by a query $1 within a distance $2, of a table {t}.
FORMS = {
    "simhash_near": "SELECT id FROM {t} WHERE simhash_near(fp, $1, $2)",
    "radii": "SELECT id FROM {t} WHERE simhash_near(fp, $1, $2, ARRAY[1, 1, 0, 0])",
    "<~> and <=": "SELECT id FROM {t} WHERE fp <~> $1 <= $2",
    "hamming and <": "SELECT id FROM {t} WHERE $2 + 1 > hamming($1, fp)",
    "several columns": "SELECT id, tenant, fp, fp <~> $1 FROM {t} WHERE simhash_near($1, fp, $2)",
    "count": "SELECT count(*) FROM {t} WHERE simhash_near(fp, $1, $2)",
    "order": "SELECT id FROM {t} WHERE simhash_near(fp, $1, $2) ORDER BY fp <~> $1, id LIMIT 5",
    "sub-select": "SELECT id FROM {t} WHERE simhash_near(fp, (SELECT fp FROM questions WHERE fp <> $1 LIMIT 1), $2)",
    "two servers' sub-select": "SELECT id FROM {t} WHERE fp <~> (SELECT fp FROM {t} WHERE simhash_near(fp, $1, $2)"
    " ORDER BY fp <~> $1, id LIMIT 1) <= $2",
    "text": "SELECT id FROM {t} WHERE simhash_near(fp, (SELECT simhash('a text ' || ($1 # $1))), $2)",
    "tenant": "SELECT id FROM {t} WHERE tenant = 2 AND simhash_near(fp, $1, $2)",
    "LATERAL": "SELECT n, id FROM questions AS q, LATERAL"
    " (SELECT id FROM {t} WHERE simhash_near({t}.fp, q.fp # $1 # $1, $2) OFFSET 0) AS p",
    "UPDATE": "UPDATE {t} SET fp = fp # 1 WHERE simhash_near(fp, $1, $2) RETURNING id",
    "DELETE": "DELETE FROM {t} WHERE simhash_near(fp, $1, $2) RETURNING id",
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

# Texts that share words with their neighbours.
WORDS = """
CREATE FUNCTION words(first bigint, count integer) RETURNS text IMMUTABLE LANGUAGE sql
    RETURN (SELECT string_agg(substr(md5(word::text), 1, 7), ' ') FROM generate_series(first, first + count - 1) AS word);
"""
TEXTS = "SELECT n, {tenant}, words(n * 2 + {tenant}, 60) FROM generate_series(1, 3000) AS n"
# Searches of texts by the words from $1 on, the kind of node that a server searches its indexes by, and whether a generic
# plan is sent too.
FORMS_OF_TEXTS = {
    "contains": ("SELECT id FROM {t} WHERE simhash_contains(body, words($1, 20))", "Bitmap Index Scan", False),
    "runs": (
        "SELECT id FROM {t} WHERE simhash_passages(body) && (SELECT simhash_clue(words($1, 20)))",
        "Bitmap Index Scan",
        True,
    ),
    "near texts": ("SELECT id FROM {t} WHERE simhash_near(body, words($1, 60))", "SimhashScan", False),
}


class Test:
    def __init__(self, servers):
        self.servers = servers
        self.random = random.Random(SEED)
        self.failures = 0
        self.compared = 0
        self.hub = None

    def set_up(self):
        self.servers.create_database(DATABASE)
        for number, server in enumerate(OTHERS):
            with self.servers.connect(server, DATABASE) as connection:
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
        self.hub.execute(PRINT_OF + HUB_TABLES.format(table="prints") + HUB_TABLES.format(table="mixed"))
        self.hub.execute("CREATE TABLE mixed_here PARTITION OF mixed FOR VALUES IN (5, 6)")
        self.hub.execute("INSERT INTO mixed " + ROWS_OF.format(offset=2, tenant=5))
        self.hub.execute("SELECT simhash_attach('mixed', 'fp', columns => false)")
        for table in "prints", "mixed":
            self.hub.execute(f"CREATE TABLE {table}_copy AS SELECT * FROM {table}")
        self.hub.execute("CREATE TABLE questions AS SELECT n, print_of(n, n) AS fp FROM generate_series(1, 4) AS n")
        self.hub.execute("ANALYZE questions")
        self.hub.execute(NEAREST_FUNCTION)

    def connect(self):
        """A new session of the hub: it also has new sessions of the other servers, with their present options."""
        if self.hub:
            self.hub.close()
        self.hub = self.servers.connect(HUB, DATABASE)

    def options(self, options):
        for server in OTHERS:
            self.hub.execute(f"ALTER SERVER {server} OPTIONS ({options})")
        self.connect()

    def answer(self, form, table, query, limit):
        """The sorted rows, and the plans of the other servers."""
        sql = form.format(t=table)
        types = "(bigint, integer)"
        self.hub.execute(f"PREPARE form {types} AS {sql}")
        self.servers.new_plans()
        self.hub.execute("BEGIN")
        rows = sorted(self.hub.execute(f"EXECUTE form ({query}, {limit})").fetchall())
        self.hub.execute("ROLLBACK")
        plans = self.servers.new_plans()
        self.hub.execute("DEALLOCATE form")
        return rows, plans

    def check(self, name, is_right, *facts):
        if not is_right:
            self.failures += 1
            print("FAILED:", name, *(str(fact)[:300] for fact in facts), file=sys.stderr)

    def compare(self, name, form, table, *, searches=True, copy_form=None, servers=OTHERS, times=4):
        """Runs a form by several queries. Its rows must be those of the copy. Each of these servers must have searched
        its indexes and nothing else or, without `searches`, have read its whole table. Returns the largest number of
        rows that a server has returned to the hub."""
        fetched = 0
        for time_ in range(times):
            query = f"print_of({self.random.randrange(400)}, {self.random.randrange(4096)})"
            limit = self.random.randrange(1, 9)
            for mode in "force_custom_plan", "force_generic_plan":
                self.hub.execute(f"SET plan_cache_mode = {mode}")
                label = f"{name} of {table}, {mode}, {query}, {limit}"
                rows, plans = self.answer(form, table, query, limit)
                expected, _ = self.answer(copy_form or form, f"{table}_copy", query, limit)
                self.check(label, rows == expected, f"{len(rows)} rows instead of {len(expected)}")
                self.compared += 1
                for server in OTHERS:
                    found = [node for plan in plans[server] for node in nodes(plan)]
                    kinds = [node.get("Custom Plan Provider", node["Node Type"]) for node in found]
                    if server not in servers:
                        self.check(label, not found, f"server {server} was asked")
                    elif searches:
                        is_right = any(map(is_search, found)) and not any(map(is_whole, found))
                        self.check(label, is_right, f"server {server} has not searched its indexes: {kinds}")
                    else:
                        is_right = any(map(is_whole, found)) and not any(map(is_search, found))
                        self.check(label, is_right, f"server {server} has not read its whole table: {kinds}")
                    fetched = max([fetched, *(plan["Actual Rows"] for plan in plans[server])])
        return fetched

    def all_are(self, kind, plans):
        """Whether each of the other servers has run a plan with a node of that kind."""
        return all(any(kind(node) for plan in plans[server] for node in nodes(plan)) for server in OTHERS)

    def all_forms(self, kind, *, searches=True, times=2):
        for table in "prints", "mixed":
            for name, form in FORMS.items():
                servers = ("one",) if name == "tenant" else OTHERS
                fetched = self.compare(f"{kind}: {name}", form, table, searches=searches, servers=servers, times=times)
                if searches:
                    self.check(f"{kind}: {name}", fetched < ROWS / 4, f"{fetched} rows were fetched")
                elif name not in ("UPDATE", "DELETE"):
                    self.check(f"{kind}: {name}", fetched >= ROWS / 2, f"only {fetched} rows were fetched")

    def nearest(self, kind):
        """The nearest rows, of which each server returns no more than the limit."""
        for form, copy_form in (NEAREST_CALL, NEAREST), (NEAREST_LATERAL, NEAREST_LATERAL_HERE):
            fetched = self.compare(f"{kind}: nearest", form, "prints", copy_form=copy_form)
            self.check(f"{kind}: nearest", fetched <= 8, f"{fetched} rows were fetched")

    def texts(self):
        """Searches of texts by their own indexes. A clue that the hub's plan does not have as a value is not sent."""
        for tenant, server in (1, "one"), (3, "two"):
            with self.servers.connect(server, DATABASE) as connection:
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
        self.hub.execute(WORDS + HUB_OF_TEXTS)
        for name, (form, kind, is_always_sent) in FORMS_OF_TEXTS.items():
            for mode, is_sent in ("force_custom_plan", True), ("force_generic_plan", is_always_sent):
                self.hub.execute(f"SET plan_cache_mode = {mode}")
                query = self.random.randrange(100, 5000)
                rows, plans = self.answer(form, "texts", query, 0)
                expected, _ = self.answer(form, "texts_copy", query, 0)
                self.check(f"{name}, {mode}", rows and rows == expected, f"{len(rows)} rows, {len(expected)} expected")
                is_searched = self.all_are(lambda node: kind in (node["Node Type"], node.get("Custom Plan Provider")), plans)
                self.check(f"{name}, {mode}", is_searched == is_sent, plans)
                self.compared += 1

    def run(self):
        self.set_up()
        self.texts()
        self.all_forms("with extensions")

        # LIMIT is not sent to several partitions: each server sorts its table, unless it has a limit for each.
        self.compare("nearest", NEAREST, "prints", searches=False)
        self.nearest("with extensions")
        # A limit that is a parameter is not sent in a generic plan.
        self.hub.execute("SET plan_cache_mode = force_generic_plan")
        _, plans = self.answer(NEAREST_BY_HAND.replace("%1$s", "$2"), "prints", 1, 3)
        self.check("limit in a generic plan", self.all_are(is_whole, plans), plans)

        # A fingerprint that the hub's plan does not have as a value is not sent if it is made from a text.
        self.hub.execute("SET plan_cache_mode = force_generic_plan")
        _, plans = self.answer(TEXT, "prints", 1, 3)
        self.check("text in a generic plan", self.all_are(is_whole, plans), plans)
        self.hub.execute("SET plan_cache_mode = force_custom_plan")
        _, plans = self.answer(TEXT, "prints", 1, 3)
        self.check("text in a custom plan", self.all_are(is_search, plans), plans)

        # The servers' indexes within a tenant.
        _, plans = self.answer(FORMS["tenant"], "prints", 42, 3)
        scopes = [node.get("Scope") for plan in plans["one"] for node in nodes(plan)]
        self.check("tenant", ["(tenant = 2)"] in scopes, plans)
        # Partitions of the hub are searched too.
        lines = self.hub.execute("EXPLAIN SELECT id FROM mixed WHERE simhash_near(fp, 42)").fetchall()
        self.check("mixed", any("(SimhashScan) on mixed_here" in line for (line,) in lines), lines)

        fetched = self.compare("join", JOIN, "prints", searches=False, times=1)
        self.check("join", fetched >= ROWS, f"{fetched} rows were fetched")
        self.options("ADD use_remote_estimate 'true'")
        self.compare("join with use_remote_estimate", JOIN, "prints")
        self.nearest("with use_remote_estimate")
        self.compare("nearest, with use_remote_estimate", NEAREST, "prints", searches=False)
        self.all_forms("with use_remote_estimate")

        self.options("ADD async_capable 'true'")
        lines = self.hub.execute("EXPLAIN SELECT id FROM prints WHERE simhash_near(fp, 42)").fetchall()
        self.check("async", sum("Async Foreign Scan" in line for (line,) in lines) == 2, lines)
        self.compare("join, async", JOIN, "prints")
        self.options("DROP use_remote_estimate")
        self.all_forms("async")
        self.nearest("async")
        query = NEAREST_BY_HAND.replace("$1", "42").replace("%1$s", "5")
        lines = self.hub.execute("EXPLAIN " + query).fetchall()
        self.check("nearest, async", sum("Async Foreign Scan" in line for (line,) in lines) == 2, lines)

        # Servers that expect few rows of a cursor to be read need no limit.
        self.options("ADD options '-c cursor_tuple_fraction=0.0001'")
        fetched = self.compare("nearest, cursor_tuple_fraction", NEAREST, "prints")
        self.check("nearest, cursor_tuple_fraction", fetched == 100, f"{fetched} rows were fetched")
        self.options("DROP options")

        self.measure()
        # Without the option, the same rows are found among all rows, which are fetched.
        self.options("DROP extensions, ADD fetch_size '10000'")
        self.all_forms("without extensions", searches=False, times=1)
        print(f"{self.compared} searches compared, {self.failures} failures")

    def connections(self):
        """How many sessions of each of the other servers are the hub's."""
        query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'postgres_fdw'"
        counts = []
        for server in OTHERS:
            with self.servers.connect(server) as connection:
                counts.append(connection.execute(query).fetchone()[0])
        return counts

    def wait_for_connections(self, expected):
        """The sessions of earlier connections may take minutes to end on a busy machine."""
        until(lambda: self.connections() == expected, f"connections {expected}")

    def milliseconds(self, sql, times=50):
        """The median time of a statement that is planned each time."""
        measured = []
        for _ in range(times):
            start = time.perf_counter()
            self.hub.execute(sql, prepare=False).fetchall()
            measured.append(1000 * (time.perf_counter() - start))
        return statistics.median(measured)

    def measure(self):
        """Prints times, of which the page says what was observed, and checks the number of connections."""
        near = "SELECT id FROM {} WHERE simhash_near(fp, 42)"
        of_tenant = near.format("prints") + " AND tenant = 2"
        first = []
        for _ in range(10):
            self.connect()
            first.append(self.milliseconds(of_tenant, times=1))
        self.wait_for_connections([1, 0])
        self.hub.execute(near.format("prints"))
        self.wait_for_connections([1, 1])
        join = "SELECT n, id FROM questions AS q, LATERAL (SELECT id FROM prints WHERE {} OFFSET 0) AS p"
        times = {
            "a session's first search of one server": statistics.median(first),
            "a search of one server": self.milliseconds(of_tenant),
            "a search of both servers": self.milliseconds(near.format("prints")),
            "a search of a table of the hub": self.milliseconds(near.format("mixed_here")),
            "the 5 nearest rows by nearest()": self.milliseconds("SELECT * FROM nearest(42, 5)"),
            "the 5 nearest rows by ORDER BY and LIMIT": self.milliseconds(
                "SELECT id FROM prints ORDER BY fp <~> 42 LIMIT 5", times=10
            ),
            "a join of 4 rows by LATERAL": self.milliseconds(join.format("simhash_near(prints.fp, q.fp)")),
            "an ordinary join of 4 rows": self.milliseconds(
                "SELECT n, id FROM questions AS q JOIN prints ON simhash_near(prints.fp, q.fp)", times=10
            ),
        }
        self.options("ADD use_remote_estimate 'true'")
        times["a search of both servers, use_remote_estimate"] = self.milliseconds(near.format("prints"))
        self.options("DROP use_remote_estimate")
        self.options("DROP extensions")
        times["a search of both servers without extensions"] = self.milliseconds(near.format("prints"), times=10)
        self.options("ADD extensions 'pg_simhash'")
        print(f"medians in ms, two servers with {ROWS} rows each:")
        for what, time_ in times.items():
            print(f"  {what:48} {time_:7.2f}")


def main():
    test = Test(Servers())
    with not_reached(psycopg.errors.QueryCanceled):
        test.run()
    sys.exit(test.failures > 0)


if __name__ == "__main__":
    main()
