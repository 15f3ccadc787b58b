"""The table of benches/guard and benches/against.py, with its searches and inserts."""

import re

from search.timing import Statement, measure_statements, warm
from server import copy_in, psql, run_pgbench, seconds, value

UNGUARDED, GUARDED = "no guard", "the guard"
CLIENTS = 1, 4
# The number of fresh texts that are searched for. The others are inserted.
SEARCHES = 500
# No row that is loaded has such an id.
FIRST_INSERTED_ID = 1_000_000_001

# The script of pgbench. Its report has a latency for each statement, and only that of INSERT is read. So another
# statement reads the text.
SCRIPT = """\\set turn :turn + 1
\\set row (:turn - 1) * :clients + :client_id
\\set number :first + :row
\\set id :first_id + :row
SELECT body FROM fresh WHERE number = :number \\gset
INSERT INTO docs (id, body) VALUES (:id, :body);
"""


class Table:
    """The table docs, which grows. Its guard is created and dropped in turns, so that both rates are of the same rows.
    The table fresh has texts that are not near its rows."""

    def __init__(self, transactions, texts):
        self.transactions, self.texts = transactions, texts
        self.rows, self.next_fresh, self.next_id = 0, 0, FIRST_INSERTED_ID
        psql("DROP TABLE IF EXISTS docs", "CREATE TABLE docs (id bigint PRIMARY KEY, body text NOT NULL)")

    def grow(self, rows, runs):
        """Adds rows up to this number, builds the indexes, and makes the texts that these runs insert."""
        self.add_rows(rows)
        build_seconds = self.build_indexes()
        self.draw_fresh(2 * runs * sum(CLIENTS) * self.transactions + SEARCHES)
        self.report_size(build_seconds)

    def add_rows(self, rows):
        """Drops the indexes, and adds rows up to this number."""
        psql(*(f"DROP INDEX IF EXISTS docs_simhash_band{band}_idx" for band in range(6)))
        copy_in("docs (id, body)", ((id, self.texts.draw()) for id in range(self.rows, rows)))
        self.rows = rows

    def build_indexes(self):
        """Builds the indexes; returns how many seconds it takes."""
        psql("VACUUM docs")
        build_seconds = seconds("SELECT simhash_index('docs', 'body')", maintenance_work_mem="1GB",
                                max_parallel_maintenance_workers="2")
        psql("VACUUM ANALYZE docs")
        return build_seconds

    def draw_fresh(self, needed):
        """Stores texts that are near no row and not near each other. A guard would skip all others."""
        psql("DROP TABLE IF EXISTS drawn, fresh", "CREATE UNLOGGED TABLE drawn (number integer, body text)")
        copy_in("drawn", ((number, self.texts.draw()) for number in range(round(1.3 * needed))))
        psql("DELETE FROM drawn WHERE EXISTS (SELECT FROM docs WHERE simhash_near(docs.body, drawn.body))",
             "CREATE UNLOGGED TABLE fresh AS SELECT row_number() OVER ()::integer - 1 AS number, body FROM"
             " (SELECT number, body, simhash_cluster(number, body) OVER (ORDER BY number) AS cluster FROM drawn)"
             " AS clustered WHERE cluster = number",
             "ALTER TABLE fresh ADD PRIMARY KEY (number)", "VACUUM ANALYZE fresh", "CHECKPOINT")
        if int(value("SELECT count(*) FROM fresh")) < needed:
            raise RuntimeError("too many of the texts are near-duplicates")
        self.next_fresh = SEARCHES

    def report_size(self, build_seconds):
        average = value("SELECT round(avg(octet_length(body))) FROM fresh")
        index_bytes = value("SELECT sum(pg_relation_size(indexrelid)) FROM pg_index"
                            " WHERE indrelid = 'docs'::regclass AND NOT indisprimary")
        print(f"\n{self.rows:,} rows; texts of {average} bytes on average; six indexes built in {build_seconds:.1f} s,"
              f" {float(index_bytes) / self.rows:.0f} bytes a row")

    def report_search(self, runs):
        """Prints how many entries a search for an unknown text reads, and how long a search for a copy takes."""
        entries, fetches = self.count_reads()
        times = self.time_search(runs)
        print(f"a search reads {entries:,.0f} entries of other texts, and fetches {fetches:.1f} of their rows;"
              f" copies of a text {times.median_ms('copies'):.3f} ms,"
              f" {times.ratio('copies', 'look-up') / 2:.1f} times two look-ups by primary key", flush=True)

    def count_reads(self):
        """How many entries, and how many rows, a search for an unknown text reads on average."""
        query = ("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF)"
                 f" SELECT FROM (SELECT body FROM fresh WHERE number < {SEARCHES}) AS unknown"
                 " LEFT JOIN docs ON simhash_near(docs.body, unknown.body)")
        plan = "\n".join(line for (line,) in psql(query, enable_seqscan="off"))
        return (int(re.search(rf"{label}: (\d+)", plan)[1]) / SEARCHES for label in ("Index Entries", "Heap Fetches"))

    def time_search(self, runs):
        """The times of a look-up by primary key, and of a search for the copies of a row's text."""
        choose_id = f"\\set id random(0, {self.rows - 1})"
        look_up = Statement("SELECT body FROM docs WHERE id = :id", choose_id)
        copies = Statement("SELECT id FROM docs WHERE simhash_near(body, :body)", choose_id,
                           "SELECT body FROM docs WHERE id = :id \\gset")
        warm("docs")
        return measure_statements({"look-up": look_up, "copies": copies}, runs, ["docs"])

    def insert_rate(self, variant, clients):
        """Inserts fresh texts by pgbench, other ones by each client; returns the rows a second of all clients."""
        if variant == GUARDED:
            psql("SELECT simhash_guard('docs', 'skip')")
        rows_before, inserted = self.count_rows(), clients * self.transactions
        variables = {"clients": clients, "first": self.next_fresh, "first_id": self.next_id}
        report = run_pgbench(SCRIPT, self.transactions, clients, variables)
        self.next_fresh += inserted
        self.next_id += inserted
        if variant == GUARDED:
            psql("SELECT simhash_unguard('docs')")
        stored = self.count_rows() - rows_before
        if stored != inserted:
            raise RuntimeError(f"{variant}: of {inserted} rows only {stored} were stored")
        return clients * 1e3 / float(re.search(r"^ +([0-9.]+) +\d+ +INSERT", report, re.MULTILINE)[1])

    def count_rows(self):
        return int(value("SELECT count(*) FROM docs"))
