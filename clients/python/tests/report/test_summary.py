"""Which pairs are shown. Without a server."""

import unittest

from pg_simhash.report.sample import Pair
from pg_simhash.report.summary import Kind, summarize

CRITERION = {"bands": 6, "resemblance": 0.89}


def pair(number, earlier, resemblance):
    return Pair((1, f"(0,{number})"), (1, f"(0,{earlier})"), resemblance)


class Examples(unittest.TestCase):
    def test_one_template_is_not_all(self):
        """Rows of one template are nearest to the limit, but other rows are shown too."""
        template = [pair(n, n - 1, 0.88 - n / 10**5) for n in range(2, 400)]
        others = [pair(1000 + 2 * n, 1001 + 2 * n, n / 20) for n in range(14)]
        shown = summarize(template + others, CRITERION).examples(Kind.OTHER)
        self.assertEqual([shown.resemblance for shown in shown], [0.87998, 0.65, 0.45, 0.15])

    def test_few_families(self):
        """The other pairs of a family are from all of it."""
        template = [pair(n, n - 1, n / 100) for n in range(2, 89)]
        summary = summarize([*template, None], CRITERION)
        shown = summary.examples(Kind.OTHER)
        self.assertEqual([shown.resemblance for shown in shown], [0.88, 0.73, 0.44, 0.16])
        self.assertEqual((summary.rows, summary.examples(Kind.DUPLICATE)), (88, []))


class Histograms(unittest.TestCase):
    def test_limits(self):
        """The limit is between two bars, whatever rounding does."""
        bars = summarize([pair(n, 0, n / 100) for n in range(1, 101)], CRITERION).resemblances()
        self.assertEqual(sum(bar.rows for bar in bars), 100)
        self.assertEqual([bar.name for bar in bars if bar.is_beyond], ["0.89 to 0.94"])
        beyond = [bar.is_beyond for bar in bars].index(True)
        self.assertEqual([bar.duplicates for bar in bars], [0] * beyond + [bar.rows for bar in bars[beyond:]])
