"""The proof fails on histories with a defect, made by hand. Run it by `python tests/load/soak/check_test.py`."""

import unittest
from time import monotonic

from check import prove
from journal import COMMITTED, UNDONE, UNKNOWN, Journal, Transaction

TEXTS = ["a b c d", "a b c d e", "f", "a", "a b c d"]
FINGERPRINTS = [0, 0b111, -1, 1, 0]
# The first two and the last, which equals the first, are near. Number 3 is near them only by its fingerprint.
NEAR = [[0, 1, 4], [1, 0, 4], [2], [3], [4, 0, 1]]


class Proof(unittest.TestCase):
    def setUp(self):
        self.journal = Journal()
        self.names = iter(range(100))
        # Text 1 is refused because of row 1.
        self.write(1, 0)
        self.refuse(2, 1)

    def write(self, id, text, fate=COMMITTED, mark=None, active=True):
        transaction = Transaction(self.journal, next(self.names))
        transaction.wrote(id, text, monotonic(), mark=mark, active=active)
        transaction.end(fate)

    def delete(self, id, fate=COMMITTED):
        transaction = Transaction(self.journal, next(self.names))
        transaction.ended(id, True, monotonic())
        transaction.end(fate)

    def refuse(self, id, text, named=None):
        Transaction(self.journal, next(self.names)).refused([(id, text)], [], monotonic(), named)

    def expect(self, rows, *failures, inactive=()):
        there = [
            (id, text, TEXTS[text], FINGERPRINTS[text], id not in inactive, *(mark or [None])) for id, text, *mark in rows
        ]
        found = prove([self.journal], there, TEXTS, FINGERPRINTS, NEAR)
        self.assertEqual(len(found), len(failures), found)
        for text, failure in zip(found, failures):
            self.assertIn(failure, text)

    def test_sound(self):
        self.expect([(1, 0)])

    def test_duplicates(self):
        self.write(3, 1)
        self.expect([(1, 0), (3, 1)], "are at distance 3, and their resemblance is 0.778")

    def test_inactive(self):
        self.write(3, 1, active=False)
        self.expect([(1, 0), (3, 1)], inactive=(3,))
        self.expect([(1, 0), (3, 1)], "are at distance 3", "row 3 is active")

    def test_reason_inactive(self):
        self.write(3, 2, active=False)
        self.refuse(4, 2)
        self.expect([(1, 0), (3, 2)], "without a reason", inactive=(3,))

    def test_marked_with_inactive_row(self):
        self.write(3, 2, active=False)
        self.write(4, 2, mark=3)
        self.expect([(1, 0), (3, 2), (4, 2, 3)], "was marked with row 3", inactive=(3,))

    def test_refuted(self):
        self.write(3, 3)
        self.expect([(1, 0), (3, 3)])
        self.refuse(4, 3)
        self.delete(3)
        self.expect([(1, 0)])

    def test_missing(self):
        self.write(3, 2)
        self.expect([(1, 0)], "is missing")

    def test_unknown(self):
        self.write(3, 2, UNKNOWN)
        self.expect([(1, 0)])
        self.expect([(1, 0), (3, 2)])

    def test_undone(self):
        self.write(3, 2, UNDONE)
        self.expect([(1, 0)])
        self.expect([(1, 0), (3, 2)], "was not committed")

    def test_deleted(self):
        self.write(3, 2)
        self.delete(3)
        self.expect([(1, 0)])
        self.expect([(1, 0), (3, 2)], "although it was deleted")

    def test_nobody(self):
        self.expect([(1, 0), (9, 2)], "nobody has stored it")

    def test_without_reason(self):
        self.refuse(3, 2)
        self.expect([(1, 0)], "without a reason")

    def test_reason_deleted_before(self):
        self.delete(1)
        self.refuse(3, 1)
        self.write(4, 2)
        self.expect([(4, 2)], "without a reason")

    def test_reason_undone(self):
        self.write(3, 2, UNDONE)
        self.refuse(4, 2)
        self.expect([(1, 0)], "without a reason")

    def test_named(self):
        self.refuse(3, 1, (1, 3, "0.778"))
        self.expect([(1, 0)])
        self.refuse(4, 1, (1, 2, "0.778"))
        self.refuse(5, 1, (7, 3, "0.778"))
        self.refuse(6, 1, (1, 3, "0.900"))
        self.refuse(7, 3, (1, 1, "0.250"))
        self.expect([(1, 0)], *["which is not so"] * 4)

    def test_marked(self):
        self.write(3, 1, mark=1)
        self.expect([(1, 0), (3, 1, 1)])
        self.expect([(1, 0), (3, 1)], "are at distance 3", "mark None, which was not committed")

    def test_marked_with_itself(self):
        self.write(3, 1, mark=3)
        self.expect([(1, 0), (3, 1, 3)], "was marked with row 3, which was not near")

    def test_marked_with_distant_row(self):
        self.write(3, 3, mark=1)
        self.expect([(1, 0), (3, 3, 1)], "was marked with row 1")

    def test_marked_with_marked_row(self):
        self.write(3, 1, mark=1)
        self.write(4, 1, mark=3)
        self.expect([(1, 0), (3, 1, 1), (4, 1, 3)], "was marked with row 3")

    def test_marked_with_deleted_row(self):
        self.delete(1)
        self.write(3, 1, mark=1)
        self.expect([(3, 1, 1)], "was marked with row 1")

    def test_kept_mark(self):
        self.write(3, 1, mark=1)
        self.delete(1)
        self.write(3, 1, mark=1)
        self.expect([(3, 1, 1)])

    def test_mark_of_equal_text(self):
        self.write(3, 0, mark=1)
        self.delete(1)
        self.write(3, 4, mark=1)
        self.expect([(3, 4, 1)])

    def test_mark_of_other_text(self):
        self.write(3, 0, mark=1)
        self.delete(1)
        self.write(3, 1, mark=1)
        self.expect([(3, 1, 1)], "was marked with row 1")


if __name__ == "__main__":
    unittest.main()
