"""Marks and excerpts: without a server, but with the compiled module, which says what features are."""

import os
import random
import unittest

import pg_simhash
from pg_simhash.report.difference import MAX_EXCERPT_CHARACTERS, Reading, excerpt, tokens, visible

SEED = int(os.environ.get("SEED") or random.randrange(2**32))

ALPHABETS = [
    "abcdefg ",
    "ABCabc 0129.,-",
    "äöüßÄÖÜẞﬁǆİı ",
    "a\u0301\u0323e\u0308 ½…㎏ ",
    "的一是不了人我在有他 。3年",
    "ไทยคำภาษาก็ ",
    "かなカナｶﾅ漢字ー ",
    "한국어 글 ",
    "𝔘𝔫𝔦😀👩\u200d👩 ",
    "العربية عبر ",
    "\u0627\u0640\u064e\u0651\u0670\u05e9\u05c1\u05b8\u05dc\u05d5 ",
    "αάΆᾳΐὦςΣ\u0301\u0345 ",
    "a\u00ad\u200b\ufe0f\u115fi\u0307I ",
]


def difference(a, b, **options):
    return sorted(
        {f.feature for f in pg_simhash.features(a, **options)} - {f.feature for f in pg_simhash.features(b, **options)}
    )


def marked(a, b, reading=Reading(), **options):  # noqa: B008
    pieces, elsewhere = excerpt(a, len(a), difference(a, b, **options), reading)
    return [piece.text for piece in pieces if piece.is_marked], elsewhere


class Tokens(unittest.TestCase):
    def test_as_the_fingerprint(self):
        """The tokens are the features of one token."""
        rng = random.Random(SEED)
        for _ in range(3000):
            text = "".join(rng.choices(rng.choice(ALPHABETS) + rng.choice(ALPHABETS), k=rng.randrange(60)))
            for keeps_case in False, True:
                found = {token.text for token in tokens(text, Reading(keeps_case))}
                options = {"ngram": 1, "case_fold": not keeps_case}
                with self.subTest(seed=SEED, text=text, keeps_case=keeps_case):
                    self.assertEqual(found, {f.feature for f in pg_simhash.features(text, **options)})

    def test_positions(self):
        text = "The CAT; ﬁne e\u0301tude 東京"
        found = [text[token.start : token.end] for token in tokens(text, Reading())]
        self.assertEqual(found, ["The", "CAT", "ﬁne", "e\u0301tude", "東", "京"])


class Excerpt(unittest.TestCase):
    def test_words(self):
        self.assertEqual(marked("Pay 5,000 today, PLEASE", "please pay 4,000 today"), (["5"], []))

    def test_case(self):
        self.assertEqual(marked("Size or size", "size", Reading(keeps_case=True), case_fold=False)[0], ["Size", "or"])

    def test_whole_words(self):
        self.assertEqual(marked("15 1 5", "15 5"), (["1"], []))

    def test_pairs_of_words(self):
        """All words of a pair are marked, if the pair is only here."""
        self.assertEqual(marked("one two three four", "two three four five", ngram=2), (["one two"], []))

    def test_characters(self):
        found = marked("abcdefghij", "abcdefghxy", Reading(by_characters=True), tokens="chars")
        self.assertEqual(found, (["fghij"], []))

    def test_chinese(self):
        self.assertEqual(marked("公司在上海设立中心", "公司在北京设立中心"), (["司在上海设立"], []))

    def test_tags(self):
        found = excerpt("<b class='new'>new</b>", 22, ["new"], Reading(reads_tags=False))
        self.assertEqual([piece.text for piece in found[0] if piece.is_marked], ["new"])

    def test_equal(self):
        pieces, elsewhere = excerpt("the same", 8, [], Reading())
        self.assertEqual(([*map(tuple, pieces)], elsewhere), ([("the same", False, False)], []))

    def test_long(self):
        """A long text is cut around its marks. What is in none of the parts is told."""
        text = "word " * 2000 + "here " + "word " * 2000
        pieces, elsewhere = excerpt(text, len(text) + 10**6, ["here", "beyond"], Reading())
        self.assertEqual([piece.is_gap for piece in pieces], [True, False, False, False, True])
        self.assertEqual(pieces[2].text, "here")
        self.assertLess(sum(len(piece.text) for piece in pieces), MAX_EXCERPT_CHARACTERS)
        self.assertEqual(elsewhere, ["beyond"])

    def test_bounded(self):
        """However much differs, and however long a word is."""
        for text in "other " * 4000, "x" * 20_000, "<" * 20_000, "e" + "\u0301" * 20_000, "\n" * 20_000:
            pieces, _ = excerpt(text, len(text), difference(text, "word"), Reading(reads_tags=False))
            shown = sum(len(piece.text) for piece in pieces)
            self.assertLess(shown, 20_001 if "x" in text else MAX_EXCERPT_CHARACTERS * 2)

    def test_control_characters(self):
        self.assertEqual(visible("a\x1b[2J\u202eb\r\n\n\nc\x07"), "a\u241b[2J\ufffdb\nc\u2407")
        invisible = "\u061c\u2028\u2029\u200b\u200e\u2060\u2066\ufeff\U000e0041\x85"
        self.assertEqual(visible(invisible), "\ufffd" * len(invisible))
        # Joiners of letters and of emoji, and marks, belong to the text.
        self.assertEqual(
            visible("\t می\u200cخواهم e\u0301 👩\u200d👩 ❤\ufe0f"), "\t می\u200cخواهم e\u0301 👩\u200d👩 ❤\ufe0f"
        )
