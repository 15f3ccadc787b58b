"""Searches of a table that Citus distributes return the same rows as searches of a copy on the coordinator, where
nothing is indexed. The plans of the shards show that they search their indexes."""

from database import has_scan, split_statements
from distributed import NEAR_FINGERPRINT_SQL, SEARCHES, WORDS_SQL, Comparison, connect

# In a smaller shard, or with more rows near a query, the planner rightly reads the whole shard.
ROWS = 200_000
GROUPS = 1000

# Every second fingerprint is near the fingerprint of one of GROUPS groups. All others are random.
TABLES_SQL = f"""
CREATE SCHEMA searches;
SET search_path = searches, public;
{NEAR_FINGERPRINT_SQL}{WORDS_SQL}
CREATE TABLE fingerprints (tenant integer NOT NULL, id bigint NOT NULL, fp bigint, PRIMARY KEY (tenant, id));
SELECT create_distributed_table('fingerprints', 'tenant', shard_count => 6);
SELECT simhash_attach('fingerprints', 'fp');
SELECT simhash_attach('fingerprints', 'fp', scope => '{{tenant}}');
CREATE TABLE fingerprints_copy (tenant integer NOT NULL, id bigint NOT NULL, fp bigint);
INSERT INTO fingerprints_copy
SELECT n % 20, n, CASE WHEN n % 2 = 0 THEN near_fingerprint(n % {GROUPS}, n) ELSE hashint8extended(n, 1) END
FROM generate_series(1, {ROWS}) AS n;
INSERT INTO fingerprints_copy VALUES (5, 0, simhash('a text 0')), (6, -1, NULL);
INSERT INTO fingerprints SELECT * FROM fingerprints_copy;
VACUUM ANALYZE fingerprints;
CREATE TABLE questions (n integer PRIMARY KEY, fp bigint NOT NULL);
SELECT create_reference_table('questions');
INSERT INTO questions SELECT n, near_fingerprint(n, n) FROM generate_series(1, 4) AS n;
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
# Searches of texts by a clue, and the node that the plan of a shard must have.
TEXT_SEARCHES = {
    "SELECT id FROM {table} WHERE simhash_contains(body, '{clue}')": "Bitmap Index Scan",
    "SELECT id FROM {table} WHERE tenant = 7 AND simhash_contains(body, '{clue}', .5)": "Bitmap Index Scan",
    "SELECT id FROM {table} WHERE simhash_near(body, '{clue}')": "(SimhashScan)",
}
CITUS_SEARCHES = {
    "group": "SELECT tenant, count(*) FROM {table} WHERE simhash_near(fp, $1, $2) GROUP BY tenant",
    "nearest": "SELECT fp <~> $1 FROM {table} WHERE $2 = $2 ORDER BY fp <~> $1 LIMIT 7",
    "nearest of a tenant": "SELECT fp <~> $1 FROM {table} WHERE tenant = 2 AND $2 = $2 ORDER BY fp <~> $1 LIMIT 7",
    "text": "SELECT id FROM {table} WHERE simhash_near(fp, simhash('a text ' || ($1 # $1)), $2)",
    "sub-select": "SELECT id FROM {table} WHERE simhash_near(fp, (SELECT fp FROM {table} WHERE fp = fp # $1 # $1"
    " AND tenant = 2 AND id = 42), $2)",
    "sub-select of a local table": "SELECT id FROM {table} WHERE"
    " fp <~> (SELECT fp FROM questions_copy WHERE fp <> $1 ORDER BY n LIMIT 1) <= $2",
    "CTE": "WITH question AS MATERIALIZED (SELECT fp # $1 # $1 AS fp FROM {table} WHERE tenant = 2 AND id = 42)"
    " SELECT id, found.fp <~> question.fp FROM {table} AS found, question"
    " WHERE simhash_near(found.fp, question.fp, $2)",
    "reference table": "SELECT n, id FROM questions AS question JOIN {table} AS found"
    " ON simhash_near(found.fp, question.fp # $1 # $1, $2)",
    "local table": "SELECT n, id FROM questions_copy AS question JOIN {table} AS found"
    " ON simhash_near(found.fp, question.fp # $1 # $1, $2)",
}


class Test(Comparison):
    def __init__(self):
        super().__init__()
        self.connection = connect()

    def answer(self, search, table, query, max_distance):
        """The rows and the plan, after as many executions as PostgreSQL awaits before it thinks of a generic plan.
        (Citus has none for several shards, and fails if it is forced to have one.)"""
        execution = f"EXECUTE search ({query}, {max_distance})"
        with self.prepared(search, table):
            for _ in range(6):
                rows = self.rows(execution)
            return rows, self.plan(execution)

    def compare(self, name, search):
        # The copy would join the tables of Citus with itself, which Citus refuses.
        of_copy = search.replace("questions AS q", "questions_copy AS q")
        for local_execution in ("on", "off") * 2:
            self.connection.execute(f"SET citus.enable_local_execution = {local_execution}")
            query = self.value(f"SELECT near_fingerprint({self.rng.randrange(GROUPS)}, {self.rng.randrange(4096)})")
            max_distance = self.rng.randrange(1, 9)
            label = f"{name}, {local_execution}, {query}, {max_distance}"
            rows, plan = self.answer(search, "fingerprints", query, max_distance)
            expected, _ = self.answer(of_copy, "fingerprints_copy", query, max_distance)
            self.check_rows(label, rows, expected)
            self.check_plan(label, plan)

    def check_plan(self, label, plan):
        # EXPLAIN shows one shard of each distributed query. A sub-select by the primary key needs no search.
        scans = [line for line in plan if "Scan" in line and "fingerprints_" in line]
        is_right = has_scan(scans) and not any("Seq Scan" in line for line in scans)
        self.check(label, is_right, "the shard has not searched its indexes", *plan)

    def compare_texts(self):
        """Searches of texts by passages, and near texts."""
        for search, node in TEXT_SEARCHES.items():
            for length in 20, 60:
                clue = self.value(f"SELECT words({2 * self.rng.randrange(1000, 10_000)}, {length})")
                query = search.format(table="texts", clue=clue)
                self.check_rows(query, self.rows(query), self.rows(search.format(table="texts_copy", clue=clue)))
                plan = self.plan(query)
                self.check(query, any(node in line for line in plan), *plan)

    def run(self):
        self.connection.execute("SET client_min_messages = warning")
        for statement in split_statements(TABLES_SQL):
            self.connection.execute(statement)
        for name, search in (SEARCHES | CITUS_SEARCHES).items():
            self.compare(name, search)
        self.compare_texts()
        # The check of the plan can fail: without the indexes, no plan has the scan.
        self.connection.execute("SELECT simhash_detach('fingerprints')")
        _, plan = self.answer(SEARCHES["simhash_near"], "fingerprints", 42, 3)
        self.check("without indexes", not has_scan(plan), *plan)
        self.exit_with_result()


if __name__ == "__main__":
    Test().run()
