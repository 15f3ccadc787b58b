"""hamming, the distance of two fingerprints."""

import unittest

from pg_simhash import hamming


class Distance(unittest.TestCase):
    def test_hamming(self):
        self.assertEqual(hamming(0, -1), 64)
        self.assertEqual(hamming(5, 6), 2)
        self.assertEqual(hamming(-(2**63), 2**63 - 1), 64)

    def test_no_fingerprints(self):
        with self.assertRaisesRegex(
            OverflowError, r"fingerprint 9223372036854775808 is out of range .* subtract 2\*\*64.$"
        ):
            hamming(2**63, 1)
        for wrong in [None, 1.5, "1"]:
            with self.assertRaisesRegex(TypeError, "fingerprint must be int, not "):
                hamming(wrong, 1)
