"""NumPy arrays of texts, and the package without NumPy."""

import subprocess
import sys
import unittest

import numpy as np

from pg_simhash import simhash

TEXTS = [["one text", None, "another"], ["", "one text", "naïve café"]]
FINGERPRINTS = [simhash(row) for row in TEXTS]

# A finder that knows no NumPy.
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


class NumPy(unittest.TestCase):
    def test_shape_of_object_arrays(self):
        found = simhash(np.array(TEXTS, dtype=object))
        self.assertIs(type(found), np.ma.MaskedArray)
        self.assertEqual(found.dtype, np.int64)
        self.assertEqual(found.tolist(), FINGERPRINTS)

    def test_arrays_of_strings(self):
        for kind in ["U10", np.dtypes.StringDType()]:
            with self.subTest(kind):
                texts = np.array(["one text", "", "naïve café"], dtype=kind)
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

    def test_without_numpy(self):
        subprocess.run([sys.executable, "-c", WITHOUT_NUMPY], check=True, timeout=600)
