"""Which pairs are shown. Without a server."""

import unittest

from pg_simhash.report.sample import Pair
from pg_simhash.report.summary import interval, summarize

LIMIT = 0.89


def pair(number, earlier, resemblance):
    return Pair((1, f"(0,{number})"), (1, f"(0,{earlier})"), resemblance)


class Examples(unittest.TestCase):
    def check(self, rows, expected):
        summary = summarize(rows, LIMIT)
        self.assertEqual((summary.rows, summary.examples(summary.duplicates)), (len(rows), []))
        self.assertEqual([pair.resemblance for pair in summary.examples(summary.others)], expected)

    def test_one_template_is_not_all(self):
        """Rows of one template are nearest to the limit, but other rows are shown too."""
        template = [pair(n, n - 1, 0.88 - n / 10**5) for n in range(2, 400)]
        others = [pair(1000 + 2 * n, 1001 + 2 * n, n / 20) for n in range(14)]
        self.check(template + others, [0.87998, 0.65, 0.45, 0.15])

    def test_few_clusters(self):
        """If a cluster has several pairs, they are spread over all of its resemblances."""
        template = [pair(n, n - 1, n / 100) for n in range(2, 89)]
        self.check([*template, None], [0.88, 0.73, 0.44, 0.16])


class Histograms(unittest.TestCase):
    def test_limits(self):
        """The limit is between two bars, whatever rounding does."""
        bars = summarize([pair(n, 0, n / 100) for n in range(1, 101)], LIMIT).resemblances()
        self.assertEqual(sum(bar.rows for bar in bars), 100)
        names = [bar.name for bar in bars if bar.is_duplicate]
        self.assertEqual(names, ["0.89 to 0.94", "0.94 to 0.99", "0.99 to 1.00"])
        self.assertEqual(sum(bar.rows for bar in bars if bar.is_duplicate), 12)

    def test_at_least(self):
        """The number of duplicates that another limit would find in the sample."""
        summary = summarize([None, *(pair(n, 0, n / 100) for n in range(1, 101))], LIMIT)
        self.assertEqual([summary.at_least(limit / 100) for limit in (0, 50, 89, 100)], [100, 51, 12, 1])


class Groups(unittest.TestCase):
    def test_largest_first(self):
        """Chains lead to their first row. What is below the limit connects nothing."""
        chain = [pair(n, n - 1, 0.9) for n in range(1, 2000)]
        copies = [pair(n, 5000, 1) for n in range(5001, 5004)]
        others = [pair(7001, 7000, 1), pair(5000, 0, 0.88)]
        groups = summarize(chain[::-1] + copies + others, LIMIT).groups()
        self.assertEqual(groups, [(1, "(0,0)"), (1, "(0,5000)"), (1, "(0,7000)")])


class Intervals(unittest.TestCase):
    def test_share(self):
        """The values of Wilson's interval that books have."""
        for count, rows, expected in ((0, 10, (0, 0.2775)), (5, 10, (0.2366, 0.7634)), (200, 2000, (0.0876, 0.1139))):
            low, high = interval(count, rows)
            self.assertAlmostEqual(low, expected[0], 3)
            self.assertAlmostEqual(high, expected[1], 3)
