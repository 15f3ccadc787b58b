"""What `"same": ["numbers"]` costs and gains in sets of real documents.

    python3 benches/same_numbers.py COUNT FILE.jsonl.gz ...

Each FILE has documents, with their true near-duplicates in FILE.pairs.tsv.gz if it is there, as
simhash/benches/quality.rs describes them. Precision is the share of the near pairs whose J is .8 or more, recall the
share of the pairs whose J is .9 or more that are near, without and with numbers. Prints COUNT random near pairs whose
numbers differ, and COUNT of two editions of one document, whose ids have the same last part (after a slash); with the
words that differ between their neighbours. Needs the package pg_simhash.
"""

import gzip
import json
import random
import sys
from difflib import SequenceMatcher
from pathlib import Path

import pg_simhash
from near import near


def main():
    count = int(sys.argv[1])
    for path in map(Path, sys.argv[2:]):
        with gzip.open(path, "rt") as lines:
            texts = {text["id"]: text["text"] for text in map(json.loads, lines)}
        pairs = near(texts)
        differing = {pair for pair in pairs if pg_simhash.resemblance(*map(texts.get, pair), same=["numbers"]) == 0}
        print(f"\n{path.name}: {len(texts)} documents, {len(pairs)} near pairs, of {len(differing)} the numbers differ")
        true_pairs = path.with_name(path.name.replace(".jsonl", ".pairs.tsv"))
        if true_pairs.exists():
            report_precision(true_pairs, pairs, differing)
        show_samples(texts, sorted(differing), count)


def report_precision(true_pairs, pairs, differing):
    with gzip.open(true_pairs, "rt") as lines:
        j_of = {tuple(sorted((a, b))): float(j) for a, b, j in (line.split("\t") for line in lines)}
    for name, kept in ("any numbers", pairs), ("the same numbers", pairs - differing):
        true = sum(j_of.get(pair, 0) >= 0.8 for pair in kept)
        recalled = [pair in kept for pair, j in j_of.items() if j >= 0.9]
        print(f"{name:<18}{len(kept):>6} pairs, precision {true / max(len(kept), 1):.3f}, recall "
              f"{sum(recalled) / len(recalled):.3f} of {len(recalled)}")


def show_samples(texts, differing, count):
    """Prints pairs of different texts, and pairs of editions."""
    seen = set()
    for a, b in random.Random(65).sample(differing, len(differing)):
        if not {a, b} & seen and len(seen) < 2 * count:
            seen |= {a, b}
            show(len(seen) // 2, a, b, texts)
    editions = [(a, b) for a, b in differing if "/" in a and a.rpartition("/")[2] == b.rpartition("/")[2]]
    random.Random(65).shuffle(editions)
    print(f"of two editions: {len(editions)}")
    for number, (a, b) in enumerate(editions[:count], 1):
        show(number, a, b, texts)


def show(number, name, other, texts):
    """Prints the words of which one text has others, with one neighbour."""
    a, b = texts[name].split(), texts[other].split()
    changes = (change for change in SequenceMatcher(None, a, b, autojunk=False).get_opcodes() if change[0] != "equal")
    shown = (" ".join([*a[max(i - 1, 0):i], f"[{' '.join(a[i:j])} | {' '.join(b[k:l])}]", *a[j:j + 1]])
             for _, i, j, k, l in changes)
    print(f"{number:>4} {name} | {other}\n     {' ;; '.join(shown)}")


main()
