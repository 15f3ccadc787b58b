"""Fingerprints and bands are those of the golden vectors, which fix the stored formats."""

import sys
import unittest

import golden

import pg_simhash


class Golden(unittest.TestCase):
    def test_golden_vectors(self):
        entries = golden.entries("golden.jsonl")
        self.assertGreaterEqual(len(entries), 300)
        for entry in entries:
            with self.subTest(entry["name"]):
                text, options = golden.text(entry), entry.get("options") or {}
                self.assertEqual(pg_simhash.simhash(text, **options), entry["fingerprint"])
                self.assertEqual(pg_simhash.simhash([text], **options), [entry["fingerprint"]])
                self.assertEqual(len(pg_simhash.features(text, **options)), entry["features"])

    def test_two_texts(self):
        entries = [entry for entry in golden.entries("golden.jsonl") if "with" in entry]
        self.assertGreaterEqual(len(entries), 10)
        for entry in entries:
            a, b, options = golden.text(entry), entry["with"], entry.get("options") or {}
            with self.subTest(entry["name"]):
                self.assertEqual(pg_simhash.resemblance(a, b, **options), entry["resemblance"])
                self.assertEqual(pg_simhash.containment(a, b, **options), entry["containment"])
                found = pg_simhash.difference(a, b, **options)
                self.assertEqual([list(one) for one in found], entry["difference"])

    def test_passages(self):
        entries = [entry for entry in golden.entries("golden.jsonl") if "passages" in entry]
        self.assertGreaterEqual(len(entries), 60)
        for entry in entries:
            text, options = golden.text(entry), entry.get("options") or {}
            with self.subTest(entry["name"]):
                self.assertEqual(pg_simhash.passages(text, **options), entry["passages"])

    def test_bands(self):
        entries = golden.entries("bands.jsonl")
        self.assertGreaterEqual(len(entries), 60)
        for entry in entries:
            text, options, expected = golden.text(entry), entry.get("options") or {}, entry["bands"]
            with self.subTest(entry["name"]):
                count = 6 if expected is None else len(expected)
                self.assertEqual(pg_simhash.bands(text, count, **options), expected)
                self.assertEqual(pg_simhash.band(text, count - 1, **options), expected and expected[-1])
                self.assertEqual(pg_simhash.size(text, **options), entry["size"])

    def test_source_of_bands(self):
        """The plain Python that has computed the vectors computes them still."""
        sys.path.append(str(golden.FOLDER))
        import bands

        for entry in golden.entries("bands.jsonl"):
            with self.subTest(entry["name"]):
                self.assertEqual(bands.computed(entry), entry)

    def test_format(self):
        self.assertEqual(pg_simhash.format(), 2)
