"""The sessions of the page, in the order of the page. __main__.py has followed its other blocks."""

import doctest

import page
from django.test import TestCase


class Page(TestCase):
    def test_sessions(self):
        names = {}
        runner = doctest.DocTestRunner()
        sessions = [block for block in page.blocks() if block.kind == "pycon"]
        for block in sessions:
            test = doctest.DocTestParser().get_doctest(
                block.text, names, page.PAGE.name, str(page.PAGE), block.line - 1
            )
            report = []
            runner.run(test, out=report.append, clear_globs=False)
            names = test.globs
            self.assertEqual("".join(report), "")
        self.assertGreater(runner.summarize(verbose=False).attempted, 15)

    def test_all_blocks_are_run(self):
        """A block of a kind that is not run is an error."""
        kinds = {block.kind for block in page.blocks()}
        self.assertEqual(kinds, {"python", "sh", "pycon"})
        self.assertIn("articles/models.py", {block.file for block in page.blocks()})
