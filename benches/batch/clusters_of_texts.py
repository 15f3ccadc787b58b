"""The time of clusters and duplicates of texts, which the texts confirm, compared with clusters by distance.

    python benches/batch/clusters_of_texts.py RUNS ROWS FILE.jsonl...

Two tables of ROWS documents of about 1 KB, of which a tenth are near-duplicates of another: random words, whose
fingerprints are uniform, and excerpts of real documents (the FILEs), whose fingerprints are not. Clusters by distance
are at distance 8.
"""

import random
import sys
from statistics import median

from bars import measure_in_turns, median_ratio, print_bars
from batch.batch_statements import ENOUGH_MEMORY
from server import copy_in, psql, seconds, value
from texts import RandomTexts

COUNT_SQL = "SELECT count({counted}) FROM (SELECT {call} OVER (ORDER BY id) AS result FROM {table}) AS results"
CALLS = {
    "window": "ntile(2)",
    "clusters by distance": "simhash_cluster(id, fingerprint, 8)",
    "clusters of texts": "simhash_cluster(id, body)",
    "at resemblance .7": """simhash_cluster(id, body, '{"resemblance": 0.7}')""",
    "duplicates": "simhash_duplicate_of(id, body)",
}
# The bars of clusters of texts, of which one must be reached: seconds, or times the clusters by distance.
MAX_SECONDS, MAX_RATIO = 20, 4
# The most texts of which copies are made: they are kept in memory.
MAX_ORIGINALS = 50_000


def main():
    runs, rows, files = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    load("words", random_words(rows))
    load("excerpts", with_copies(rows, random.Random(8), RandomTexts(files).draw))
    cases = ("words", ENOUGH_MEMORY), ("excerpts", ENOUGH_MEMORY), ("excerpts", {"work_mem": "4MB"})
    print_bars([measure_settings(table, rows, runs, settings) for table, settings in cases])


def load(table, documents):
    psql(f"CREATE UNLOGGED TABLE {table} (id bigint, body text)")
    copy_in(table, enumerate(documents, 1))
    psql(f"ALTER TABLE {table} ADD fingerprint bigint GENERATED ALWAYS AS (simhash(body)) STORED",
         f"VACUUM ANALYZE {table}")


def random_words(rows):
    rng = random.Random(7)
    vocabulary = [f"{rng.getrandbits(24):x}" for _ in range(200_000)]
    return with_copies(rows, rng, lambda: " ".join(rng.choices(vocabulary, k=145)))  # about 1 KB


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
            if len(originals) < MAX_ORIGINALS:
                originals.append(document)
            else:
                originals[rng.randrange(len(originals))] = document
            yield document


def measure_settings(table, rows, runs, settings):
    """Prints the times in a table with these settings; returns the bar of the clusters of texts."""
    bytes_a_row = float(value(f"SELECT avg(octet_length(body)) FROM {table}"))
    times = measure_in_turns(CALLS, runs, lambda name: seconds(
        COUNT_SQL.format(counted="result", call=CALLS[name], table=table), **settings))
    ratios = {name: median_ratio(measured, times["clusters by distance"]) for name, measured in times.items()}
    work_mem = f"work_mem {settings['work_mem']}"
    print(f"\n{table}, {rows:,} rows of {bytes_a_row:.0f} bytes, {work_mem}")
    for name, call in CALLS.items():
        counted = "DISTINCT result" if "cluster" in call else "result"
        count = int(value(COUNT_SQL.format(counted=counted, call=call, table=table), **settings))
        print(f"  {name:<20} {median(times[name]):>8.3f} s   {ratios[name]:>6.2f} x clusters by distance"
              f"   {count:>10,} found", flush=True)
    of_texts, ratio_of_texts = median(times["clusters of texts"]), ratios["clusters of texts"]
    line = (
        f"{table}, {work_mem}, clusters of {rows:,} texts: {of_texts:.1f} s,"
        f" {ratio_of_texts:.2f} times the clusters by distance, bar {MAX_SECONDS} s or {MAX_RATIO} times"
    )
    return line, of_texts <= MAX_SECONDS or ratio_of_texts <= MAX_RATIO


if __name__ == "__main__":
    main()
