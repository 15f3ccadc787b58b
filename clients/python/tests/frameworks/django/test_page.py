"""The sessions of the page, in the order of the page. __main__.py has followed its other blocks."""

import doctest

import page
from django.test import TestCase


class Page(TestCase):
    def test_sessions(self):
        names = {}
        runner = doctest.DocTestRunner()
        for kind, session in page.BLOCKS:
            if kind == "pycon":
                test = doctest.DocTestParser().get_doctest(session, names, page.PAGE.name, str(page.PAGE), 0)
                report = []
                runner.run(test, out=report.append, clear_globs=False)
                names = test.globs
                self.assertEqual("".join(report), "")
        self.assertGreater(runner.summarize(verbose=False).attempted, 12)
