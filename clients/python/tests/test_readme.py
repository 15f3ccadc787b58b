"""The examples of the README and of the docstrings."""

import doctest
import unittest
from pathlib import Path

import pg_simhash


class Examples(unittest.TestCase):
    def test_readme(self):
        failed, tried = doctest.testfile(str(Path(__file__).parents[1] / "README.md"), module_relative=False)
        self.assertGreater(tried, 10)
        self.assertEqual(failed, 0)

    def test_docstrings(self):
        """The module and each of its functions have an example."""
        parser, runner = doctest.DocTestParser(), doctest.DocTestRunner()
        functions = {name: of for name in pg_simhash.__all__ if callable(of := getattr(pg_simhash, name))}
        functions["pg_simhash"] = pg_simhash
        for name in functions.keys() - {"Criterion", "Difference", "Feature", "Options"}:
            with self.subTest(name):
                test = parser.get_doctest(functions[name].__doc__, vars(pg_simhash).copy(), name, None, None)
                self.assertGreater(len(test.examples), 0)
                self.assertEqual(runner.run(test).failed, 0)
