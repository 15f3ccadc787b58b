"""Which pairs are shown. Without a server."""

import unittest

from pg_simhash.report.criterion import Criterion
from pg_simhash.report.sample import Near, Row
from pg_simhash.report.summary import Kind, summarize

CRITERION = Criterion({"max_distance": 10, "radii": [], "resemblance": 0.89})


def row(number, earlier, resemblance, distance=2):
    return Row((1, f"(0,{number})"), [Near((1, f"(0,{earlier})"), distance, resemblance, True, True)])


class Examples(unittest.TestCase):
    def test_one_template_is_not_all(self):
        """Rows of one template are nearest to the limit, but other rows are shown too."""
        template = [row(n, n - 1, 0.88 - n / 10**5) for n in range(2, 400)]
        others = [row(1000 + 2 * n, 1001 + 2 * n, n / 20) for n in range(14)]
        summary = summarize(template + others, CRITERION)
        shown = summary.examples(Kind.OTHER_TEXT, 4)
        resemblances = [example.pair.resemblance for example in shown]
        self.assertEqual(sum(resemblance > 0.8 for resemblance in resemblances), 1)
        self.assertEqual([example.is_typical for example in shown], [False, False, True, True])
        # The typical ones are not the next ones to the limit.
        self.assertEqual(resemblances[1:], [0.65, 0.45, 0.15])

    def test_few_families(self):
        """A second pair of a family is from the middle of it."""
        template = [row(n, n - 1, n / 100) for n in range(2, 89)]
        summary = summarize(template, CRITERION)
        shown = summary.examples(Kind.OTHER_TEXT, 4)
        self.assertEqual([(e.pair.resemblance, e.is_typical) for e in shown], [(0.88, False), (0.45, True)])
        self.assertEqual(summary.examples(Kind.DUPLICATE, 4), [])
