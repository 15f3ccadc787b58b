"""Tests that `prove` reports each defect of a history. Run: `python tests/load/soak/check_test.py`."""

import unittest
from time import monotonic

from check import prove
from journal import COMMITTED, UNDONE, UNKNOWN, Journal, Transaction

TEXTS = ["a b c d", "a b c d e", "f", "a", "a b c d"]
FINGERPRINTS = [0, 0b111, -1, 1, 0]
# The first two and the last, which equals the first, are near.
NEAR = [[0, 1, 4], [1, 0, 4], [2], [3], [4, 0, 1]]


def write(id, text, fate=COMMITTED, mark=None):
    def step(transaction):
        transaction.wrote(id, text, monotonic(), mark=mark)
        transaction.end(fate)

    return step


def delete(id):
    def step(transaction):
        transaction.ended(id, True, monotonic())
        transaction.end(COMMITTED)

    return step


def refuse(id, text):
    return lambda transaction: transaction.refused([(id, text)], [], monotonic())


ROW, REFUSED = write(1, 0), refuse(2, 1)  # Text 1 is refused because of row 1.
MARKED = write(3, 1, mark=1)
# The steps after ROW and REFUSED; the rows that the table then has (key, text and mark), with row 1 or without it; and
# the messages that `prove` must return.
BESIDE = [
    ([], [], []),
    ([write(3, 1)], [(3, 1)], ["are near: their resemblance is 0.778"]),
    ([write(3, 3)], [(3, 3)], []),
    ([write(3, 3), refuse(4, 3), delete(3)], [], []),
    ([write(3, 2)], [], ["is missing"]),
    ([write(3, 2, UNKNOWN)], [(3, 2)], []),
    ([write(3, 2, UNDONE)], [], []),
    ([write(3, 2, UNDONE)], [(3, 2)], ["was not committed"]),
    ([write(3, 2), delete(3)], [(3, 2)], ["although it was deleted"]),
    ([], [(9, 2)], ["nobody has stored it"]),
    ([refuse(3, 2)], [], ["without a reason"]),
    ([write(3, 2, UNDONE), refuse(4, 2)], [], ["without a reason"]),
    ([MARKED], [(3, 1, 1)], []),
    ([MARKED], [(3, 1)], ["are near: ", "mark None, which was not committed"]),
    ([write(3, 1, mark=3)], [(3, 1, 3)], ["was marked with row 3, which was not near"]),
    ([MARKED, write(4, 1, mark=3)], [(3, 1, 1), (4, 1, 3)], ["was marked with row 3"]),
]
INSTEAD = [
    ([delete(1), refuse(3, 1), write(4, 2)], [(4, 2)], ["without a reason"]),
    # An update to an equal text leaves the mark.
    ([MARKED, delete(1), MARKED], [(3, 1, 1)], []),
    ([write(3, 0, mark=1), delete(1), write(3, 4, mark=1)], [(3, 4, 1)], []),
    ([write(3, 0, mark=1), delete(1), MARKED], [(3, 1, 1)], ["was marked with row 1"]),
]


class Proof(unittest.TestCase):
    def test_histories(self):
        for first, cases in ([(1, 0)], BESIDE), ([], INSTEAD):
            for number, (steps, more, failures) in enumerate(cases):
                journal = Journal()
                for name, step in enumerate([ROW, REFUSED, *steps]):
                    step(Transaction(journal, name))
                rows = [
                    (id, text, TEXTS[text], FINGERPRINTS[text], *(mark or [None]))
                    for id, text, *mark in [*first, *more]
                ]
                with self.subTest(number=number, rows=rows):
                    found = prove([journal], rows, TEXTS, FINGERPRINTS, NEAR)
                    self.assertEqual(len(found), len(failures), found)
                    for text, failure in zip(found, failures):
                        self.assertIn(failure, text)


if __name__ == "__main__":
    unittest.main()
