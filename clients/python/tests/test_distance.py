"""hamming, similarity, block and probes."""

import math
import unittest

import numpy as np

from pg_simhash import block, hamming, probes, similarity


class Distance(unittest.TestCase):
    def test_of_integers(self):
        self.assertEqual(hamming(0, -1), 64)
        self.assertEqual(hamming(5, 6), 2)
        self.assertEqual(hamming(-(2**63), 2**63 - 1), 64)
        self.assertEqual(hamming(np.int64(5), 6), 2)
        self.assertEqual(similarity(7, 7), 1.0)
        self.assertEqual(similarity(0, -1), -1.0)
        self.assertAlmostEqual(similarity(0, 0b111), math.cos(math.pi * 3 / 64))

    def test_of_arrays(self):
        rng = np.random.default_rng(1)
        a, b = rng.integers(-(2**63), 2**63, size=(2, 3, 700), dtype=np.int64)
        expected = [[((int(x) ^ int(y)) & (2**64 - 1)).bit_count() for x, y in zip(*rows)] for rows in zip(a, b)]
        distances = hamming(a, b)
        self.assertEqual(distances.dtype, np.int32)
        self.assertEqual(distances.tolist(), expected)
        similarities = similarity(a, b)
        self.assertEqual(similarities.dtype, np.float64)
        self.assertTrue(np.allclose(similarities, np.cos(np.pi * distances / 64)))
        # Strides, byte orders and shapes.
        self.assertEqual(hamming(a[:, ::-2], b[:, ::-2]).tolist(), distances[:, ::-2].tolist())
        self.assertEqual(hamming(a.astype(">i8"), b).tolist(), expected)
        self.assertEqual(hamming(a, b[1]).tolist(), [hamming(row, b[1]).tolist() for row in a])
        self.assertEqual(hamming(a, int(b[0, 0])).tolist(), hamming(int(b[0, 0]), a).tolist())
        self.assertEqual(hamming(a[0, :0], b[0, :0]).tolist(), [])

    def test_masked_elements_stay_masked(self):
        a = np.ma.MaskedArray([1, 2, 3], [False, True, False])
        self.assertEqual(hamming(a, 0).tolist(), [1, None, 2])
        self.assertEqual(similarity(0, a).tolist()[1], None)

    def test_errors(self):
        with self.assertRaisesRegex(TypeError, "^fingerprints must be an array of int64, not uint64. To keep"):
            hamming(np.array([1], np.uint64), 1)
        with self.assertRaisesRegex(TypeError, "^fingerprints must be an array of int64, not float64$"):
            hamming(1, np.array([1.0]))
        with self.assertRaises(ValueError):
            hamming(np.array([1, 2, 3]), np.array([1, 2]))
        with self.assertRaisesRegex(
            OverflowError, r"^fingerprint 9223372036854775808 is out of range .* subtract 2\*\*64.$"
        ):
            hamming(2**63, 1)
        for wrong in [None, 1.5, "1"]:
            with self.assertRaisesRegex(TypeError, "^fingerprint must be int, not "):
                hamming(wrong, 1)


class Blocks(unittest.TestCase):
    FINGERPRINT = 0x0123456789ABCDEF

    def test_blocks(self):
        self.assertEqual([block(self.FINGERPRINT, i) for i in range(4)], [0x0123, 0x4567, 0x89AB, 0xCDEF])
        self.assertEqual(block(fingerprint=-1, block=1, blocks=2), -1)

    def test_probes_within_radius(self):
        for blocks, max_distance in [(4, 3), (2, 3), (3, 4), (8, 3)]:
            for i in range(blocks):
                found = probes(self.FINGERPRINT, i, blocks, max_distance)
                radius = (max_distance + 1) // blocks + (i < (max_distance + 1) % blocks) - 1
                width = 64 // blocks + (i < 64 % blocks)
                self.assertEqual(len(found), sum(math.comb(width, flipped) for flipped in range(radius + 1)))
                self.assertEqual(len(set(found)), len(found))
                own = block(self.FINGERPRINT, i, blocks)
                self.assertTrue(all((own ^ probe).bit_count() <= radius for probe in found))
        self.assertEqual(probes(1, 0, 4, -1), [])

    def test_errors(self):
        for call, message in [
            (lambda: block(1, 0, 9), "^number of blocks 9 is out of range. A layout has 2 to 8 blocks.$"),
            (lambda: block(1, 4), "^block number 4 is out of range. A layout of 4 blocks has the blocks 0 to 3.$"),
            (lambda: block(1, -1, 2), "^block number -1 is out of range. A layout of 2 blocks has the blocks 0 to 1.$"),
            (
                lambda: probes(1, 0, 2, 30),
                "^distance 30 needs .* probes of block 0 of 2. At most 1048576 are possible.",
            ),
        ]:
            with self.assertRaisesRegex(ValueError, message):
                call()
