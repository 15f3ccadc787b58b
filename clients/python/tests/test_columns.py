"""Arrays of NumPy, and Series of pandas, which keep all 64 bits and their index; and the package without NumPy."""

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

# A finder of modules that finds no NumPy, as if it were not installed.
WITHOUT_NUMPY = """
import sys

class NoNumPy:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy":
            raise ModuleNotFoundError("No module named 'numpy'", name="numpy")

sys.meta_path.insert(0, NoNumPy())
import pg_simhash

assert pg_simhash.simhash(["a", None]) == [pg_simhash.simhash("a"), None]
assert pg_simhash.hamming(1, 2) == 2
for function in (pg_simhash.pairs, pg_simhash.clusters):
    try:
        function([1])
    except ImportError as error:
        assert str(error) == "this function needs NumPy: pip install 'pg_simhash[numpy]'", error
    else:
        raise AssertionError("no error")
assert "numpy" not in sys.modules
"""

# pandas does not need pyarrow.
WITHOUT_ARROW = """
import sys
sys.modules["pyarrow"] = None
import pandas as pd
import pg_simhash
found = pg_simhash.simhash(pd.Series(["one", None]))
assert str(found.dtype) == "Int64" and found[0] == pg_simhash.simhash("one") and found.isna()[1]
"""


# A module that is not to be imported, and one that another thread is importing.
WITHOUT_CLASSES = """
import sys, types
import pg_simhash
sys.modules["numpy"] = None
sys.modules["pandas"] = types.ModuleType("pandas")
assert pg_simhash.simhash(["one"]) == [pg_simhash.simhash("one")]
"""


class NumPy(unittest.TestCase):
    def test_shape_of_object_arrays(self):
        texts = [["one text", None, "another"], ["", "one text", "naïve café"]]
        found = simhash(np.array(texts, dtype=object))
        self.assertIs(type(found), np.ma.MaskedArray)
        self.assertEqual(found.dtype, np.int64)
        self.assertEqual(found.tolist(), [simhash(row) for row in texts])

    def test_arrays_of_strings(self):
        for dtype in ["U10", np.dtypes.StringDType()]:
            with self.subTest(dtype):
                texts = np.array(["one text", "", "naïve café"], dtype=dtype)
                self.assertEqual(simhash(texts).tolist(), [simhash("one text"), None, simhash("naïve café")])
                self.assertEqual(simhash(texts[::-2]).tolist(), [simhash("naïve café"), simhash("one text")])
        self.assertEqual(simhash(np.array([], dtype=object)).tolist(), [])

    def test_masked_texts(self):
        texts = np.ma.MaskedArray(["one text", "another"], [True, False])
        self.assertEqual(simhash(texts).tolist(), [None, simhash("another")])

    def test_results_are_writable(self):
        found = simhash(np.array(["one text"]))
        found[0] = 7
        self.assertEqual(found.tolist(), [7])


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


class MissingPackages(unittest.TestCase):
    def test_works_without_numpy_and_pyarrow(self):
        for program in WITHOUT_NUMPY, WITHOUT_ARROW, WITHOUT_CLASSES:
            subprocess.run([sys.executable, "-c", program], check=True, timeout=600)
