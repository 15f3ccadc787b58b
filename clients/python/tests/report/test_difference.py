"""Marks and excerpts: without a server, but with the compiled module, which says what features and tokens are."""

import unittest

import pg_simhash
from pg_simhash.report.difference import MAX_EXCERPT_CHARACTERS, Reading, excerpt, visible


def difference(a, b, **options):
    return sorted(
        {f.feature for f in pg_simhash.features(a, **options)} - {f.feature for f in pg_simhash.features(b, **options)}
    )


def reading(**arguments):
    """As for a text with the default options, or with others of these."""
    options = {"ngram": 1, "tokens": "chars" if arguments.get("by_characters") else "words"}

    def tokens_of(words):
        return {word: [f.feature for f in pg_simhash.features(word, **options)] for word in words}

    return Reading(tokens_of, **arguments)


def marked(a, b, how=None, **options):
    pieces, elsewhere = excerpt(a, len(a), difference(a, b, **options), how or reading())
    return [piece.text for piece in pieces if piece.is_marked], elsewhere


class Excerpt(unittest.TestCase):
    def test_words(self):
        self.assertEqual(marked("Pay 5,000 today, PLEASE", "please pay 4,000 today"), (["5"], []))

    def test_whole_words(self):
        self.assertEqual(marked("15 1 5", "15 5"), (["1"], []))

    def test_pairs_of_words(self):
        """All words of a pair are marked, if the pair is only here."""
        self.assertEqual(marked("one two three four", "two three four five", ngram=2), (["one two"], []))

    def test_characters(self):
        found = marked("abcdefghij", "abcdefghxy", reading(by_characters=True), tokens="chars")
        self.assertEqual(found, (["fghij"], []))

    def test_chinese(self):
        self.assertEqual(marked("公司在上海设立中心", "公司在北京设立中心"), (["司在上海设立"], []))
        self.assertEqual(marked("ไทยคำภาษา", "ไทยคำภา", ngram=1), (["ษ"], []))
        self.assertEqual(marked("Étude “new” e\u0301te\u0301", "étude", ngram=1), (["“new”", "e\u0301te\u0301"], []))

    def test_tags(self):
        found = excerpt("<b class='new'>new</b>", 22, ["new"], reading(reads_tags=False))
        self.assertEqual([piece.text for piece in found[0] if piece.is_marked], ["new"])

    def test_equal(self):
        pieces, elsewhere = excerpt("the same", 8, [], reading())
        self.assertEqual(([*map(tuple, pieces)], elsewhere), ([("the same", False, False)], []))

    def test_long(self):
        """A long text is cut around its marks. What is in none of the parts is told."""
        text = "word " * 2000 + "here " + "word " * 2000
        pieces, elsewhere = excerpt(text, len(text) + 10**6, ["here", "beyond"], reading())
        self.assertEqual([piece.is_gap for piece in pieces], [True, False, False, False, True])
        self.assertEqual(pieces[2].text, "here")
        self.assertLess(sum(len(piece.text) for piece in pieces), MAX_EXCERPT_CHARACTERS)
        self.assertEqual(elsewhere, ["beyond"])

    def test_bounded(self):
        """However much differs, and however long a word is."""
        for text in "other " * 4000, "x" * 20_000, "<" * 20_000, "e" + "\u0301" * 20_000, "\n" * 20_000:
            pieces, _ = excerpt(text, len(text), difference(text, "word"), reading(reads_tags=False))
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
