"""What sizes in the keys of the indexes save guards and searches that compare texts.

    python benches/guard/sizes.py RUNS TRANSACTIONS ROWS FILE.jsonl ...

A table of ROWS texts of one to nine passages of 60 words, each passage from a random place of a document of one FILE,
has in turns block indexes without the size, with it, and with it for other layouts. For each: the bytes of the indexes,
the look-ups and the entries of a search by the guard's criterion (a guard reads the same for a new row), its time, and
the rows a second that pgbench inserts with no guard and with `skip`, by one client. No two of the inserted texts, and
none of them and of the table, are near-duplicates by the default. Medians, and medians of the runs' ratios.

Needs PYTHONPATH=benches, and psql's environment (PGHOST and so on) pointing to a server with pg_simhash.
"""

import json
import random
import re
import statistics
import sys

from server import insert_rate
from statements import copy_in, psql, seconds, value

PASSAGES, WORDS = (1, 9), 60
SEARCHES = 500
# The indexes' blocks, whether they have sizes, and the criterion.
LAYOUTS = {
    "4 blocks, the default, without sizes": (4, False, {}),
    "4 blocks, the default": (4, True, {}),
    "4 blocks, without flips": (4, True, {"flips": []}),
    "4 blocks, radii 1 1 0 0": (4, True, {"radii": [1, 1, 0, 0]}),
    "4 blocks, radii 0 0 0 0": (4, True, {"radii": [0] * 4}),
    "3 blocks, the default": (3, True, {"radii": [1] * 3}),
    "5 blocks, the default": (5, True, {"radii": [1] * 5}),
    "6 blocks, the default": (6, True, {"radii": [1] * 6}),
}


class Texts:
    def __init__(self, files):
        self.rng = random.Random(4)
        self.kinds = []
        for file in files:
            with open(file) as lines:
                documents = [json.loads(line)["text"].replace("\\", " ").split() for line in lines]
            self.kinds.append([words for words in documents if len(words) > WORDS])
        self.sizes = [sum(map(len, documents)) for documents in self.kinds]

    def passage(self, documents):
        words = self.rng.choice(documents)
        start = self.rng.randrange(len(words) - WORDS)
        return " ".join(words[start:start + WORDS])

    def text(self):
        (documents,) = self.rng.choices(self.kinds, self.sizes)
        return " ".join(self.passage(documents) for _ in range(self.rng.randint(*PASSAGES)))


def main():
    runs, transactions, rows = map(int, sys.argv[1:4])
    texts = Texts(sys.argv[4:])
    psql("DROP TABLE IF EXISTS docs", "CREATE TABLE docs (id bigint PRIMARY KEY, body text NOT NULL)")
    copy_in("docs", ((n, texts.text()) for n in range(rows)))
    psql("SELECT simhash_attach('docs', 'body')")
    fresh(texts, runs * 2 * len(LAYOUTS) * transactions)
    ((average, least, most),) = psql(
        "SELECT avg(octet_length(body))::integer, min(simhash_size), max(simhash_size) FROM docs")
    print(f"{rows:,} texts of {average} bytes on average, and of {least} to {most} words and pairs")
    table = Table(rows, transactions)
    found = {layout: [] for layout in LAYOUTS}
    for run in range(runs):
        for layout in LAYOUTS if run % 2 == 0 else reversed(LAYOUTS):
            found[layout].append(table.measure(*LAYOUTS[layout]))
    for layout, measured in found.items():
        median = {key: statistics.median(run[key] for run in measured) for key in measured[0]}
        print(
            f"{layout:<38} {median['bytes']:5.1f} index bytes a row; a search: {median['descents']:3.0f} look-ups,"
            f" {median['entries']:7,.0f} entries, {median['ms']:.3f} ms, {median['rows']:.2f} rows;"
            f" inserts: {median['free']:6,.0f}/s, guarded {median['guarded']:6,.0f}/s ({median['ratio']:.2f})",
            flush=True,
        )


def fresh(texts, wanted):
    """Texts of which no two, and none and one of docs, are near-duplicates."""
    psql("DROP TABLE IF EXISTS fresh", "CREATE UNLOGGED TABLE fresh (n integer, body text)")
    copy_in("fresh", ((n, texts.text()) for n in range(round(1.2 * wanted) + SEARCHES)))
    psql("DELETE FROM fresh WHERE EXISTS (SELECT FROM docs WHERE simhash_near(docs.body, fresh.body))",
         "DELETE FROM fresh USING (SELECT n, simhash_duplicate_of(n, body) OVER (ORDER BY n) AS other FROM fresh) AS found"
         " WHERE fresh.n = found.n AND other IS NOT NULL",
         "CREATE UNLOGGED TABLE numbered AS SELECT row_number() OVER (ORDER BY n)::integer - 1 AS n, body FROM fresh",
         "DROP TABLE fresh", "ALTER TABLE numbered RENAME TO fresh", "ALTER TABLE fresh ADD PRIMARY KEY (n)",
         "VACUUM ANALYZE fresh")
    if int(value("SELECT count(*) FROM fresh")) < wanted + SEARCHES:
        raise RuntimeError("too many of the texts are near-duplicates")


class Table:
    def __init__(self, rows, transactions):
        self.transactions, self.next, self.last_id = transactions, 0, rows

    def measure(self, blocks, has_sizes, criterion):
        indexes = [index for (index,) in psql(
            "SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 'docs'::regclass AND NOT indisprimary")]
        size = ", simhash_size" if has_sizes else ""
        psql(*(f"DROP INDEX {index}" for index in indexes), *(
            f"CREATE INDEX block{i} ON docs (simhash_block(simhash, {i}, {blocks}){size}) INCLUDE (simhash)"
            for i in range(blocks)), "VACUUM ANALYZE docs", "CHECKPOINT")
        criterion = json.dumps(criterion)
        found = {
            "bytes": int(value("SELECT sum(pg_relation_size(indexrelid)) FROM pg_index"
                               " WHERE indrelid = 'docs'::regclass AND NOT indisprimary")) / self.last_id,
            **self.search(criterion),
            "free": self.insert(),
        }
        psql(f"SELECT simhash_guard('docs', 'skip', '{criterion}')")
        found["guarded"] = self.insert()
        psql("SELECT simhash_unguard('docs')")
        return found | {"ratio": found["guarded"] / found["free"]}

    def search(self, criterion):
        # The last ones, which are not inserted.
        query = (f"SELECT count(d.id) FROM (SELECT body FROM fresh ORDER BY n DESC LIMIT {SEARCHES}) AS q"
                 f" LEFT JOIN docs AS d ON simhash_near(d.body, q.body, '{criterion}')")
        plan = "\n".join(line for (line, *_) in psql(f"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, BUFFERS OFF) {query}",
                                                     enable_seqscan="off"))
        number = lambda name: int(re.search(rf"{name}: (\d+)", plan)[1]) / SEARCHES
        ms = min(seconds(query, enable_seqscan="off") for _ in range(3)) * 1e3 / SEARCHES
        return {"descents": number("Index Descents"), "entries": number("Index Entries"), "ms": ms,
                "rows": int(value(query)) / SEARCHES}

    def insert(self):
        rate = insert_rate(1, self.transactions, self.next, self.last_id)
        self.next += self.transactions
        self.last_id += self.transactions
        return rate


if __name__ == "__main__":
    main()
