"""How much of an answer is taken from an article, by coverage: Clough and Stevenson's corpus.

    python3 benches/reuse.py plagiarism-clough\\&stevenson.csv    (of github.com/clips/pattern, in test/corpora)

Needs the package pg_simhash. Each line has an answer, its article and its kind: 0 without the article, 1 a heavy
revision, 2 a light one, 3 a copy. The least coverage of an answer with the article is the median of those that decide
most answers of a random half rightly; it is tested on the other half.
"""

import csv
import random
import sys
from pathlib import Path
from statistics import median

from pg_simhash import coverage

KINDS = "without the article", "heavy revision", "light revision", "copy"
HALVES = 1000
SHARES = [share / 100 for share in range(101)]


def main():
    with Path(sys.argv[1]).open(encoding="utf-8-sig", newline="") as file:
        answers = [(coverage(article, answer), int(kind)) for answer, article, kind in csv.reader(file)]
    report_kinds(answers)
    report_least(answers)


def report_kinds(answers):
    for number, name in enumerate(KINDS):
        shares = sorted(share for share, kind in answers if kind == number)
        print(f"{name:<20} {len(shares)} answers, coverage {shares[0]:.2f} to {shares[-1]:.2f}, "
              f"median {median(shares):.2f}")


def report_least(answers):
    rng = random.Random(66)
    found, right_shares = zip(*(test_of_half(rng, answers) for _ in range(HALVES)))
    right_shares = sorted(right_shares)
    print(f"least of a half: median {median(found):.2f}; the other half is decided rightly in "
          f"{sum(right_shares) / HALVES:.3f}, in one of twenty halves in {right_shares[HALVES // 20]:.3f} or less")


def test_of_half(rng, answers):
    """The least coverage by a half of the answers, and the share of the others that it decides rightly."""
    rng.shuffle(answers)
    half, others = answers[: len(answers) // 2], answers[len(answers) // 2 :]
    decisions = {share: right_decisions(half, share) for share in SHARES}
    least = median(share for share in SHARES if decisions[share] == max(decisions.values()))
    return least, right_decisions(others, least) / len(others)


def right_decisions(answers, least):
    """How many answers are decided rightly."""
    return sum((share >= least) == (kind > 0) for share, kind in answers)


main()
