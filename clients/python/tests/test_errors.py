"""Errors: of wrong types, of values out of range, and what an iterator raises. test_server.py has those of options."""

import unittest

import numpy as np
import pandas as pd
import pyarrow as pa

from pg_simhash import (
    band,
    bands,
    clusters,
    contains,
    difference,
    duplicate_of,
    features,
    hamming,
    near,
    pairs,
    resemblance,
    simhash,
    simhash_of_features,
    size,
    text_clusters,
)

ONE = np.array([1])
NAN = float("nan")
# pandas makes floats of a list of integers with None, and they lose bits.
FLOATS = pd.Series([simhash("one two three four"), None])
FRAME = pd.DataFrame({"body": ["a"]})
CLUE = "^clue of 3 words is too short. A clue has at least 4 words, or 5 letters"
NO_TEXT = "^text must be str, None, or an iterable of them, not "


class Errors(unittest.TestCase):
    def check(self, cases):
        for number, (error, message, call) in enumerate(cases):
            with self.subTest(message, number=number), self.assertRaisesRegex(error, message):
                call()

    def test_types(self):
        self.check(
            (TypeError, message, call)
            for message, call in [
                (f"{NO_TEXT}int$", lambda: simhash(1)),
                (f"{NO_TEXT}bytes$", lambda: simhash(b"bytes")),
                (f"{NO_TEXT}bytearray$", lambda: simhash(bytearray())),
                (f"{NO_TEXT}Table$", lambda: simhash(pa.table({"a": ["a"]}))),
                (f"{NO_TEXT}DataFrame$", lambda: simhash(FRAME)),
                ("^texts must be a sequence of str or None, not DataFrame$", lambda: duplicate_of(FRAME)),
                (r"^texts\[1\] must be str or None, not int$", lambda: simhash(["a", 2])),
                (r"^texts\[0\] must be str or None, not list$", lambda: simhash([["a"]])),
                (r"^texts\[0\] must be str or None, not int$", lambda: simhash(ONE)),
                (r"^texts\[1\] must be str or None, not int$", lambda: simhash(pd.Series(["a", 1], dtype=object))),
                ("^text must be str, not list$", lambda: features(["a"])),
                ("^text must be str, not NoneType$", lambda: bands(None)),
                ("^b must be str, not NoneType$", lambda: resemblance("a", None)),
                ("^a must be str, not int$", lambda: difference(1, "b")),
                ('^unknown simhash option "bands"', lambda: size("a", bands=6)),
                ("not JSON serializable", lambda: simhash("text", ngram={1})),
                (r"^weights\[0\] must be a number, not str$", lambda: simhash_of_features(["a"], ["1"])),
                (r"^features\[0\] must be str, not int$", lambda: simhash_of_features([1])),
                ("^features must be an iterable of str, not str$", lambda: simhash_of_features("abc")),
                ("fingerprint must be int, not ", lambda: hamming(None, 1)),
                ("fingerprint must be int, not ", lambda: hamming(1.5, 1)),
                ("fingerprint must be int, not ", lambda: hamming("1", 1)),
                ("^fingerprint must be int, not str$", lambda: pairs(["1"])),
                ("fingerprint must be int, not float", lambda: pairs(FLOATS)),
                ("fingerprint must be int, not float", lambda: clusters(FLOATS)),
                ("^fingerprints must be an array of int64, not uint64", lambda: pairs(ONE.astype("u8"))),
                ("^fingerprints must be an array of int64, not int32$", lambda: pairs(ONE.astype("i4"))),
                ("^fingerprints must be a NumPy array, or an iterable of int, not", lambda: pairs("1")),
                ("not iterable", lambda: pairs(7)),
            ]
        )

    def test_values(self):
        weight = " is out of range. A weight must be from 0 to 1000000000.$"
        length = ". Give both the same length.$"
        self.check(
            (ValueError, message, call)
            for message, call in [
                ("not JSON compliant", lambda: simhash("text", weights={"a": NAN})),
                ("^text has a combining sequence of more than 1048576 bytes$", lambda: simhash("a" + "\u0301" * 2**20)),
                ("^there is no band 64. Bands are 0 to 63.$", lambda: band("a", 64)),
                ("^there is no band -1. Bands are 0 to 63.$", lambda: band("a", -1)),
                ("^number of bands 65 is out of range. A text has 1 to 64.$", lambda: bands("a", 65)),
                ("^number of bands 0 is out of range. A text has 1 to 64.$", lambda: bands("a", 0)),
                (CLUE, lambda: contains("1 2 3 4", "1 2 3")),
                ("^share NaN is out of range. Give a number from 0 to 1", lambda: contains("1 2 3 4", "1 2 3 4", NAN)),
                ("^there are more features than weights" + length, lambda: simhash_of_features(["a", "b"], [1])),
                ("^there are more weights than features" + length, lambda: simhash_of_features(["a"], [1, 2])),
                ("^feature weight -1.5" + weight, lambda: simhash_of_features(["a"], [-1.5])),
                ("^feature weight nan" + weight, lambda: simhash_of_features(["a"], [NAN])),
                ("^feature weight 1100000000.0" + weight, lambda: simhash_of_features(["a"], [1.1e9])),
                ("^maximum distance 65 is out of range. Two fingerprints differ in 0", lambda: pairs(ONE, 65)),
                ("^maximum distance -1 is out of range.", lambda: clusters(ONE, -1)),
                ("^fingerprints must be a one-dimensional array, not one of 2", lambda: pairs(ONE.reshape(1, 1))),
            ]
        )

    def test_other_errors(self):
        def broken():
            yield "a"
            raise ConnectionError("broken")

        self.check(
            [
                (ConnectionError, "^broken$", lambda: simhash(broken())),
                (UnicodeEncodeError, "", lambda: simhash("\ud800")),
                (UnicodeEncodeError, "", lambda: simhash(["a", "\udfff"])),
                (UnicodeEncodeError, "", lambda: simhash("a", weights={"\ud800": 1})),
                (OverflowError, "", lambda: simhash_of_features(["a"], [10**400])),
                (OverflowError, r"^fingerprint 9223372036854775808 is out of range", lambda: pairs([2**63])),
                (OverflowError, r" is out of range .* subtract 2\*\*64.$", lambda: hamming(2**63, 1)),
            ]
        )

    def test_clusters_of_texts(self):
        value = "^invalid value for key"
        for texts, criterion, error, message in [
            (["a"], {"radius": 1}, TypeError, '^unknown key "radius" of a criterion. The keys '),
            (["a"], {"weights": "table"}, ValueError, "^There is no table here to learn weights from."),
            (["a"], {"resemblance": None}, ValueError, f'{value} "resemblance" of a criterion: null'),
            (["a"], {"max_distance": 3}, ValueError, f'{value} "max_distance" of a criterion: 3'),
            ("ab", {}, TypeError, "^texts must be a sequence of str or None, not str$"),
            (["a", 1], {}, TypeError, r"^texts\[1\] must be str or None, not int$"),
        ]:
            for call in text_clusters, duplicate_of:
                with self.subTest(message, call=call), self.assertRaisesRegex(error, message):
                    call(texts, **criterion)

    def test_every_function_reads_options(self):
        of_a_text = [(call, "text") for call in (simhash, bands, size, features)]
        others = (simhash, None), (simhash, ["text"]), (band, "text", 0), (resemblance, "a", "b"), (near, "a", "b")
        for call, *arguments in [*of_a_text, *others, (text_clusters, ["text"])]:
            with self.subTest(call=call), self.assertRaisesRegex(ValueError, '^invalid value for .* "ngram".*: 17.'):
                call(*arguments, ngram=17)
