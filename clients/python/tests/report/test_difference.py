"""Marks and excerpts, without a server."""

import random
import time
import unittest

from pg_simhash.report.difference import MAX_PLAIN_CHARACTERS, differences, excerpt, union, visible


def compare(a, b, options=None):
    return [excerpt(text, marks) for text, marks in zip((a, b), differences(a, b, options))]


def marked(a, b, options=None):
    return tuple([piece.text for piece in pieces if piece.is_marked] for pieces in compare(a, b, options))


class Compare(unittest.TestCase):
    def test_words(self):
        for a, b, expected in (
            ("Pay 5,000 today, please", "PAY 4,000 today - please", (["5,000"], ["4,000"])),
            ("the well-known (old) name", "the well known “new” name", (["old"], ["new"])),
            ("15 1 5", "15 5", (["1"], [])),
            ("one two three", "one new, newer two three", ([], ["new, newer"])),
            ("公司在上海设立中心", "公司在北京设立中心", (["上海"], ["北京"])),
            ("ไทยคำภาษา", "ไทยคำภา", (["ษา"], [])),
            ("the same", "The same!", ([], [])),
            # What stands elsewhere in the other text is no difference, unless it is less than a run.
            ("one two three four five six", "four five six one two three", ([], [])),
            ("one two three", "three one two", (["three"], ["three"])),
            ("a 5,000 b c d", "a 4,000 b c d 5", (["5,000"], ["4,000", "5"])),
            ("ᚨᚨ ᚱᚱ ᚲᚲ one", "two", (["one"], ["two"])),
            ("", "?", ([], [])),
        ):
            with self.subTest(a):
                self.assertEqual(marked(a, b), expected)

    def test_options(self):
        """By the options of the criterion; what concerns no runs is left out."""
        for options, a, b, expected in (
            ({"case_fold": False}, "one two three", "One two three", (["one"], ["One"])),
            ({"ignore": ["numbers"]}, "call me at 5 today then", "call me at 7 today then", ([], [])),
            ({"ignore": ["accents"]}, "das schöne Café hier", "das schone Cafe hier", ([], [])),
            ({"tokens": "chars"}, "우리는 산길로 돌아서 왔다", "우리는산길 로 돌아서왔다", ([], [])),
            ({"markup": "html", "ngram": 3, "same": ["numbers"]}, "a <b> c d", "a <i> c d", (["b"], ["i"])),
        ):
            with self.subTest(a):
                self.assertEqual(marked(a, b, options), expected)

    def test_long(self):
        """A long text is cut around its marks."""
        words = " ".join(f"word{number}" for number in range(4000))
        changed = words.replace("word2000 ", "here ")
        self.assertEqual(marked(words, changed), (["word2000"], ["here"]))
        (before, mark, after), (plain,) = compare(changed, words)[0], compare(words, words)[0]
        self.assertEqual(mark.text, "here")
        for piece in before, after, plain:
            self.assertIn(" … ", piece.text)
            self.assertLess(len(piece.text), MAX_PLAIN_CHARACTERS + 10)

    def test_bounded(self):
        """Excerpts are short, however much differs, and however long a word is."""
        numbers = "".join(f"{number} x " for number in range(4000))
        for text in numbers, "x" * 20_000, "<" * 20_000, "e" + "\u0301" * 20_000, "字" * 20_000:
            pieces, _ = compare(text, numbers[::-1])
            self.assertLess(sum(len(piece.text) for piece in pieces), 2000)

    def test_time(self):
        """Two texts that anyone may write, and that differ often, do not make the report compute for minutes."""
        letters = [chr(0x4E00 + number) for number in random.Random(1).choices(range(150), k=20_000)]
        a, b = ("".join(letter if n % 41 else last for n, letter in enumerate(letters)) for last in "ぁあ")
        began = time.monotonic()
        self.assertEqual([len(marks) for marks in marked(a, b, {"tokens": "chars"})], [6, 6])
        self.assertLess(time.monotonic() - began, 20)

    def test_marks_far_from_the_start(self):
        words = " ".join(f"word{number}" for number in range(9000))
        self.assertEqual(marked(f"{words} a {words}", f"{words} b {words}"), (["a"], ["b"]))
        self.assertEqual(marked(words, f"{words} end"), ([], ["end"]))
        self.assertEqual(marked(words, words[:-4]), (["word8999"], ["word"]))

    def test_union(self):
        """Marks of one text, in its order. Those that overlap are one."""
        marks = [[slice(0, 3), slice(8, 9)], [slice(2, 5)], [slice(3, 4), slice(9, 12)]]
        self.assertEqual(union(marks), [slice(0, 5), slice(8, 9), slice(9, 12)])

    def test_control_characters(self):
        self.assertEqual(visible("a\x1b[2J\u202eb\r\nc\x07"), "a\ufffd[2J\ufffdb\ufffd\nc\ufffd")
        invisible = "\u061c\u2028\u2029\u200b\u200e\u2060\u2066\ufeff\U000e0041\x85"
        self.assertEqual(visible(invisible), "\ufffd" * len(invisible))
        # Joiners of letters and of emoji, and marks, belong to the text.
        shown = "\t می\u200cخواهم e\u0301 👩\u200d👩 ❤\ufe0f"
        self.assertEqual(visible(shown), shown)
