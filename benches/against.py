"""How long this tree takes, compared with another commit.

    python benches/against.py ROUNDS ROWS FILE.jsonl ...

The server has this tree as the extension pg_simhash, and the commit as pg_simhash_before. Each has a database with the
same rows. They take turns, in every other round in the opposite order. Prints the medians of the rounds, and of their
ratios, with the least and the greatest. Exits with 1 if this tree takes a tenth longer, by a median.
"""

import os
import sys
from statistics import median

from bars import measure_in_turns
from batch.batch_statements import BATCH_STATEMENTS, ENOUGH_MEMORY
from guard.table import GUARDED, Table
from server import psql, seconds, uniform_rows
from texts import RandomTexts

SIDES = {"before": "pg_simhash_before", "after": "pg_simhash"}
MAX_RATIO = 1.1
INSERTS = 1000
# The statements that are measured, besides the inserts into a guarded table.
STATEMENTS = {
    "search, texts": "SELECT count(*) FROM (SELECT body FROM fresh WHERE number < 500 UNION ALL"
    " SELECT body FROM docs WHERE id % 10 = 0) AS queries JOIN docs ON simhash_near(docs.body, queries.body)",
    "search, distance": "SELECT count(*) FROM (SELECT fingerprint FROM uniform WHERE id <= 20000 OFFSET 0)"
    " AS queries JOIN uniform ON simhash_near(uniform.fingerprint, queries.fingerprint)",
    "batch, pairs": BATCH_STATEMENTS["pairs"].format(table="uniform"),
    "batch, clusters": BATCH_STATEMENTS["clusters"].format(table="uniform"),
    "batch, texts": "SELECT count(original) FROM (SELECT simhash_duplicate_of(id, body) OVER (ORDER BY id) AS original"
    " FROM docs WHERE id < 10000) AS results",
    "fingerprints": "SELECT sum(simhash(body)) FROM docs",
    "bands": "SELECT sum(simhash_band(body, 0)) FROM docs",
    "passages": "SELECT sum(cardinality(simhash_passages(body))) FROM docs",
    "passages, search": "SELECT count(*) FROM (SELECT substr(body, 20, 120) AS clue FROM docs WHERE id % 1000 = 7"
    " OFFSET 0) AS queries JOIN docs ON simhash_contains(docs.body, clue)",
}


def main():
    rounds, rows = map(int, sys.argv[1:3])
    tables = {side: prepare(side, rows, sys.argv[3:]) for side in SIDES}
    report_ratios(measure_sides(tables, rounds), rounds)


def measure_sides(tables, rounds):
    """The seconds of each statement on each side, in each round. One more round comes first, to warm up."""
    def measure(case):
        name, os.environ["PGDATABASE"] = case
        if name == "guard":
            return 1 / tables[case[1]].insert_rate(GUARDED, 1)
        return seconds(STATEMENTS[name], enable_seqscan="off", **ENOUGH_MEMORY)
    cases = [(name, side) for name in (*STATEMENTS, "guard") for side in SIDES]
    return {case: times[1:] for case, times in measure_in_turns(cases, rounds + 1, measure).items()}


def report_ratios(times, rounds):
    """Prints the times. Exits with an error if one is much longer after than before."""
    print(f"{rounds} rounds; before and after, in ms (guard: of an INSERT); after / before\n")
    slower = []
    for name in (*STATEMENTS, "guard"):
        before, after = (times[name, side] for side in SIDES)
        ratios = [new / old for new, old in zip(after, before)]
        print(f"{name:<17} {median(before) * 1e3:>9.3f} {median(after) * 1e3:>9.3f} {median(ratios):>6.2f}"
              f" ({min(ratios):.2f} to {max(ratios):.2f})", flush=True)
        if median(ratios) > MAX_RATIO:
            slower.append(name)
    if slower:
        sys.exit(f"more than {MAX_RATIO} times as long as before: {', '.join(slower)}")


def prepare(side, rows, files):
    """Makes the database of a side, with its rows."""
    os.environ["PGDATABASE"] = "postgres"
    psql(f"CREATE DATABASE {side}")
    os.environ["PGDATABASE"] = side
    psql(f"CREATE EXTENSION {SIDES[side]}")
    table = Table(INSERTS, RandomTexts(files))
    table.grow(rows, runs=2)  # and fresh texts for twenty rounds
    psql("CREATE INDEX ON docs USING gin (simhash_passages(body))")
    psql(f"CREATE UNLOGGED TABLE uniform AS {uniform_rows(1, 10 * rows)}",
         "SELECT simhash_attach('uniform', 'fingerprint')", "VACUUM ANALYZE uniform", "VACUUM ANALYZE docs")
    return table


if __name__ == "__main__":
    main()
