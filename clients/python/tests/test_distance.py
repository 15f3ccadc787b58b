"""hamming, block and probes: what the golden vectors do not show."""

import unittest

from pg_simhash import block, hamming, probes


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


class Blocks(unittest.TestCase):
    def test_keywords(self):
        self.assertEqual(block(fingerprint=-1, block=1, blocks=2), -1)
        self.assertEqual(probes(1, 0, 4, -1), [])

    def test_errors(self):
        for call, message in [
            (lambda: block(1, 0, 9), "^number of blocks 9 is out of range. A layout has 2 to 8 blocks.$"),
            (lambda: block(1, -1, 2), "^block number -1 is out of range. A layout of 2 blocks has the blocks 0 to 1.$"),
            (
                lambda: probes(1, 0, 2, 30),
                "^distance 30 needs .* probes of block 0 of 2. At most 1048576 are possible.",
            ),
        ]:
            with self.assertRaisesRegex(ValueError, message):
                call()
