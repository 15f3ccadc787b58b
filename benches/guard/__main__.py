"""What a guard costs those who insert, as its table grows.

    python benches/guard RUNS TRANSACTIONS ROWS[,ROWS...] CURVE.svg FILE.jsonl ...

For each number of rows and each guard: the look-ups and index entries of a search by its criterion, which are the same
on every machine (a guard reads the same for a new row), and the rows a second that pgbench inserts (-M prepared, a
transaction for each row), by one client and by four. It is one table, whose guard is put on and taken away, so that
rows and indexes are the same. The guards take turns, in every other run in the opposite order: medians, and medians of
the runs' ratios. The curve is that of one client.

Needs PYTHONPATH=benches, the packages of benches/requirements.txt, and psql's environment (PGHOST and so on) pointing
to a server with pg_simhash. Whether a commit waits for the disk (fsync) is up to that server.
"""

import json
import re
import statistics
import sys

import curve
import texts
from server import insert_rate
from statements import copy_in, psql, value

NONE, DEFAULT = "no guard", "the default"
CRITERIA = {
    DEFAULT: {},
    "radii 1 1 0 0": {"radii": [1, 1, 0, 0]},
    "radii 0 0 0 0": {"radii": [0, 0, 0, 0]},
    "distance 3": {"resemblance": None},
}
CLIENTS = (1, 4)
SEARCHES = 500
# The least share of the rate without a guard, of the default and one client, by the number of rows.
BARS = {1_000_000: 0.5, 10_000_000: 0.4}


def main():
    runs, transactions = map(int, sys.argv[1:3])
    sizes, svg = map(int, sys.argv[3].split(",")), sys.argv[4]
    shown = ("fsync", "synchronous_commit", "shared_buffers")
    settings = ", ".join(f"{name} {value(f'SHOW {name}')}" for name in shown)
    print(f"{settings}; medians of {runs} runs of {transactions:,} transactions of each client")
    table = Table(transactions, texts.Texts(sys.argv[5:]))
    ways = [(guard, clients) for clients in CLIENTS for guard in (NONE, *CRITERIA)]
    lines = {NONE: {}, DEFAULT: {}}
    for rows in sizes:
        table.grow(rows, runs)
        costs = {guard: table.cost(criterion) for guard, criterion in CRITERIA.items()}
        rates = {way: [] for way in ways}
        for run in range(runs):
            for way in ways if run % 2 == 0 else reversed(ways):
                rates[way].append(table.insert(*way))
        for guard, clients in ways:
            found, free = rates[guard, clients], rates[NONE, clients]
            rate, ratio = statistics.median(found), statistics.median(a / b for a, b in zip(found, free))
            line = f"{clients} client{'s' * (clients > 1)}, {guard}: {rate:,.0f} rows a second"
            if guard != NONE:
                line += f", {ratio:.2f} of the rate without a guard; {costs[guard]}"
            if (guard, clients) == (DEFAULT, 1) and rows in BARS:
                line += f"; bar {BARS[rows]}: {'reached' if ratio >= BARS[rows] else 'MISSED'}"
            print(line, flush=True)
            if clients == 1 and guard in lines:
                lines[guard][rows] = ratio
    curve.draw(lines, "share of the rate of inserts without a guard", "{:.2f}", svg, scale="linear")


class Table:
    def __init__(self, transactions, made):
        self.transactions, self.made = transactions, made
        self.rows, self.next, self.last_id = 0, 0, 1_000_000_000  # no row that is loaded has such an id
        psql("DROP TABLE IF EXISTS docs", "CREATE TABLE docs (id bigint PRIMARY KEY, body text NOT NULL)",
             "SELECT simhash_attach('docs', 'body')")

    def grow(self, rows, runs):
        """Adds rows up to this number, and makes the texts that so many runs insert."""
        copy_in("docs (id, body)", ((id, self.made.text()) for id in range(self.rows, rows)))
        self.rows = rows
        wanted = runs * (1 + len(CRITERIA)) * sum(CLIENTS) * self.transactions + SEARCHES
        psql("DROP TABLE IF EXISTS made, fresh", "CREATE UNLOGGED TABLE made (n integer, body text)")
        copy_in("made", ((n, self.made.text()) for n in range(round(1.3 * wanted))))
        # Those that are near a row, or each other, would be skipped.
        is_near = ("simhash_near(docs.body, made.body)", "simhash_near(docs.simhash, simhash(made.body))")
        psql("VACUUM ANALYZE docs",
             *(f"DELETE FROM made WHERE EXISTS (SELECT FROM docs WHERE {condition})" for condition in is_near),
             "CREATE UNLOGGED TABLE fresh AS SELECT row_number() OVER ()::integer - 1 AS n, body FROM"
             " (SELECT n, body, simhash_cluster(n, body) OVER w AS by_text, simhash_cluster(n, simhash(body)) OVER w AS by_distance"
             " FROM made WINDOW w AS (ORDER BY n)) AS found WHERE by_text = n AND by_distance = n",
             "ALTER TABLE fresh ADD PRIMARY KEY (n)", "VACUUM ANALYZE fresh", "CHECKPOINT")
        if int(value("SELECT count(*) FROM fresh")) < wanted:
            raise RuntimeError("too many of the texts are near-duplicates")
        self.next = SEARCHES
        average = value("SELECT round(avg(octet_length(body))) FROM fresh")
        print(f"\n{rows:,} rows; texts of {average} bytes on average")

    def cost(self, criterion):
        """The look-ups and entries of a search, on average of texts that are not inserted."""
        near = f"simhash_near(docs.body, own.body, '{json.dumps(criterion)}')"
        if criterion.get("resemblance", 1) is None:
            near = "simhash_near(docs.simhash, simhash(own.body))"
        query = (f"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT FROM (SELECT body FROM fresh WHERE n < {SEARCHES}) AS own"
                 f" LEFT JOIN docs ON {near}")
        plan = "\n".join(line for (line,) in psql(query, enable_seqscan="off"))
        look_ups, entries = (
            int(re.search(rf"{name}: (\d+)", plan)[1]) / SEARCHES for name in ("Index Descents", "Index Entries")
        )
        return f"{look_ups:.0f} look-ups, {entries:,.0f} entries"

    def insert(self, guard, clients):
        if guard != NONE:
            psql(f"SELECT simhash_guard('docs', 'skip', '{json.dumps(CRITERIA[guard])}')")
        before, wanted = self.count(), clients * self.transactions
        rate = insert_rate(clients, self.transactions, self.next, self.last_id)
        self.next += wanted
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
