"""The time of verified clusters and duplicates, compared with simhash_cluster without texts.

    python benches/batch/verified.py RUNS ROWS FILE.jsonl...

Two tables of ROWS documents of about 1 KB, of which a tenth are near-duplicates of another: random words, whose
fingerprints are uniform, and excerpts of real documents (the FILEs), whose fingerprints are not. Clusters without texts
are at distance 8.
"""

import random
import sys
from statistics import median

from bars import in_turns, print_bars, ratio
from measured import MEMORY
from statements import copy_in, psql, seconds, value
from texts import Texts

COUNT = "SELECT count({counted}) FROM (SELECT {call} OVER (ORDER BY id) AS x FROM {table}) AS found"
WAYS = {
    "window": "ntile(2)",
    "clusters": "simhash_cluster(id, fp, 8)",
    "verified clusters": "simhash_cluster(id, body)",
    "at resemblance .7": """simhash_cluster(id, body, '{"resemblance": 0.7}')""",
    "duplicates": "simhash_duplicate_of(id, body)",
}
# The bar of verified clusters: in seconds, or as a ratio to the clusters without texts.
MAX_SECONDS, MAX_RATIO = 20, 4


def main():
    runs, rows, files = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    load("words", words(rows))
    load("excerpts", excerpts(rows, files))
    cases = ("words", MEMORY), ("excerpts", MEMORY), ("excerpts", {"work_mem": "4MB"})
    judged = [measure(table, rows, runs, settings) for table, settings in cases]
    print()
    print_bars(judged)


def load(table, documents):
    psql(f"CREATE UNLOGGED TABLE {table} (id bigint, body text)")
    copy_in(table, enumerate(documents, 1))
    psql(f"ALTER TABLE {table} ADD fp bigint GENERATED ALWAYS AS (simhash(body)) STORED", f"VACUUM ANALYZE {table}")


def with_copies(rows, rng, draw):
    """Yields documents; every tenth is a copy of an earlier one with one to three words replaced."""
    originals = []
    for row in range(rows):
        if row % 10 == 9:
            changed = rng.choice(originals).split(" ")
            for _ in range(rng.randint(1, 3)):
                changed[rng.randrange(len(changed))] = f"w{rng.getrandbits(32)}"
            yield " ".join(changed)
        else:
            document = draw()
            # The limit on the texts that are kept in memory.
            if len(originals) < 50_000:
                originals.append(document)
            else:
                originals[rng.randrange(len(originals))] = document
            yield document


def words(rows):
    rng = random.Random(7)
    vocabulary = [f"{rng.getrandbits(24):x}" for _ in range(200_000)]
    return with_copies(rows, rng, lambda: " ".join(rng.choices(vocabulary, k=145)))


def excerpts(rows, files):
    return with_copies(rows, random.Random(8), Texts(files).draw)


def measure(table, rows, runs, settings):
    """Prints the times, and returns the line of the bar, and whether it is reached."""
    bytes_a_row = float(value(f"SELECT avg(octet_length(body)) FROM {table}"))
    times = {way: [] for way in WAYS}
    for way in in_turns(WAYS, runs):
        times[way].append(seconds(COUNT.format(counted="x", call=WAYS[way], table=table), **settings))
    counts = {"window": rows}
    for way, call in WAYS.items():
        if way != "window":
            counted = "DISTINCT x" if "cluster" in call else "x"
            counts[way] = int(value(COUNT.format(counted=counted, call=call, table=table), **settings))
    print(f"\n{table}, {rows:,} rows of {bytes_a_row:.0f} bytes, work_mem {settings['work_mem']}")
    for way, measured in times.items():
        times_clusters = ratio(measured, times["clusters"])
        print(f"  {way:<20} {median(measured):>8.3f} s   {times_clusters:>6.2f} x clusters   {counts[way]:>10,} found",
              flush=True)
    verified = median(times["verified clusters"])
    times_clusters = ratio(times["verified clusters"], times["clusters"])
    line = (
        f"{table}, work_mem {settings['work_mem']}, verified clusters of {rows:,}: {verified:.1f} s,"
        f" {times_clusters:.2f} times the unverified, bar {MAX_SECONDS} s or {MAX_RATIO} times"
    )
    return line, verified <= MAX_SECONDS or times_clusters <= MAX_RATIO


if __name__ == "__main__":
    main()
