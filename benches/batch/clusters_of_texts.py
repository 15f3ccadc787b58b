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
from server import copy_in, psql, seconds, value
from texts import RandomTexts

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
    bars = []
    for table, work_mem in ("words", "2GB"), ("excerpts", "2GB"), ("excerpts", "4MB"):
        times = measure_in_turns(CALLS, runs, lambda name: seconds(count_sql(name, table), work_mem=work_mem))
        report_times(table, work_mem, times)
        bars.append(bar_of(table, work_mem, times))
    print_bars(bars)


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


def count_sql(name, table, counted="result"):
    return f"SELECT count({counted}) FROM (SELECT {CALLS[name]} OVER (ORDER BY id) AS result FROM {table}) AS results"


def report_times(table, work_mem, times):
    rows, bytes_a_row = psql(f"SELECT count(*), round(avg(octet_length(body))) FROM {table}")[0]
    print(f"\n{table}, {int(rows):,} rows of {bytes_a_row} bytes, work_mem {work_mem}")
    for name, measured in times.items():
        counted = "DISTINCT result" if "cluster" in CALLS[name] else "result"
        found = int(value(count_sql(name, table, counted), work_mem=work_mem))
        ratio = median_ratio(measured, times["clusters by distance"])
        print(f"  {name:<20} {median(measured):>8.3f} s   {ratio:>6.2f} x clusters by distance   {found:>10,} found",
              flush=True)


def bar_of(table, work_mem, times):
    of_texts, by_distance = times["clusters of texts"], times["clusters by distance"]
    took, ratio = median(of_texts), median_ratio(of_texts, by_distance)
    line = (f"{table}, work_mem {work_mem}, clusters of texts: {took:.1f} s, {ratio:.2f} times the clusters by"
            f" distance, bar {MAX_SECONDS} s or {MAX_RATIO} times")
    return line, took <= MAX_SECONDS or ratio <= MAX_RATIO


if __name__ == "__main__":
    main()
