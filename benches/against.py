"""How long this tree takes, compared with another commit.

    python benches/against.py ROUNDS ROWS FILE.jsonl ...

Needs PYTHONPATH=benches, the packages of benches/requirements.txt, and psql's environment (PGHOST and so on) pointing
to a server that has this tree as the extension pg_simhash, and the commit as pg_simhash_before. Each has a database
with the same rows. They take turns, in every other round in the opposite order. Prints the medians of the rounds, and
of their ratios, with the least and the greatest. Exits with 1 if this tree takes a tenth longer, by a median.
"""

import os
import sys
from pathlib import Path
from statistics import median

sys.path += [str(Path(__file__).parent / name) for name in ("guard", "batch", "search")]
from batch.__main__ import load
from guard.__main__ import GUARD, Table
from measured import BATCH_STATEMENTS, MEMORY
from statements import psql, seconds
from texts import Texts

SIDES = {"before": "pg_simhash_before", "after": "pg_simhash"}
MAX_RATIO = 1.1
INSERTS = 1000
STATEMENTS = {
    "search, texts": "SELECT count(*) FROM (SELECT body FROM fresh WHERE n < 500 UNION ALL"
    " SELECT body FROM docs WHERE id % 10 = 0) AS q JOIN docs ON simhash_near(docs.body, q.body)",
    "search, distance": "SELECT count(*) FROM (SELECT fp FROM uniform WHERE id <= 20000 OFFSET 0) AS q"
    " JOIN uniform ON simhash_near(uniform.fp, q.fp)",
    "batch, pairs": BATCH_STATEMENTS["pairs"].format(table="uniform"),
    "batch, clusters": BATCH_STATEMENTS["clusters"].format(table="uniform"),
    "batch, texts": "SELECT count(stays) FROM (SELECT simhash_duplicate_of(id, body) OVER (ORDER BY id) AS stays"
    " FROM docs WHERE id < 10000) AS found",
    "fingerprints": "SELECT sum(simhash(body)) FROM docs",
    "bands": "SELECT sum(simhash_band(body, 0)) FROM docs",
    "passages": "SELECT sum(cardinality(simhash_passages(body))) FROM docs",
    "passages, search": "SELECT count(*) FROM (SELECT substr(body, 20, 120) AS clue FROM docs WHERE id % 1000 = 7"
    " OFFSET 0) AS q JOIN docs ON simhash_contains(docs.body, q.clue)",
}


def main():
    rounds, rows = map(int, sys.argv[1:3])
    tables = {side: prepare(side, rows, sys.argv[3:]) for side in SIDES}
    report(measure(tables, rounds), rounds)


def measure(tables, rounds):
    """Seconds of each side and statement, in each round. Round 0 warms up, and is left out."""
    times = {(side, name): [] for side in SIDES for name in (*STATEMENTS, "guard")}
    for number in range(rounds + 1):
        for name in (*STATEMENTS, "guard"):
            for side in SIDES if number % 2 == 0 else reversed(SIDES):
                os.environ["PGDATABASE"] = side
                times[side, name].append(
                    1 / tables[side].insert(GUARD, 1) if name == "guard"
                    else seconds(STATEMENTS[name], enable_seqscan="off", **MEMORY)
                )
    return {key: measured[1:] for key, measured in times.items()}


def report(times, rounds):
    print(f"{rounds} rounds; before and after, in ms (guard: of an INSERT); after / before\n")
    slower = []
    for name in (*STATEMENTS, "guard"):
        before, after = (times[side, name] for side in SIDES)
        ratios = [a / b for a, b in zip(after, before)]
        print(f"{name:<17} {median(before) * 1e3:>9.3f} {median(after) * 1e3:>9.3f} {median(ratios):>6.2f}"
              f" ({min(ratios):.2f} to {max(ratios):.2f})", flush=True)
        if median(ratios) > MAX_RATIO:
            slower.append(name)
    if slower:
        sys.exit(f"more than {MAX_RATIO} times as long as before: {', '.join(slower)}")


def prepare(side, rows, files):
    os.environ["PGDATABASE"] = "postgres"
    psql(f"CREATE DATABASE {side}")
    os.environ["PGDATABASE"] = side
    psql(f"CREATE EXTENSION {SIDES[side]}")
    table = Table(INSERTS, Texts(files))
    table.grow(rows, runs=2)  # the texts for ten rounds or more
    psql("CREATE INDEX ON docs USING gin (simhash_passages(body))")
    load("uniform", 10 * rows, None)
    psql("SELECT simhash_attach('uniform', 'fp')", "VACUUM ANALYZE uniform", "VACUUM ANALYZE docs")
    return table


if __name__ == "__main__":
    main()
