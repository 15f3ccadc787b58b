"""The Python package beside PyPI's simhash: fingerprints per second, of texts of three lengths, on one core; and all
near pairs of many fingerprints.

    python python.py RUNS FINGERPRINTS FILE.jsonl ...

Needs the packages of python-requirements.txt, and the wheel of tools/wheel. Texts of a length are cut from the documents of
the files, whole lines as far as they go. The ways take turns; medians.
"""

import json
import statistics
import sys
import time

import numpy
import pg_simhash
import simhash

LENGTHS = [500, 2_000, 20_000]
# Of each length, so many bytes; PyPI's simhash is so slow that a part must do.
BYTES = 20_000_000
SLOW_BYTES = 400_000
DISTANCE = 3


def main():
    runs, count = int(sys.argv[1]), int(sys.argv[2])
    documents = [json.loads(line)["text"] for path in sys.argv[3:] for line in open(path, encoding="utf-8")]
    print(f"pg_simhash {pg_simhash.__version__}, Python {sys.version.split()[0]}, NumPy {numpy.__version__},")
    print(f"one thread; medians of {runs} runs")
    for length in LENGTHS:
        compare(list(cut(documents, length)), length, runs)
    near_pairs(runs, count)


def cut(documents, length):
    """Texts of about this length, from all documents in turn until there is enough."""
    left = BYTES
    for document in documents:
        text = ""
        for line in document.splitlines(keepends=True):
            text += line[:length]
            if len(text) >= length:
                yield text[:length]
                left -= length
                text = ""
                if left <= 0:
                    return


def compare(texts, length, runs):
    few = texts[: max(1, SLOW_BYTES // length)]
    ways = {
        "pg_simhash, a call for each text": (lambda: [pg_simhash.simhash(text) for text in texts], len(texts)),
        "pg_simhash, a list": (lambda: pg_simhash.simhash(texts), len(texts)),
        "PyPI simhash, Simhash(text)": (lambda: [simhash.Simhash(text).value for text in few], len(few)),
        "PyPI simhash, Simhash(set of words)": (
            lambda: [simhash.Simhash(set(text.lower().split())).value for text in few],
            len(few),
        ),
    }
    times = {way: [] for way in ways}
    for run in range(runs + 1):
        for way, (work, _) in ways.items():
            start = time.perf_counter()
            work()
            if run > 0:  # the first warms up
                times[way].append(time.perf_counter() - start)
    speed = {way: number / statistics.median(times[way]) for way, (_, number) in ways.items()}
    slowest = speed["PyPI simhash, Simhash(text)"]
    of_words = speed["PyPI simhash, Simhash(set of words)"]
    print(f"\n{len(texts)} texts of {length} characters (PyPI simhash: {len(few)})")
    print(f"{'way':<40} {'texts/s':>10} {'MB/s':>8} {'to Simhash(text)':>17} {'to Simhash(set of words)':>25}")
    for way, texts_per_second in speed.items():
        print(
            f"{way:<40} {texts_per_second:>10.0f} {texts_per_second * length / 1e6:>8.1f}"
            f" {texts_per_second / slowest:>17.1f} {texts_per_second / of_words:>25.1f}"
        )


def near_pairs(runs, count):
    """Of random fingerprints, a tenth of which are near another one."""
    rng = numpy.random.default_rng(4)
    fingerprints = rng.integers(-(2**63), 2**63, count)
    copies = rng.integers(0, count, count // 10)
    places = rng.integers(0, count, count // 10)
    near = fingerprints[copies]
    for _ in range(DISTANCE):
        near ^= 1 << rng.integers(0, 63, len(near))
    fingerprints[places] = near
    ways = {
        "pairs": lambda: len(pg_simhash.pairs(fingerprints, DISTANCE)[0]),
        "clusters": lambda: len(numpy.unique(pg_simhash.clusters(fingerprints, DISTANCE))),
    }
    print(f"\n{count} fingerprints, distance {DISTANCE}")
    for way, work in ways.items():
        times = []
        for _ in range(runs + 1):
            start = time.perf_counter()
            found = work()
            times.append(time.perf_counter() - start)
        print(f"{way:<10} {statistics.median(times[1:]):>8.3f} s  ({found} {way})")


if __name__ == "__main__":
    main()
