"""Searches of a table that Citus distributes return the same rows as searches of a copy on the coordinator, where
nothing is indexed. The plans of the shards show that they search their indexes.

    python tests/server/citus/searches.py NAME=USER@HOST:PORT...

The arguments are the addresses of the servers coordinator, one and two, on which docs/servers.md has been run.
"""

import sys

sys.path.append(f"{sys.path[0]}/..")
from distributed import FORMS, PRINT_OF, WORDS, Comparison, connect, statements

# In a smaller shard, or with more rows near a query, the planner rightly reads the whole shard.
ROWS = 200_000
GROUPS = 1000

# Half of the fingerprints are near one of GROUPS.
TABLES = f"""
CREATE SCHEMA searches;
SET search_path = searches, public;
{PRINT_OF}{WORDS}
CREATE TABLE prints (tenant integer NOT NULL, id bigint NOT NULL, fp bigint, PRIMARY KEY (tenant, id));
SELECT create_distributed_table('prints', 'tenant', shard_count => 6);
SELECT simhash_attach('prints', 'fp');
SELECT simhash_attach('prints', 'fp', scope => '{{tenant}}');
CREATE TABLE prints_copy (tenant integer NOT NULL, id bigint NOT NULL, fp bigint);
INSERT INTO prints_copy
SELECT n % 20, n, CASE WHEN n % 2 = 0 THEN print_of(n % {GROUPS}, n) ELSE hashint8extended(n, 1) END
FROM generate_series(1, {ROWS}) AS n;
INSERT INTO prints_copy VALUES (5, 0, simhash('a text 0')), (6, -1, NULL);
INSERT INTO prints SELECT * FROM prints_copy;
VACUUM ANALYZE prints;
CREATE TABLE questions (n integer PRIMARY KEY, fp bigint NOT NULL);
SELECT create_reference_table('questions');
INSERT INTO questions SELECT n, print_of(n, n) FROM generate_series(1, 4) AS n;
CREATE TABLE questions_copy AS SELECT * FROM questions;
CREATE TABLE texts (tenant integer NOT NULL, id bigint NOT NULL, body text);
SELECT create_distributed_table('texts', 'tenant', shard_count => 6);
CREATE INDEX ON texts USING gin (simhash_passages(body));
SELECT simhash_index('texts', 'body');
CREATE TABLE texts_copy AS
SELECT n % 20 AS tenant, n AS id, words(n * 2, 60) AS body FROM generate_series(1, 12000) AS n;
INSERT INTO texts SELECT * FROM texts_copy;
VACUUM ANALYZE texts;
"""
# Searches of texts by a clue, and what a shard's plan shows.
FORMS_OF_TEXTS = {
    "SELECT id FROM {t} WHERE simhash_contains(body, '{clue}')": "Bitmap Index Scan",
    "SELECT id FROM {t} WHERE tenant = 7 AND simhash_contains(body, '{clue}', .5)": "Bitmap Index Scan",
    "SELECT id FROM {t} WHERE simhash_near(body, '{clue}')": "(SimhashScan)",
}
OWN_FORMS = {
    "group": "SELECT tenant, count(*) FROM {t} WHERE simhash_near(fp, $1, $2) GROUP BY tenant",
    "nearest": "SELECT fp <~> $1 FROM {t} WHERE $2 = $2 ORDER BY fp <~> $1 LIMIT 7",
    "nearest of a tenant": "SELECT fp <~> $1 FROM {t} WHERE tenant = 2 AND $2 = $2 ORDER BY fp <~> $1 LIMIT 7",
    "text": "SELECT id FROM {t} WHERE simhash_near(fp, simhash('a text ' || ($1 # $1)), $2)",
    "sub-select": "SELECT id FROM {t} WHERE simhash_near(fp, (SELECT fp FROM {t} WHERE fp = fp # $1 # $1"
    " AND tenant = 2 AND id = 42), $2)",
    "sub-select of a local table": "SELECT id FROM {t} WHERE"
    " fp <~> (SELECT fp FROM questions_copy WHERE fp <> $1 ORDER BY n LIMIT 1) <= $2",
    "CTE": "WITH q AS MATERIALIZED (SELECT fp # $1 # $1 AS fp FROM {t} WHERE tenant = 2 AND id = 42)"
    " SELECT id, p.fp <~> q.fp FROM {t} AS p, q WHERE simhash_near(p.fp, q.fp, $2)",
    "reference table": "SELECT n, id FROM questions AS q JOIN {t} AS p ON simhash_near(p.fp, q.fp # $1 # $1, $2)",
    "local table": "SELECT n, id FROM questions_copy AS q JOIN {t} AS p ON simhash_near(p.fp, q.fp # $1 # $1, $2)",
}


class Test(Comparison):
    def __init__(self):
        super().__init__()
        self.connection = connect()

    def answer(self, form, table, query, max_distance):
        """The rows and the plan, after as many executions as PostgreSQL awaits before it thinks of a generic plan.
        (Citus has none for several shards, and fails if it is forced to have one.)"""
        execution = f"EXECUTE form ({query}, {max_distance})"
        with self.prepared(form, table):
            for _ in range(6):
                rows = self.rows(execution)
            return rows, self.plan(execution)

    def compare(self, name, form):
        # The copy would join the tables of Citus with itself, which Citus refuses.
        of_copy = form.replace("questions AS q", "questions_copy AS q")
        for local_execution in ("on", "off") * 2:
            self.connection.execute(f"SET citus.enable_local_execution = {local_execution}")
            query = self.value(f"SELECT print_of({self.random.randrange(GROUPS)}, {self.random.randrange(4096)})")
            max_distance = self.random.randrange(1, 9)
            label = f"{name}, {local_execution}, {query}, {max_distance}"
            rows, plan = self.answer(form, "prints", query, max_distance)
            expected, _ = self.answer(of_copy, "prints_copy", query, max_distance)
            self.check_rows(label, rows, expected)
            # EXPLAIN shows one shard of each distributed query. A sub-select by the primary key needs no search.
            scans = [line for line in plan if "Scan" in line and "prints_" in line]
            searches = [line for line in scans if "(SimhashScan)" in line]
            is_right = bool(searches) and not any("Seq Scan" in line for line in scans)
            self.check(label, is_right, "the shard has not searched its indexes", *plan)

    def compare_texts(self):
        """Searches of texts by passages, and near texts."""
        for form, node in FORMS_OF_TEXTS.items():
            for length in 20, 60:
                clue = self.value(f"SELECT words({2 * self.random.randrange(1000, 10_000)}, {length})")
                sql = form.format(t="texts", clue=clue)
                self.check_rows(sql, self.rows(sql), self.rows(form.format(t="texts_copy", clue=clue)))
                plan = self.plan(sql)
                self.check(sql, any(node in line for line in plan), *plan)

    def value(self, sql):
        return self.connection.execute(sql).fetchone()[0]

    def run(self):
        self.connection.execute("SET client_min_messages = warning")
        for statement in statements(TABLES):
            self.connection.execute(statement)
        for name, form in (FORMS | OWN_FORMS).items():
            self.compare(name, form)
        self.compare_texts()
        # Without the indexes, the check of the plan fails.
        self.connection.execute("SELECT simhash_detach('prints')")
        _, plan = self.answer(FORMS["simhash_near"], "prints", 42, 3)
        self.check("without indexes", not any("SimhashScan" in line for line in plan), *plan)
        self.end()


if __name__ == "__main__":
    Test().run()
