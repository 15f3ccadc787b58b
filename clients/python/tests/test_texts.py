"""One text, and iterables of texts."""

import unittest

import pyarrow as pa

from pg_simhash import (
    Difference,
    Feature,
    containment,
    contains,
    coverage,
    difference,
    features,
    near,
    resemblance,
    simhash,
    simhash_of_features,
    simhash_wide,
)

HELLO = -7685981735718036227


class Texts(unittest.TestCase):
    def test_one_text(self):
        self.assertEqual(simhash("hello"), HELLO)
        self.assertIs(type(simhash("hello")), int)

    def test_without_text_or_feature(self):
        for text in [None, "", " ... \n", "\0"]:
            with self.subTest(text):
                self.assertIsNone(simhash(text))
                self.assertEqual(simhash([text, "hello"]), [None, HELLO])
        self.assertIsNone(simhash_wide(None))
        self.assertIsNone(simhash_wide("!"))
        self.assertIsNone(resemblance("a", "!"))
        self.assertIsNone(near("!", "a"))
        self.assertIsNone(containment("!", "a"))
        self.assertEqual(containment("a", "!"), 0.0)
        self.assertEqual(difference("!", ""), [])
        self.assertEqual(features("!"), [])

    def test_any_iterable(self):
        texts = ["hello", None, "world"]
        expected = [HELLO, None, simhash("world")]
        arrow = [pa.array(texts), pa.array(texts, pa.string_view()), pa.chunked_array([texts[:1], texts[1:]])]
        for iterable in [texts, tuple(texts), iter(texts), dict.fromkeys(texts), (text for text in texts), *arrow]:
            with self.subTest(type(iterable)):
                self.assertEqual(simhash(iterable), expected)
        self.assertEqual(simhash([]), [])

    def test_several_batches(self):
        # More texts, and more bytes, than one batch has.
        texts = [f"text number {number}" for number in range(40_000)]
        self.assertEqual(simhash(texts), [simhash(text) for text in texts])
        long = ["the same words again " * 100_000, None, "hello"] * 5
        self.assertEqual(simhash(long), [simhash(text) for text in long])

    def test_subclass_of_str(self):
        class Text(str):
            def __str__(self):
                return "something else"

        self.assertEqual(simhash(Text("hello")), HELLO)

    def test_other_types_are_errors(self):
        for wrong, message in [
            (1, "text must be str, None, or an iterable of them, not int"),
            (b"bytes", "text must be str, None, or an iterable of them, not bytes"),
            (bytearray(), "text must be str, None, or an iterable of them, not bytearray"),
            (["a", 2], r"texts\[1\] must be str or None, not int"),
            ([["a"]], r"texts\[0\] must be str or None, not list"),
            (pa.table({"a": ["a"]}), "text must be str, None, or an iterable of them, not Table"),
        ]:
            with self.subTest(wrong), self.assertRaisesRegex(TypeError, f"^{message}$"):
                simhash(wrong)
        with self.assertRaisesRegex(TypeError, "^text must be str, not list$"):
            features(["a"])
        with self.assertRaisesRegex(TypeError, "^b must be str, not NoneType$"):
            resemblance("a", None)
        with self.assertRaisesRegex(TypeError, "^a must be str, not int$"):
            difference(1, "b")

    def test_error_of_iterator(self):
        def broken():
            yield "a"
            raise ConnectionError("broken")

        with self.assertRaisesRegex(ConnectionError, "^broken$"):
            simhash(broken())

    def test_lone_surrogates(self):
        for wrong in ["\ud800", ["a", "\udfff"]]:
            with self.subTest(ascii(wrong)), self.assertRaises(UnicodeEncodeError):
                simhash(wrong)

    def test_limits_are_value_errors(self):
        with self.assertRaisesRegex(ValueError, "^text has a combining sequence of more than 1048576 bytes$"):
            simhash("a" + "\u0301" * (1 << 20))


class Wide(unittest.TestCase):
    def test_words_have_consecutive_seeds(self):
        expected = [simhash("a wide text", seed=seed) for seed in (2**64 - 1, 0, 1)]
        self.assertEqual(simhash_wide("a wide text", 3, seed=2**64 - 1), expected)
        self.assertEqual(len(simhash_wide("a wide text")), 2)

    def test_numbers_of_words(self):
        self.assertEqual(len(simhash_wide("a", 16)), 16)
        for words in [0, 17, -1]:
            with self.assertRaisesRegex(ValueError, f"^number of words {words} is out of range. A wide fingerprint"):
                simhash_wide("a", words)


class Features(unittest.TestCase):
    def test_features_are_named_tuples(self):
        found = features("b a b", weight="tf")
        self.assertEqual([(feature.feature, feature.weight) for feature in found], [("b", 2.0), ("a", 1.0)])
        self.assertIs(type(found[0]), Feature)
        self.assertEqual([simhash("b"), simhash("a")], [feature.hash for feature in found])

    def test_fingerprint_of_features(self):
        text = "Some words, and some words more than once, and once more"
        for options in [{}, {"weight": "tf"}, {"tokens": "chars", "top": 9}, {"weights": {"words": 0.25, "and": 0}}]:
            with self.subTest(options):
                found = features(text, **options)
                names, weights = [f.feature for f in found], [f.weight for f in found]
                self.assertEqual(simhash_of_features(names, weights), simhash(text, **options))

    def test_features_of_the_caller(self):
        self.assertEqual(simhash_of_features(["hello"]), HELLO)
        self.assertEqual(simhash_of_features(iter(["hello", "x"]), iter([1, 0.0])), HELLO)
        self.assertIsNone(simhash_of_features([]))
        self.assertIsNone(simhash_of_features(["a"], [0]))

    def test_errors(self):
        for arguments, error, message in [
            ((["a", "b"], [1]), ValueError, "^there are more features than weights. Give both the same length.$"),
            ((["a"], [1, 2]), ValueError, "^there are more weights than features. Give both the same length.$"),
            (
                (["a"], [-1.5]),
                ValueError,
                "^feature weight -1.5 is out of range. A weight must be from 0 to 1000000000.$",
            ),
            ((["a"], [float("nan")]), ValueError, "^feature weight nan is out of range."),
            ((["a"], [1.1e9]), ValueError, "^feature weight 1100000000.0 is out of range."),
            ((["a"], ["1"]), TypeError, r"^weights\[0\] must be a number, not str$"),
            (([1],), TypeError, r"^features\[0\] must be str, not int$"),
            (("abc",), TypeError, "^features must be an iterable of str, not str$"),
        ]:
            with self.subTest(arguments), self.assertRaisesRegex(error, message):
                simhash_of_features(*arguments)


class Resemblance(unittest.TestCase):
    def test_share_of_common_features(self):
        """Features are words here, and pairs of neighbouring words count beside them."""
        # Common are b, c and the pair b c, of the words a to d and the pairs a b, b c and c d.
        self.assertEqual(resemblance("a b c", "b c d"), 3 / 7)
        # The smaller weights are 1 of a, b and a b; the larger ones 2 of a and b, and 1 of a a, a b and b b.
        self.assertEqual(resemblance("a a b", "a b b", weight="tf"), 3 / 7)
        self.assertEqual(resemblance("Same", "same"), 1.0)
        self.assertEqual(resemblance("Same", "same", case_fold=False), 0.0)
        # As b c above: the comma parts 4 from 000, and common are 000, tonnes and their pair.
        self.assertEqual(resemblance("4,000 tonnes", "5,000 tonnes"), 3 / 7)
        self.assertEqual(resemblance("4,000 tonnes", "5,000 tonnes", same=["numbers"]), 0.0)
        self.assertEqual(resemblance("4,000 tonnes", "4,000: tonnes!", same=["numbers"]), 1.0)

    def test_contains(self):
        text = "The quick brown fox jumps over the lazy dog"
        self.assertTrue(contains(text, "BROWN fox jumps over"))
        self.assertFalse(contains(text, "over jumps fox brown"))
        self.assertFalse(contains(text, "brown fox jumps high"))
        self.assertTrue(contains(text, "brown fox jumps high", 0.75))
        self.assertFalse(contains(text, "!"))
        self.assertIsNone(coverage("!", text))
        self.assertEqual(coverage("brown fox jumps high", text), 0.75)
        with self.assertRaisesRegex(TypeError, "clue"):
            contains(text, None)

    def test_containment_of_first_text(self):
        self.assertEqual(containment("to be", "To be, or not to be"), 1.0)
        # The first text has four words, and the pairs to be, be or, or not, and not to.
        self.assertEqual(containment("To be, or not to be", "to be"), 3 / 8)
        # The first text weighs 2 by a, and 1 by each of b, a a and a b. The second has 1 of a, b and a b.
        self.assertEqual(containment("a a b", "a b b", weight="tf"), 3 / 5)
        # Of 4, 000, tonnes and their two pairs, the second text has two words: it has them in another pair.
        self.assertEqual(containment("4,000 tonnes", "4 tonnes", same=["numbers"]), 2 / 5)

    def test_difference_of_one_text(self):
        found = difference("Forty thousand tonnes in May", "forty thousand barrels in June, in May")
        self.assertEqual(found, [("a", "tonnes", 1.0), ("b", "barrels", 1.0), ("b", "june", 1.0)])
        self.assertIs(type(found[0]), Difference)
        self.assertEqual(difference("a a a b", "a b b", weight="tf"), [("a", "a", 2.0), ("b", "b", 1.0)])
        self.assertEqual(difference("the cat", "the dog", weights={"cat": 0.25, "dog": 0}), [("a", "cat", 0.25)])
        self.assertEqual(difference("same", "SAME!"), [])
