"""`find_failures` reports each failure of a history."""

import unittest
from time import monotonic
from typing import NamedTuple

from check import Row, find_failures
from journal import COMMITTED, UNDONE, UNKNOWN, Journal, Transaction

TEXTS = ["a b c d", "a b c d e", "f", "a", "a b c d"]
FINGERPRINTS = [0, 0b111, -1, 1, 0]
# The first two and the last, which equals the first, are near.
NEAR_TEXTS = [[0, 1, 4], [1, 0, 4], [2], [3], [4, 0, 1]]


class Case(NamedTuple):
    steps: list  # After the steps STORED and REFUSED.
    rows: list  # Of the table, after the steps.
    failures: list = []  # What `find_failures` reports.


def write(id, text_number, fate=COMMITTED, mark=None):
    def step(transaction):
        transaction.record_version(id, text_number, monotonic(), mark=mark)
        transaction.close(fate)

    return step


def delete(id):
    def step(transaction):
        transaction.record_end(id, True, monotonic())
        transaction.close(COMMITTED)

    return step


def refuse(id, text_number):
    return lambda transaction: transaction.record_finding([(id, text_number)], [], monotonic())


def row(id, text_number, mark=None):
    return Row(id, text_number, TEXTS[text_number], FINGERPRINTS[text_number], mark)


STORED = write(1, 0)
REFUSED = refuse(2, 1)  # Text 1 is near text 0.
MARKED = write(3, 1, mark=1)
FIRST = row(1, 0)
CASES = {
    "nothing else happens": Case([], [FIRST]),
    "a near row is stored": Case([write(3, 1)], [FIRST, row(3, 1)], ["are near: their resemblance is 0.778"]),
    "a row that is not near is stored": Case([write(3, 3)], [FIRST, row(3, 3)]),
    "a row that refused another one is deleted": Case([write(3, 3), refuse(4, 3), delete(3)], [FIRST]),
    "a row is missing": Case([write(3, 2)], [FIRST], ["is missing"]),
    "the commit of a row has no answer": Case([write(3, 2, UNKNOWN)], [FIRST, row(3, 2)]),
    "a row is rolled back": Case([write(3, 2, UNDONE)], [FIRST]),
    "a row is stored though it was rolled back": Case(
        [write(3, 2, UNDONE)], [FIRST, row(3, 2)], ["was not committed"]
    ),
    "a row is stored though it was deleted": Case(
        [write(3, 2), delete(3)], [FIRST, row(3, 2)], ["although it was deleted"]
    ),
    "a row was written by nobody": Case([], [FIRST, row(9, 2)], ["nobody has stored it"]),
    "a row is refused by none": Case([refuse(3, 2)], [FIRST], ["without a reason"]),
    "a row is refused by one that was rolled back": Case(
        [write(3, 2, UNDONE), refuse(4, 2)], [FIRST], ["without a reason"]
    ),
    "a row is refused by one that was deleted": Case(
        [delete(1), refuse(3, 1), write(4, 2)], [row(4, 2)], ["without a reason"]
    ),
    "a near row is marked": Case([MARKED], [FIRST, row(3, 1, 1)]),
    "the mark of a near row is gone": Case(
        [MARKED], [FIRST, row(3, 1)], ["are near: ", "mark None, which was not committed"]
    ),
    "a row is marked with itself": Case(
        [write(3, 1, mark=3)], [FIRST, row(3, 1, 3)], ["was marked with row 3, which was not near"]
    ),
    "a mark names a row that was not near": Case(
        [MARKED, write(4, 1, mark=3)], [FIRST, row(3, 1, 1), row(4, 1, 3)], ["was marked with row 3"]
    ),
    "an update to the same text leaves the mark": Case([MARKED, delete(1), MARKED], [row(3, 1, 1)]),
    "an update to an equal text leaves the mark": Case(
        [write(3, 0, mark=1), delete(1), write(3, 4, mark=1)], [row(3, 4, 1)]
    ),
    "an update to another text leaves the mark": Case(
        [write(3, 0, mark=1), delete(1), MARKED], [row(3, 1, 1)], ["was marked with row 1"]
    ),
}


class Proof(unittest.TestCase):
    def test_histories(self):
        for name, case in CASES.items():
            with self.subTest(name, rows=case.rows):
                journal = Journal()
                for number, step in enumerate([STORED, REFUSED, *case.steps]):
                    step(Transaction(journal, number))
                messages = find_failures([journal], case.rows, TEXTS, FINGERPRINTS, NEAR_TEXTS)
                self.assertEqual(len(messages), len(case.failures), messages)
                for message, failure in zip(messages, case.failures):
                    self.assertIn(failure, message)


if __name__ == "__main__":
    unittest.main()
