"""The estimates of docs/scale.md: the model agrees with what was measured, and the page has what the program computes.

Run it by `python3 tests/documents/estimates_test.py`. `python3 benches/estimates` shows the model beside the measured
figures, and `python3 benches/estimates --tables` prints the tables and phrases for the page.
"""

import re
import subprocess
import sys
import unittest
from dataclasses import replace
from pathlib import Path

PROJECT = Path(__file__).parents[2]
sys.path += [str(PROJECT / "benches/estimates"), str(PROJECT / "benches/search")]

import checks
import model
import phrases
import records
import tables

MEASURED = records.read()
ESTIMATES = model.Model(MEASURED)
PAGE = PROJECT / "docs/scale.md"


def section_of(page, section):
    """The text of a section of the second level."""
    (text,) = re.findall(rf"^## {section}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    return text


def tables_of(page, section):
    """The tables of a section, each as its lines."""
    return re.findall(r"(?:^\|.*\n)+", section_of(page, section), re.MULTILINE)


def absent(page, estimates):
    """The phrases of the program that the page has not in its sections, wherever their lines break."""
    return [
        phrase for section, of_section in phrases.phrases(estimates).items() for phrase in of_section
        if phrase not in " ".join(section_of(page, section).split())
    ]


def missed(estimates):
    return [check.what for check in checks.checks(estimates) if not check.holds]


class TestModel(unittest.TestCase):
    def test_agrees_with_what_was_measured(self):
        self.assertEqual(missed(ESTIMATES), [])

    def test_everything_is_compared(self):
        compared = " ".join(check.what for check in checks.checks(ESTIMATES))
        for what in ("search: 10,000,000 rows, uniform", "search: 10,000,000 rows, text", "scale: 100,000,000 rows",
                     "Citus: 2,000,000 rows, 8 shards", "Citus: 2,000,000 rows, 32 shards", "size: 100,000,000 rows",
                     "size: indexes, 100,000,000 rows, 3 blocks", "size: a row", "size: its entry in the key",
                     "all pairs: 10,000,000 rows, text"):
            self.assertIn(what, compared)

    def test_other_measurements_do_not_agree(self):
        slower = tuple(replace(search, ms=3 * search.ms) for search in MEASURED.searches)
        self.assertIn("scale: 100,000,000 rows, uniform, 3 blocks, distance 3",
                      missed(model.Model(replace(MEASURED, searches=slower))))
        faster = {of: seconds / 3 if of[1] == 10_000_000 else seconds for of, seconds in MEASURED.pairs.items()}
        self.assertEqual(missed(model.Model(replace(MEASURED, pairs=faster))),
                         [f"all pairs: 10,000,000 rows, {kind}" for kind in ("uniform", "text")])

    def test_sizes_are_off_by_a_tenth_at_most(self):
        larger = {blocks: 1.11 * size for blocks, size in MEASURED.index_bytes.items()}
        self.assertEqual(missed(model.Model(replace(MEASURED, index_bytes=larger))),
                         [f"size: indexes, 100,000,000 rows, {blocks} blocks" for blocks in (4, 3)])

    def test_chooses_layouts_as_the_extension_does(self):
        """docs/search.md has a table of the cheapest layouts, which psql prints from public functions."""
        page = (PROJECT / "docs/search.md").read_text(encoding="utf-8")
        (table,) = re.findall(r"^ k \| 1 million \|.* 1 billion\n[-+]+\n((?:.*\|.*\n)+)", page, re.MULTILINE)
        printed = {}
        for line in table.splitlines():
            k, *blocks = map(int, line.split("|"))
            printed.update({(k, rows): each for rows, each in zip((1e6, 1e7, 1e8, 1e9), blocks)})
        self.assertEqual(len(printed), 36)
        self.assertEqual({(k, rows): ESTIMATES.best("uniform", rows, k)[0] for k, rows in printed}, printed)


class TestPage(unittest.TestCase):
    def test_has_the_tables_of_the_program(self):
        self.maxDiff = None
        page = PAGE.read_text(encoding="utf-8")
        for section, printed in tables.tables(ESTIMATES).items():
            self.assertEqual("\n".join(tables_of(page, section)), "\n".join(printed),
                             "the page differs from what python3 benches/estimates --tables prints")

    def test_has_the_figures_of_the_program(self):
        self.assertEqual(absent(PAGE.read_text(encoding="utf-8"), ESTIMATES), [])

    def test_figures_follow_the_measurements(self):
        page = PAGE.read_text(encoding="utf-8")
        larger = {
            "index_bytes": {blocks: 2 * size for blocks, size in MEASURED.index_bytes.items()},
            "guards": {of: 2 * rate for of, rate in MEASURED.guards.items()},
            "pairs": {of: seconds * (2 if of[1] == 1_000_000 else 1) for of, seconds in MEASURED.pairs.items()},
        }
        words = {"index_bytes": "two, three or four blocks", "guards": "with one client", "pairs": "for one million"}
        for field, values in larger.items():
            with self.subTest(field):
                wrong = absent(page, model.Model(replace(MEASURED, **{field: values})))
                self.assertTrue(any(words[field] in phrase for phrase in wrong), wrong)

    def test_record_has_the_output_of_the_program(self):
        """Otherwise: benches/run estimates"""
        self.maxDiff = None
        record = records.newest("estimates").read_text(encoding="utf-8")
        printed = subprocess.run([sys.executable, PROJECT / "benches/estimates"], capture_output=True, text=True)
        self.assertIn(f"The record `estimates` of {records.newest('estimates').name[:10]}", PAGE.read_text("utf-8"))
        self.assertEqual(record.partition("=== estimates\n\n")[2].rstrip(), printed.stdout.rstrip())

    def test_tables_follow_the_measurements(self):
        larger = {blocks: 2 * size for blocks, size in MEASURED.index_bytes.items()}
        self.assertNotEqual(tables.tables(model.Model(replace(MEASURED, index_bytes=larger))), tables.tables(ESTIMATES))

    def test_tables_of_a_section(self):
        page = "## A\n| x |\n\n## B\ntext\n| a |\n| - |\n\n### C\n| b |\n## D\n| y |\n"
        self.assertEqual(tables_of(page, "B"), ["| a |\n| - |\n", "| b |\n"])


class TestDigits(unittest.TestCase):
    def test_two_digits(self):
        for value, printed in ((0.0123, "0.012"), (0.0996, "0.10"), (0.995, "0.99"), (0.9951, "1.0"), (9.96, "10"),
                               (10.4, "10"), (99.6, "100"), (1234, "1,200")):
            self.assertEqual(tables.digits(value), printed)

    def test_rows(self):
        for rows, printed in ((1e6, "1 million"), (41.7e6, "42 million"), (1.5e9, "1.5 billion"), (8e9, "8 billion")):
            self.assertEqual(tables.in_words(rows), printed)


if __name__ == "__main__":
    unittest.main()
