"""FAISS's exact searches among as many uniform fingerprints as scale.py has rows, without a server beside it.

    python benches/search/faiss_scale.py RUNS ROWS

Needs the packages of requirements.txt, and 100 bytes of memory for each row.
"""

import sys

import faiss
import numpy

from faiss_peers import K, in_faiss

QUERIES = 1000


def main():
    runs, rows = int(sys.argv[1]), int(sys.argv[2])
    faiss.omp_set_num_threads(1)
    print(f"FAISS {faiss.__version__}, one thread, {rows:,} uniform fingerprints; k = {K}; medians of {runs} runs")
    fingerprints = numpy.random.default_rng(1).integers(0, 256, (rows, 8), numpy.uint8)
    # Stored ones with two bits flipped, as in scale.py.
    queries = fingerprints[:QUERIES] ^ numpy.array([1, 1, 0, 0, 0, 0, 0, 0], numpy.uint8)
    for name, ms, stored, found in in_faiss(fingerprints, queries, runs):
        print(f"{name}: {ms:.3f} ms a search, {stored:.1f} bytes a row" + ("" if found is None else f", {found} found"))


main()
