"""Pairs and clusters of fingerprints, and duplicates of texts, are those that a comparison of all rows finds.

clients/js/tests/pairs.test.js is the same test.
"""

import random
import unittest

import numpy as np
import pyarrow as pa

from pg_simhash import clusters, duplicate_of, hamming, near, pairs, resemblance, text_clusters


def near_fingerprints(rng, count):
    """Fingerprints among which there are near ones, and equal ones."""
    found = [rng.getrandbits(64) - 2**63]
    while len(found) < count:
        base = rng.choice(found) if rng.random() < 0.7 else rng.getrandbits(64) - 2**63
        for _ in range(rng.randrange(5)):
            base ^= 1 << rng.randrange(63)
        found.append(base)
    return found


def pairs_by_definition(fingerprints, max_distance):
    """All near pairs, each as (position, later position, distance)."""
    found = set()
    for b, later in enumerate(fingerprints):
        for a, earlier in enumerate(fingerprints[:b]):
            if earlier is not None and later is not None and hamming(earlier, later) <= max_distance:
                found.add((a, b, hamming(earlier, later)))
    return found


def clusters_by_definition(fingerprints, near_pairs):
    """The first row of each row's cluster; -1 for a row without a fingerprint."""
    first = list(range(len(fingerprints)))
    changed = True
    while changed:
        changed = False
        for a, b, _ in near_pairs:
            least = min(first[a], first[b])
            changed |= first[a] != least or first[b] != least
            first[a] = first[b] = least
    return [-1 if fingerprint is None else row for fingerprint, row in zip(fingerprints, first)]


class Pairs(unittest.TestCase):
    def test_hamming(self):
        for a, b, bits in (0, -1, 64), (5, 6, 2), (-(2**63), 2**63 - 1, 64):
            self.assertEqual(hamming(a, b), bits)

    def test_pairs_and_clusters_are_those_of_the_definition(self):
        rng = random.Random(1)
        for count, max_distance in [(0, 3), (1, 3), (2, 64), (300, 0), (300, 3), (300, 6), (200, 20), (40, 64)]:
            with self.subTest((count, max_distance)):
                fingerprints = near_fingerprints(rng, count)[:count]
                expected = pairs_by_definition(fingerprints, max_distance)
                a, b, distance = pairs(np.array(fingerprints, np.int64), max_distance)
                self.assertEqual([a.dtype, b.dtype, distance.dtype], [np.int64, np.int64, np.int32])
                found = list(zip(a.tolist(), b.tolist(), distance.tolist()))
                self.assertEqual(len(set(found)), len(found))
                self.assertEqual(set(found), expected)
                found = clusters(np.array(fingerprints, np.int64), max_distance)
                self.assertEqual(found.dtype, np.int64)
                self.assertEqual(found.tolist(), clusters_by_definition(fingerprints, expected))

    def test_rows_without_a_fingerprint(self):
        fingerprints = [None, 5, None, 4, 5]
        masked = np.ma.MaskedArray([5, 5, 5, 4, 5], [True, False, True, False, False])
        for rows in [fingerprints, iter(fingerprints), pa.array(fingerprints), masked]:
            with self.subTest(type(rows)):
                found = {tuple(map(int, pair)) for pair in zip(*pairs(rows))}
                self.assertEqual(found, {(1, 3, 1), (1, 4, 0), (3, 4, 1)})
        self.assertEqual(clusters(fingerprints).tolist(), [-1, 1, -1, 1, 1])
        self.assertEqual(clusters(masked).tolist(), [-1, 1, -1, 1, 1])

    def test_strides_and_byte_orders(self):
        fingerprints = np.array([1, 99, 2, 99, 3], np.int64)
        expected = [array.tolist() for array in pairs(fingerprints[::2].copy())]
        self.assertEqual([array.tolist() for array in pairs(fingerprints[::2])], expected)
        self.assertEqual([array.tolist() for array in pairs(fingerprints[::2].astype(">i8"))], expected)


class Texts(unittest.TestCase):
    """Clusters and duplicates of texts. test_server.py compares them with those of the server."""

    def test_columns(self):
        texts = ["one two three", None, "One, two, three!", "four", "..."]
        for call, expected in (text_clusters, [0, -1, 0, 3, -1]), (duplicate_of, [-1, -1, 0, -1, -1]):
            arrays = np.array(texts, object), pa.array(texts), pa.chunked_array([texts[:1], texts[1:]])
            for column in texts, iter(texts), *arrays:
                with self.subTest(call=call, column=type(column)):
                    found = call(column)
                    self.assertEqual((found.dtype, found.tolist()), (np.int64, expected))
        self.assertEqual(duplicate_of([]).tolist(), [])

    def test_duplicate_of(self):
        """A text stays unless it is near an earlier one that stays. It duplicates the one most like it."""
        rng = random.Random(2)
        texts = []
        for _ in range(40):
            words = [f"w{rng.randrange(10**6)}" for _ in range(40)]
            for _ in range(8):
                words[rng.randrange(40)] = f"x{rng.randrange(10**6)}"
                texts.append(" ".join(words))
        rng.shuffle(texts)
        staying, expected = [], []
        for row, text in enumerate(texts):
            earlier = [other for other in staying if near(texts[other], text)]
            expected.append(max(earlier, key=lambda other: resemblance(texts[other], text), default=-1))
            if not earlier:
                staying.append(row)
        self.assertEqual(duplicate_of(texts).tolist(), expected)
        self.assertGreater(len(texts) - len(staying), 100)

    def test_criterion(self):
        texts = ["one two three four five six seven eight", "one two three four five six seven nine"]
        self.assertEqual(text_clusters(texts).tolist(), [0, 1])
        self.assertEqual(text_clusters(texts, resemblance=0.6, bands=64).tolist(), [0, 0])
