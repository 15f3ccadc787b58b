"""One text, and iterables of texts."""

import unittest

import pyarrow as pa

from pg_simhash import (
    Difference,
    Feature,
    band,
    bands,
    containment,
    coverage,
    difference,
    features,
    near,
    resemblance,
    simhash,
    simhash_of_features,
    size,
    text_clusters,
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
        self.assertIsNone(resemblance("a", "!"))
        self.assertIsNone(near("!", "a"))
        self.assertIsNone(containment("!", "a"))
        self.assertIsNone(coverage("a", "!"))
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


class Options(unittest.TestCase):
    """Options are keyword arguments. The golden vectors show each one, and test_server.py their errors."""

    def test_every_function_reads_them(self):
        for call in [
            lambda **options: simhash("text", **options),
            lambda **options: simhash(["text"], **options),
            lambda **options: simhash(None, **options),
            lambda **options: band("text", 0, **options),
            lambda **options: bands("text", **options),
            lambda **options: size("text", **options),
            lambda **options: features("text", **options),
            lambda **options: resemblance("a", "b", **options),
            lambda **options: near("a", "b", **options),
            lambda **options: text_clusters(["text"], **options),
        ]:
            with self.assertRaisesRegex(
                ValueError, '^invalid value for (simhash option|key) "ngram"( of a criterion)?: 17.'
            ):
                call(ngram=17)

    def test_values_without_json(self):
        with self.assertRaisesRegex(TypeError, "not JSON serializable"):
            simhash("text", ngram={1})
        with self.assertRaisesRegex(ValueError, "not JSON compliant"):
            simhash("text", weights={"a": float("nan")})


class Bands(unittest.TestCase):
    def test_defaults(self):
        found = bands("one two three")
        self.assertEqual(len(found), 6)
        self.assertEqual(found, bands("One, two, three!", 64)[:6])
        self.assertEqual([band("one two three", number) for number in range(6)], found)
        self.assertEqual(size("one two three"), 5)

    def test_no_feature(self):
        self.assertEqual([bands("..."), band("...", 63), size("...")], [None, None, None])

    def test_errors(self):
        for call, error, message in [
            (lambda: band("a", 64), ValueError, "^there is no band 64. Bands are 0 to 63.$"),
            (lambda: band("a", -1), ValueError, "^there is no band -1. Bands are 0 to 63.$"),
            (lambda: bands("a", 65), ValueError, "^number of bands 65 is out of range. A text has 1 to 64.$"),
            (lambda: bands("a", 0), ValueError, "^number of bands 0 is out of range. A text has 1 to 64.$"),
            (lambda: bands(None), TypeError, "^text must be str, not NoneType$"),
            (lambda: size("a", bands=6), TypeError, '^unknown simhash option "bands"'),
        ]:
            with self.assertRaisesRegex(error, message):
                call()


class Features(unittest.TestCase):
    def test_features_are_named_tuples(self):
        found = features("b a b", weight="tf")
        self.assertEqual([(feature.feature, feature.weight) for feature in found], [("b", 2.0), ("a", 1.0)])
        self.assertIs(type(found[0]), Feature)
        self.assertEqual([simhash("b"), simhash("a")], [feature.hash for feature in found])

    def test_features_of_the_caller(self):
        self.assertEqual(simhash_of_features(["hello"]), HELLO)
        self.assertEqual(simhash_of_features(iter(["hello", "x"]), iter([1, 0.0])), HELLO)
        self.assertIsNone(simhash_of_features(["a"], [0]))
        found = features("some words, and some more", weight="tf", weights={"words": 0.25})
        expected = simhash("some words, and some more", weight="tf", weights={"words": 0.25})
        self.assertEqual(simhash_of_features([f.feature for f in found], [f.weight for f in found]), expected)

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

    def test_difference(self):
        found = difference("the old cat", "the old dog", weights={"cat": 0.25})
        self.assertEqual(found, [("a", "cat", 0.25), ("b", "dog", 1.0)])
        self.assertIs(type(found[0]), Difference)
