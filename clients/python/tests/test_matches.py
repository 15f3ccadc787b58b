"""Matches are those of plain Python, greedy string tiling as it is defined, in random texts of all options."""

import random
import sys
import unittest

import golden

import pg_simhash

sys.path.append(str(golden.FOLDER))
import matches  # noqa: E402

PIECES = (
    "a |b |C |d\n|e, |f. |x|天|地|人|。|กา|é|e\u0301|q\u0323\u0301 |ﬁ |½ |ß|\u00ad|Ａ |：//|각|\u1100\u1161\u11a8|"
    "\u0640|😀|𠀀|12 |a4 |http://a.b/c |www.a |<b>|</b>|<p>|<br>|&amp;|&eacute;|&#x5929;|&#97;|<!-- a b c -->|"
    "<script>a b c</script>|-\n|\u2010 \n|\u00ad\n|deadbeef99 |\u0661\u0662 "
).split("|")
OPTIONS = [
    *[{}, {"tokens": "chars"}, {"case_fold": False}, {"markup": "html"}, {"markup": "main"}],
    *[{"ignore": ["numbers"]}, {"ignore": ["urls", "accents"]}, {"ignore": ["ids", "hyphenation"]}],
]
PAGES = ["<nav>x y z</nav><main>a b c d {}</main> e f", "<article>a b c d {}</article><p>e</p><article>a b</article>"]


class Matches(unittest.TestCase):
    def test_golden_vectors(self):
        """The package finds the matches of the vectors, and so does matches.py, which has written the vectors."""
        entries = golden.read_entries("matches.jsonl")
        self.assertGreaterEqual(len(entries), 25)
        for entry in entries:
            with self.subTest(entry["name"]):
                self.assertEqual(matches.computed(entry), entry)
                texts, options = (entry["content"], entry["clue"]), entry.get("options", {})
                self.assertEqual(pg_simhash.coverage(*texts, **options), entry["coverage"])
                self.assertEqual([list(one) for one in pg_simhash.matches(*texts, **options)], entry["matches"])
                if "contains" in entry:
                    self.assertIs(pg_simhash.contains(*texts, **options), entry["contains"])

    def test_random_texts(self):
        rng, found = random.Random(0), 0
        for number in range(10_000):
            few = rng.sample(PIECES, rng.randrange(2, 8)) + ["a ", "b "]
            content, clue = ("".join(rng.choices(few, k=rng.randrange(most))) for most in (40, 20))
            options = {**rng.choice(OPTIONS), **rng.choice(OPTIONS)}
            if options.get("markup") == "main":
                content = rng.choice(PAGES).format(content)
            coverage, expected = matches.matches(content, clue, options)
            with self.subTest(number, content=content, clue=clue, options=options):
                self.assertEqual([list(one) for one in pg_simhash.matches(content, clue, **options)], expected)
                self.assertEqual(pg_simhash.coverage(content, clue, **options), coverage)
            found += len(expected)
        self.assertGreater(found, 5_000)

    def test_contains(self):
        content = " ".join(map(str, range(50)))
        clue = "7 8 9 10 11 12 13 14 15 16 17 18 x y"
        for arguments, expected in ([clue], True), ([clue, 0.9], False), (["?!"], False):
            self.assertIs(pg_simhash.contains(content, *arguments), expected)
