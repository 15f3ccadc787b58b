"""The examples of the README."""

import doctest
import unittest
from pathlib import Path


class Readme(unittest.TestCase):
    def test_examples(self):
        readme = Path(__file__).parents[1] / "README.md"
        failed, tried = doctest.testfile(str(readme), module_relative=False)
        self.assertGreater(tried, 10)
        self.assertEqual(failed, 0)
