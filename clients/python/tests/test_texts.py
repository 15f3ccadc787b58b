"""One text, and iterables of texts."""

import unittest
from collections import deque
from types import MappingProxyType

import pyarrow as pa

from pg_simhash import (
    Difference,
    Feature,
    bands,
    containment,
    coverage,
    difference,
    features,
    near,
    resemblance,
    simhash,
    simhash_of_features,
)

HELLO = -7685981735718036227


class Texts(unittest.TestCase):
    def test_without_text_or_feature(self):
        for text in [None, "", " ... \n", "\0"]:
            with self.subTest(text):
                self.assertIsNone(simhash(text))
                self.assertEqual(simhash([text, "hello"]), [None, HELLO])
        for found in resemblance("a", "!"), near("!", "a"), containment("!", "a"), coverage("a", "!"):
            self.assertIsNone(found)
        self.assertEqual(containment("a", "!"), 0)
        self.assertEqual([difference("!", ""), features("!")], [[], []])

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

    def test_six_bands(self):
        self.assertEqual(bands("one two three"), bands("One, two, three!", 64)[:6])

    def test_types_of_options(self):
        found = features("one 2 two", weights=MappingProxyType({"two": 0.25}), ignore=deque(["numbers"]))
        self.assertEqual(found, features("one two", weights={"two": 0.25}))

    def test_named_tuples(self):
        found = features("b a b", weight="tf")
        self.assertEqual(found, [Feature("b", 2.0, simhash("b")), Feature("a", 1.0, simhash("a"))])
        self.assertIs(type(found[0]), Feature)
        found = difference("the old cat", "the old dog", weights={"cat": 0.25})
        self.assertEqual(found, [("a", "cat", 0.25), ("b", "dog", 1.0)])
        self.assertIs(type(found[0]), Difference)

    def test_features_of_the_caller(self):
        self.assertEqual(simhash_of_features(["hello"]), HELLO)
        self.assertEqual(simhash_of_features(iter(["hello", "x"]), iter([1, 0.0])), HELLO)
        self.assertIsNone(simhash_of_features(["a"], [0]))
        found = features("some words, and some more", weight="tf", weights={"words": 0.25})
        texts, weights = [feature.feature for feature in found], [feature.weight for feature in found]
        expected = simhash("some words, and some more", weight="tf", weights={"words": 0.25})
        self.assertEqual(simhash_of_features(texts, weights), expected)
