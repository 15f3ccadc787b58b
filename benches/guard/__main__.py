"""What a guard costs those who insert.

    python benches/guard RUNS TRANSACTIONS SIZE:BLOCKS[:plain][,...] FILE.jsonl ...

For each size of a table and layout of its blocks, with covering or plain indexes (BLOCKS is `best` for the layout that
simhash_layouts advises): rows a second that pgbench (-M prepared, a transaction for each row) inserts with no guard, with
the guards `reject` and `skip`, with `reject` by smaller radii if there are four blocks, and with `reject` by the distance
alone (3), by one client and by four, and that one COPY inserts. It is one table, whose guard is put on and taken away, so
that rows and indexes are the same; the ways take turns, in every other run in the opposite order; medians, and medians
of the runs' ratios. The texts are made of passages of real ones, and no two are near-duplicates.

Needs PYTHONPATH=benches, and psql's environment (PGHOST and so on) pointing to a server with pg_simhash.
"""

import os
import statistics
import sys
import tempfile

import texts
from server import insert_rate
from statements import copy_in, psql, seconds, value

# The guards, as arguments of simhash_guard after the table: for all layouts, and with radii of four blocks.
WAYS = {"none": None, "reject": "'reject'", "skip": "'skip'", "by distance": """'reject', '{"resemblance": null}'"""}
BY_RADII = {radii: f"""'reject', '{{"radii": [{radii.replace(" ", ", ")}]}}'""" for radii in ("1 1 0 0", "0 0 0 0")}
CLIENTS = (1, 4)
# The least share of the unguarded rate, by the number of rows, the blocks and the number of clients, for covering
# indexes.
BARS = {
    (1_000_000, "4", 1): {"reject": 0.3, "skip": 0.3, "1 1 0 0": 0.4, "0 0 0 0": 0.65, "by distance": 0.7},
    (1_000_000, "4", 4): {"reject": 0.28, "skip": 0.28, "1 1 0 0": 0.35, "0 0 0 0": 0.55, "by distance": 0.65},
    (10_000_000, "3", 1): {"reject": 0.25, "skip": 0.25, "by distance": 0.5},
    (10_000_000, "3", 4): {"by distance": 0.5},
    (10_000_000, "4", 1): {"0 0 0 0": 0.35},
}


def main():
    runs, transactions = int(sys.argv[1]), int(sys.argv[2])
    made = texts.Texts(sys.argv[4:])
    shown = ("fsync", "synchronous_commit", "shared_buffers")
    settings = ", ".join(f"{name} {value(f'SHOW {name}')}" for name in shown)
    print(f"{settings}; medians of {runs} runs of {transactions:,} transactions of each client")
    judged = []
    for case in sys.argv[3].split(","):
        rows, blocks, *plain = case.split(":")
        judged += Case(int(rows), blocks, plain != ["plain"], runs, transactions, made).measure()
    print()
    for line in judged:
        print(line)
    if not judged:
        print("No bar is for tables of these sizes.")


class Case:
    def __init__(self, rows, blocks, covering, runs, transactions, made):
        self.rows, self.blocks, self.covering = rows, blocks, covering
        self.runs, self.transactions, self.made = runs, transactions, made
        self.next = 0

    def measure(self):
        self.load()
        copied = 10 * self.transactions
        # One near-duplicate among the texts would be the end of a COPY under `reject`, which costs what `skip` does.
        copies = {"none": [], "skip": []}
        wanted = self.runs * (len(self.ways) * sum(CLIENTS) * self.transactions + len(copies) * copied)
        psql("DROP TABLE IF EXISTS fresh", "CREATE UNLOGGED TABLE fresh (n integer PRIMARY KEY, body text)")
        copy_in("fresh", ((n, self.made.text()) for n in range(wanted)))
        # Those that are near one of the table, or each other, would be rejected: they are few, others take their place.
        # A cluster holds all of them, and perhaps some more.
        source = ("SELECT id, NULL AS n, simhash, body FROM docs"
                  " UNION ALL SELECT 1000000000000 + n, n, simhash(body), body FROM fresh")
        clusters = "simhash_cluster(id, body) OVER w AS by_text, simhash_cluster(id, simhash) OVER w AS by_distance"
        psql("SET work_mem = '2GB'", f"CREATE TEMP TABLE clustered AS SELECT n, {clusters}"
             f" FROM ({source}) AS texts WINDOW w AS (ORDER BY id)",
             "UPDATE fresh SET body = (SELECT string_agg(md5(n::text || word), ' ') FROM generate_series(1, 30) AS word)"
             " WHERE n IN (SELECT unnest(array_agg(n)) FROM clustered GROUP BY by_text HAVING count(*) > 1 UNION ALL"
             " SELECT unnest(array_agg(n)) FROM clustered GROUP BY by_distance HAVING count(*) > 1)",
             "VACUUM ANALYZE fresh")
        average = float(value("SELECT avg(octet_length(body)) FROM fresh"))
        print(f"\n{self.name}; texts of {average:.0f} bytes")
        times = {(way, clients): [] for way in self.ways for clients in CLIENTS}
        for run in range(self.runs):
            for way in self.ways if run % 2 == 0 else reversed(list(self.ways)):
                for clients in CLIENTS:
                    times[way, clients].append(self.insert(way, clients))
                if way in copies:
                    copies[way].append(self.copy(way, copied))
        judged = []
        for clients in CLIENTS:
            name = "1 client" if clients == 1 else f"{clients} clients"
            judged += self.report(name, {way: times[way, clients] for way in self.ways}, clients)
        self.report("COPY", copies)
        return judged

    def load(self):
        psql("DROP TABLE IF EXISTS docs", "CREATE TABLE docs (id bigint, body text NOT NULL)")
        copy_in("docs", ((id, self.made.text()) for id in range(self.rows)))
        psql("ALTER TABLE docs ADD PRIMARY KEY (id)")
        if self.blocks == "best":
            psql("CREATE UNLOGGED TABLE prints AS SELECT simhash(body) FROM docs")
            self.blocks = value("SELECT blocks FROM simhash_layouts('prints', 'simhash') WHERE best")
            psql("DROP TABLE prints")
        psql(f"SELECT simhash_attach('docs', 'body', blocks => {self.blocks})")
        self.ways = WAYS | (BY_RADII if self.blocks == "4" else {})
        self.name = f"{self.rows:,} rows, {self.blocks} blocks, {'covering' if self.covering else 'plain'} indexes"
        psql("VACUUM ANALYZE docs", "CHECKPOINT")
        self.last_id = self.rows

    def prepare(self, way):
        if way == "none":
            if value("SELECT count(*) FROM pg_trigger WHERE tgrelid = 'docs'::regclass AND NOT tgisinternal") != "0":
                psql("SELECT simhash_unguard('docs')")
        else:
            psql(f"SELECT simhash_guard('docs', {self.ways[way]})")
        if not self.rows:
            psql("TRUNCATE docs")
        psql("CHECKPOINT")

    def insert(self, way, clients):
        self.prepare(way)
        before = self.count()
        rate = insert_rate(clients, self.transactions, self.next, self.last_id)
        inserted = clients * self.transactions
        self.next += inserted
        self.last_id += inserted
        stored = self.count() - before
        if stored != inserted:
            raise RuntimeError(f"{way}: of {inserted} rows only {stored} were stored")
        return rate

    def count(self):
        return int(value("SELECT count(*) FROM docs WHERE id >= 0", enable_seqscan="off"))

    def copy(self, way, rows):
        self.prepare(way)
        with tempfile.NamedTemporaryFile("w", prefix="pg_simhash.", suffix=".copy") as file:
            os.chmod(file.name, 0o644)
            fresh = f"FROM fresh WHERE n >= {self.next} ORDER BY n LIMIT {rows}"
            psql(f"\\copy (SELECT n - {self.next} + {self.last_id + 1}, body {fresh}) TO '{file.name}'")
            self.next += rows
            self.last_id += rows
            return rows / seconds(f"\\copy docs (id, body) FROM '{file.name}'")

    def report(self, name, rates, clients=None):
        medians = {way: statistics.median(found) for way, found in rates.items()}
        ratio = {
            way: statistics.median(guarded / free for guarded, free in zip(rates[way], rates["none"])) for way in rates
        }
        print(f"{name:<10}" + "".join(
            f"  {way} {medians[way]:>8,.0f}/s" + (f" ({ratio[way]:.2f})" if way != "none" else "") for way in rates
        ), flush=True)
        bars = BARS.get((self.rows, self.blocks, clients), {})
        return [
            f"{self.name}, {way}, {name}: {ratio[way]:.2f} of the unguarded rate,"
            f" bar {bar}: {'reached' if ratio[way] >= bar else 'MISSED'}"
            for way, bar in bars.items() if self.covering
        ]


if __name__ == "__main__":
    main()
