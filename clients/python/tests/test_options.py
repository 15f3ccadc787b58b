"""Options are keyword arguments with the names and values of SQL's options."""

import unittest

import pg_simhash

TEXT = "Some words of a text, SOME of them in <b hidden>capitals</b>, 12 of them déjà vu at https://words.example/some"


class Options(unittest.TestCase):
    def test_each_option_matters(self):
        default = pg_simhash.simhash(TEXT)
        for options in [
            {"tokens": "chars"},
            {"ngram": 2},
            {"weight": "tf"},
            {"weights": {"some": 0.01}},
            {"case_fold": False},
            {"top": 3},
            {"seed": 1},
            {"markup": "html"},
            {"ignore": ["numbers"]},
            {"ignore": ["urls"]},
            {"ignore": ["accents"]},
        ]:
            with self.subTest(options):
                self.assertNotEqual(pg_simhash.simhash(TEXT, **options), default)
        self.assertEqual(pg_simhash.simhash(TEXT, tokens="words", ngram=1, weight="set", seed=0), default)

    def test_every_function_reads_them(self):
        for call in [
            lambda **options: pg_simhash.simhash(TEXT, **options),
            lambda **options: pg_simhash.simhash([TEXT], **options),
            lambda **options: pg_simhash.simhash(None, **options),
            lambda **options: pg_simhash.simhash_wide(TEXT, **options),
            lambda **options: pg_simhash.features(TEXT, **options),
            lambda **options: pg_simhash.resemblance(TEXT, TEXT, **options),
            lambda **options: pg_simhash.near(TEXT, TEXT, **options),
            lambda **options: pg_simhash.clusters([1], texts=[TEXT], **options),
        ]:
            with self.assertRaisesRegex(
                ValueError, '^invalid value for (simhash option|key) "ngram"( of a criterion)?: 17.'
            ):
                call(ngram=17)

    def test_invalid_values(self):
        for options, message in [
            ({"ngram": 0}, 'invalid value for simhash option "ngram": 0. It must be an integer from 1 to 16.'),
            ({"ngram": "2"}, 'invalid value for simhash option "ngram": "2". It must be an integer from 1 to 16.'),
            (
                {"tokens": "lines"},
                'invalid value for simhash option "tokens": "lines". It must be one of "words", "chars", "dictionary".',
            ),
            ({"case_fold": None}, 'invalid value for simhash option "case_fold": null. It must be true or false.'),
            ({"markup": "xml"}, 'invalid value for simhash option "markup": "xml". It must be "html".'),
            (
                {"seed": 2**64},
                'invalid value for simhash option "seed": 18446744073709551616. '
                "It must be an integer from 0 to 18446744073709551615.",
            ),
            (
                {"weights": {"a": 2}},
                'invalid value for simhash option "weights": "a": 2. '
                "It must be an object of features, each with a number from 0 to 1, and no feature twice.",
            ),
        ]:
            with self.subTest(options), self.assertRaises(ValueError) as raised:
                pg_simhash.simhash(TEXT, **options)
            self.assertEqual(str(raised.exception), message)

    def test_unknown_option(self):
        with self.assertRaises(TypeError) as raised:
            pg_simhash.simhash(TEXT, n_gram=2)
        self.assertEqual(
            str(raised.exception),
            'unknown simhash option "n_gram". '
            'The options are "tokens", "ngram", "weight", "weights", "case_fold", "top", "seed", "markup", "ignore", '
            '"same".',
        )

    def test_values_without_json(self):
        with self.assertRaisesRegex(TypeError, "not JSON serializable"):
            pg_simhash.simhash(TEXT, ngram={1})
        with self.assertRaisesRegex(ValueError, "not JSON compliant"):
            pg_simhash.simhash(TEXT, weights={"a": float("nan")})
