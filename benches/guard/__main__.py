"""The cost of a guard for inserts, as its table grows.

    python benches/guard RUNS TRANSACTIONS ROWS[,ROWS...] CURVE.svg FILE.jsonl ...

For each number of rows: how long the indexes take to build, the entries that a search reads, which are the same on
every machine (a guard reads the same for a new row), how long a search for a copy takes beside a primary-key lookup,
and the rows a second that pgbench inserts (-M prepared, a transaction for each row), with the guard and without, by one
client and by four. It is one table, whose guard is put on and taken away, so that rows and indexes are the same. Both
take turns, in every other run in the opposite order: medians, and medians of the runs' ratios. The curve is that of one
client.

Needs PYTHONPATH=benches, the packages of benches/requirements.txt, and psql's environment (PGHOST and so on) pointing
to a server with pg_simhash. Whether a commit waits for the disk (fsync) is up to that server.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
from statistics import median

import curve
from bars import in_turns, ratio, verdict
from statements import copy_in, environment, psql, seconds, value
from texts import Texts

sys.path.append(str(pathlib.Path(__file__).parents[1] / "search"))
from timing import Statement, measure, warm

NONE, GUARD = "no guard", "the guard"
CLIENTS = (1, 4)
SEARCHES = 500
# The least share of the rate without a guard, of one client, by the number of rows.
BARS = {100_000: 0.75, 1_000_000: 0.7, 10_000_000: 0.65}

# The script for pgbench. Only the latency of the INSERT is read, so another statement gets the text.
SCRIPT = """\\set turn :turn + 1
\\set row (:turn - 1) * :clients + :client_id
\\set n :first + :row
\\set id :last_id + 1 + :row
SELECT body FROM fresh WHERE n = :n \\gset
INSERT INTO docs (id, body) VALUES (:id, :body);
"""


def main():
    runs, transactions = map(int, sys.argv[1:3])
    sizes, svg = map(int, sys.argv[3].split(",")), sys.argv[4]
    shown = ("fsync", "synchronous_commit", "shared_buffers")
    settings = ", ".join(f"{name} {value(f'SHOW {name}')}" for name in shown)
    print(f"{settings}; medians of {runs} runs of {transactions:,} transactions of each client")
    table = Table(transactions, Texts(sys.argv[5:]))
    shares = {rows: report(table, rows, runs) for rows in sizes}
    curve.draw({GUARD: shares}, "share of the rate of inserts without a guard", "{:.2f}", svg, scale="linear")


def report(table, rows, runs):
    """Prints what a guard costs at this number of rows; returns one client's share of the rate without a guard."""
    table.grow(rows, runs)
    table.search(runs)
    rates = {(guard, clients): [] for clients in CLIENTS for guard in (NONE, GUARD)}
    for guard, clients in in_turns(list(rates), runs):
        rates[guard, clients].append(table.insert(guard, clients))
    for (guard, clients), measured in rates.items():
        line = f"{clients} client{'s' * (clients > 1)}, {guard}: {median(measured):,.0f} rows a second"
        if guard != NONE:
            share = ratio(measured, rates[NONE, clients])
            line += f", {share:.2f} of the rate without a guard"
            if clients == 1 and rows in BARS:
                line += f"; bar {BARS[rows]}: {verdict(share >= BARS[rows])}"
        print(line, flush=True)
    return ratio(rates[GUARD, 1], rates[NONE, 1])


def insert_rate(clients, transactions, first, last_id):
    """Rows a second of all clients: each inserts its own texts, of those from `first`."""
    with tempfile.NamedTemporaryFile("w", prefix="pg_simhash.", suffix=".sql") as file:
        file.write(SCRIPT)
        file.flush()
        output = subprocess.run(
            ["pgbench", "-n", "-M", "prepared", "-r", "-c", str(clients), "-j", str(clients), "-t", str(transactions),
             "-D", "turn=0", "-D", f"clients={clients}", "-D", f"first={first}", "-D", f"last_id={last_id}",
             "-f", file.name],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment({}),
        ).stdout
    latency = re.search(r"^ +([0-9.]+) +\d+ +INSERT", output, re.MULTILINE)
    if not latency or "aborted" in output:
        raise RuntimeError(f"pgbench:\n{output}")
    return clients * 1e3 / float(latency[1])


class Table:
    def __init__(self, transactions, texts):
        self.transactions, self.texts = transactions, texts
        self.rows, self.next_fresh, self.last_id = 0, 0, 1_000_000_000  # no row that is loaded has such an id
        psql("DROP TABLE IF EXISTS docs", "CREATE TABLE docs (id bigint PRIMARY KEY, body text NOT NULL)")

    def grow(self, rows, runs):
        """Adds rows up to this number, builds the indexes, and makes the texts that these runs insert."""
        psql(*(f"DROP INDEX IF EXISTS docs_simhash_band{band}_idx" for band in range(6)))
        copy_in("docs (id, body)", ((id, self.texts.draw()) for id in range(self.rows, rows)))
        self.rows = rows
        psql("VACUUM docs")
        built = seconds("SELECT simhash_index('docs', 'body')", maintenance_work_mem="1GB",
                        max_parallel_maintenance_workers="2")
        stored = value("SELECT sum(pg_relation_size(indexrelid)) FROM pg_index"
                       " WHERE indrelid = 'docs'::regclass AND NOT indisprimary")
        psql("VACUUM ANALYZE docs")
        self.draw_fresh(2 * runs * sum(CLIENTS) * self.transactions + SEARCHES)
        average = value("SELECT round(avg(octet_length(body))) FROM fresh")
        print(f"\n{rows:,} rows; texts of {average} bytes on average; six indexes built in {built:.1f} s,"
              f" {float(stored) / rows:.0f} bytes a row")

    def draw_fresh(self, wanted):
        """Stores texts that are near no row and not near each other. A guard would skip all others."""
        psql("DROP TABLE IF EXISTS drawn, fresh", "CREATE UNLOGGED TABLE drawn (n integer, body text)")
        copy_in("drawn", ((n, self.texts.draw()) for n in range(round(1.3 * wanted))))
        psql("DELETE FROM drawn WHERE EXISTS (SELECT FROM docs WHERE simhash_near(docs.body, drawn.body))",
             "CREATE UNLOGGED TABLE fresh AS SELECT row_number() OVER ()::integer - 1 AS n, body FROM"
             " (SELECT n, body, simhash_cluster(n, body) OVER (ORDER BY n) AS cluster FROM drawn) AS found"
             " WHERE cluster = n",
             "ALTER TABLE fresh ADD PRIMARY KEY (n)", "VACUUM ANALYZE fresh", "CHECKPOINT")
        if int(value("SELECT count(*) FROM fresh")) < wanted:
            raise RuntimeError("too many of the texts are near-duplicates")
        self.next_fresh = SEARCHES

    def search(self, runs):
        """Prints how many entries a search for an unknown text reads, and how long a search for a copy takes."""
        query = ("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF)"
                 f" SELECT FROM (SELECT body FROM fresh WHERE n < {SEARCHES}) AS own"
                 " LEFT JOIN docs ON simhash_near(docs.body, own.body)")
        plan = "\n".join(line for (line,) in psql(query, enable_seqscan="off"))
        entries, fetches = (
            int(re.search(rf"{label}: (\d+)", plan)[1]) / SEARCHES for label in ("Index Entries", "Heap Fetches")
        )
        choose = f"\\set id random(0, {self.rows - 1})"
        lookup = Statement("SELECT body FROM docs WHERE id = :id", choose)
        copies = Statement("SELECT id FROM docs WHERE simhash_near(body, :body)", choose,
                           "SELECT body FROM docs WHERE id = :id \\gset")
        warm("docs")
        times = measure({"lookup": lookup, "copies": copies}, runs, ["docs"])
        print(f"a search reads {entries:,.0f} entries of other texts, and fetches {fetches:.1f} of their rows;"
              f" copies of a text {times.ms('copies'):.3f} ms,"
              f" {times.ratio('copies', 'lookup') / 2:.1f} times two primary-key lookups", flush=True)

    def insert(self, guard, clients):
        if guard != NONE:
            psql("SELECT simhash_guard('docs', 'skip')")
        before, wanted = self.count(), clients * self.transactions
        rate = insert_rate(clients, self.transactions, self.next_fresh, self.last_id)
        self.next_fresh += wanted
        self.last_id += wanted
        if guard != NONE:
            psql("SELECT simhash_unguard('docs')")
        if self.count() - before != wanted:
            raise RuntimeError(f"{guard}: of {wanted} rows only {self.count() - before} were stored")
        return rate

    def count(self):
        return int(value("SELECT count(*) FROM docs"))


if __name__ == "__main__":
    main()
