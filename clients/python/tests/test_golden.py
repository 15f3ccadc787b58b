"""Fingerprints and bands are those of the golden vectors, which fix the stored formats."""

import sys
import unittest

import golden

import pg_simhash


class Golden(unittest.TestCase):
    def test_golden_vectors(self):
        entries = golden.read_entries("golden.jsonl")
        for key, least in ("fingerprint", 300), ("with", 10), ("passages", 60):
            self.assertGreaterEqual(sum(key in entry for entry in entries), least)
        for entry in entries:
            with self.subTest(entry["name"]):
                text, options = golden.text_of(entry), entry.get("options") or {}
                self.assertEqual(pg_simhash.simhash(text, **options), entry["fingerprint"])
                self.assertEqual(pg_simhash.simhash([text], **options), [entry["fingerprint"]])
                self.assertEqual(len(pg_simhash.features(text, **options)), entry["features"])
                if "passages" in entry:
                    self.assertEqual(pg_simhash.passages(text, **options), entry["passages"])
                if "with" in entry:
                    both = text, entry["with"]
                    self.assertEqual(pg_simhash.resemblance(*both, **options), entry["resemblance"])
                    self.assertEqual(pg_simhash.containment(*both, **options), entry["containment"])
                    self.assertEqual(list(map(list, pg_simhash.difference(*both, **options))), entry["difference"])

    def test_bands(self):
        """The package computes the bands and sizes of the vectors. So does bands.py, which has written the vectors."""
        sys.path.append(str(golden.FOLDER))
        import bands

        entries = golden.read_entries("bands.jsonl")
        self.assertGreaterEqual(len(entries), 60)
        for entry in entries:
            with self.subTest(entry["name"]):
                self.assertEqual(bands.computed(entry), entry)
                text, options, expected = golden.text_of(entry), entry.get("options") or {}, entry["bands"]
                count = 6 if expected is None else len(expected)
                self.assertEqual(pg_simhash.bands(text, count, **options), expected)
                self.assertEqual(pg_simhash.band(text, count - 1, **options), expected and expected[-1])
                self.assertEqual(pg_simhash.size(text, **options), entry["size"])

    def test_format(self):
        self.assertEqual(pg_simhash.format(), 2)
