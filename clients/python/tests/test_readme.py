"""The examples of the README, of its page in docs/, and of the docstrings."""

import doctest
import unittest
from pathlib import Path

import pg_simhash


class Examples(unittest.TestCase):
    def test_pages(self):
        project = Path(__file__).parents[3]
        for page in project / "clients/python/README.md", project / "docs/python.md":
            with self.subTest(page):
                failed, tried = doctest.testfile(str(page), module_relative=False)
                self.assertGreater(tried, 8)
                self.assertEqual(failed, 0)

    def test_docstrings(self):
        """Each function has an example."""
        parser, runner = doctest.DocTestParser(), doctest.DocTestRunner()
        functions = {name: of for name in pg_simhash.__all__ if callable(of := getattr(pg_simhash, name))}
        for name in functions.keys() - {"Criterion", "Difference", "Feature", "Options"}:
            with self.subTest(name):
                test = parser.get_doctest(functions[name].__doc__, vars(pg_simhash).copy(), name, None, None)
                self.assertGreater(len(test.examples), 0)
                self.assertEqual(runner.run(test).failed, 0)
