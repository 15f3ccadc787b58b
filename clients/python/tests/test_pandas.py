"""Series of pandas: they keep all 64 bits, and their index."""

import subprocess
import sys
import unittest

import numpy as np
import pandas as pd
import pyarrow as pa

from pg_simhash import duplicate_of, pairs, simhash, text_clusters

TEXTS = ["one two three four", None, "...", "five six", "One two three four!"]
FINGERPRINTS = simhash(TEXTS)
DTYPES = [object, "string", pd.StringDtype("python"), pd.ArrowDtype(pa.string())]

# Without pyarrow, which pandas does not need.
WITHOUT_ARROW = """
import sys
sys.modules["pyarrow"] = None
import pandas as pd
import pg_simhash
found = pg_simhash.simhash(pd.Series(["one", None]))
assert str(found.dtype) == "Int64" and found[0] == pg_simhash.simhash("one") and found.isna()[1]
"""


class Pandas(unittest.TestCase):
    def test_series(self):
        for dtype in DTYPES:
            with self.subTest(dtype=dtype):
                frame = pd.DataFrame({"body": TEXTS}, index=[5, 3, 4, 1, 0], dtype=dtype)
                frame["simhash"] = simhash(frame["body"])
                self.assertEqual(frame["simhash"].dtype, "Int64")
                self.assertEqual([None if n is pd.NA else n for n in frame["simhash"].tolist()], FINGERPRINTS)
                # What is selected keeps its rows, and their order.
                some = simhash(frame["body"][frame["body"].notna()].sort_index())
                self.assertEqual((some.name, some.index.tolist()), ("body", [0, 1, 4, 5]))
                self.assertEqual(some[5], FINGERPRINTS[0])
                self.assertTrue(some[some.notna()].equals(frame["simhash"].dropna().sort_index()))

    def test_missing_values(self):
        found = simhash(pd.Series([np.nan, None, pd.NA, "one"], dtype=object))
        self.assertEqual(found.isna().tolist(), [True, True, True, False])
        self.assertEqual(len(simhash(pd.Series([], dtype=object))), 0)

    def test_pairs_and_clusters(self):
        texts = pd.Series(TEXTS, index=list("abcde"))
        fingerprints = simhash(texts)
        self.assertEqual([column.tolist() for column in pairs(fingerprints)], [[0], [4], [0]])
        self.assertEqual(text_clusters(texts).tolist(), [0, -1, -1, 3, 0])
        self.assertEqual(texts[duplicate_of(texts) == -1].index.tolist(), list("abcd"))

    def test_without_arrow(self):
        subprocess.run([sys.executable, "-c", WITHOUT_ARROW], check=True, timeout=600)
