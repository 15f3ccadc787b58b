"""A server computes the same as the package, of thousands of random texts with random options.

Needs the server of psql's environment (PGHOST and so on), with the extension. SEED=number repeats a run.
"""

import json
import os
import random
import unittest

import golden
import psycopg

import pg_simhash

SEED = int(os.environ.get("SEED") or random.randrange(2**32))

PIECES = [golden.text_of(entry) for entry in golden.read_entries("golden.jsonl") if "text" in entry]
# Letters of many kinds: with and without case, digits, combining marks, scripts without spaces, and beyond 16 bits.
ALPHABETS = [
    "abcdefg ",
    "ABCabc 0129.,-",
    "äöüßÄÖÜẞﬁǆİı ",
    "a\u0301\u0323e\u0308\u200d ",
    "的一是不了人我在有他 ",
    "ไทยคำภาษาก็ ",
    "かなカナｶﾅ漢字 ",
    "한국어 글 ",
    "𝔘𝔫𝔦😀👩\u200d👩 ",
    "العربية عبر ",
]


def random_text(rng):
    kind = rng.randrange(4)
    if kind == 0:
        return rng.choice(PIECES)
    if kind == 1:  # pieces of texts, cut anywhere
        pieces = (rng.choice(PIECES) for _ in range(rng.randrange(1, 4)))
        return " ".join(piece[rng.randrange(len(piece) + 1) :] for piece in pieces)
    if kind == 2:  # any characters but NUL and surrogates
        code_points = (rng.randrange(1, 0x110000 - 0x800) for _ in range(rng.randrange(30)))
        return "".join(chr(code + 0x800 if code >= 0xD800 else code) for code in code_points)
    alphabet = rng.choice(ALPHABETS)
    return "".join(rng.choices(alphabet, k=rng.randrange(200)))


OPTIONS = {
    "tokens": lambda rng: rng.choice(["words", "chars"]),
    "ngram": lambda rng: rng.randrange(1, 17),
    "weight": lambda rng: rng.choice(["set", "log", "tf"]),
    "case_fold": lambda rng: rng.random() < 0.5,
    "same": lambda rng: rng.sample(["numbers", "the", "not"], rng.randrange(4)),
    "ignore": lambda rng: rng.sample(["numbers", "ids", "urls", "accents", "hyphenation"], rng.randrange(6)),
    "seed": lambda rng: rng.choice([1, rng.getrandbits(64), 2**64 - 1]),
}


def random_options(rng, text):
    options = {name: draw(rng) for name, draw in OPTIONS.items() if rng.random() < 0.35}
    if rng.random() < 0.3:
        names = [feature.feature for feature in pg_simhash.features(text, **options)][:20]
        options["weights"] = {name: rng.choice([0, 1, 0.5, 0.1, 1e-9, rng.random()]) for name in names}
    return options


class Server(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        database = f"python_package_{os.getpid()}"
        cls.admin = psycopg.connect(autocommit=True)
        cls.addClassCleanup(cls.admin.close)
        cls.admin.execute(f"CREATE DATABASE {database} ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0")
        cls.addClassCleanup(cls.admin.execute, f"DROP DATABASE {database} WITH (FORCE)")
        cls.connection = psycopg.connect(dbname=database, autocommit=True)
        cls.addClassCleanup(cls.connection.close)
        cls.connection.execute("CREATE EXTENSION pg_simhash")
        rng = random.Random(SEED)
        cls.texts = [random_text(rng) for _ in range(4000)]
        cls.options = [random_options(rng, text) if rng.random() < 0.8 else {} for text in cls.texts]

    def setUp(self):
        self.rng = random.Random(SEED)

    def rows(self, query, *parameters):
        return self.connection.execute(query, parameters).fetchall()

    def compare(self, ours, theirs):
        self.assertEqual(len(ours), len(theirs))
        for row, (own, other) in enumerate(zip(ours, theirs)):
            if own != other:
                self.fail(f"SEED={SEED}, row {row}: {own} here, {other} on the server")

    def test_every_text(self):
        """What SQL returns for each text `a`, another text `b` and options `o`, and what the package returns."""
        for query, call in [
            (
                "SELECT simhash(a, o), simhash_format()",
                lambda a, b, o: [(pg_simhash.simhash(a, **o), pg_simhash.format())],
            ),
            ("SELECT * FROM simhash_features(a, o)", lambda a, b, o: pg_simhash.features(a, **o)),
            (
                "SELECT simhash_size(a, o), array_agg(simhash_band(a, n, o) ORDER BY n) FROM generate_series(0, 6) n",
                lambda a, b, o: [(pg_simhash.size(a, **o), pg_simhash.bands(a, 7, **o) or [None] * 7)],
            ),
            (
                "SELECT simhash_resemblance(a, b, o), simhash_containment(a, b, o)",
                lambda a, b, o: [(pg_simhash.resemblance(a, b, **o), pg_simhash.containment(a, b, **o))],
            ),
            (
                "SELECT content_position - 1, content_position - 1 + content_length, clue_position - 1,"
                " clue_position - 1 + clue_length, words, changed FROM simhash_matches(a, b, o)",
                lambda a, b, o: pg_simhash.matches(a, b, **o),
            ),
            ("SELECT * FROM simhash_difference(a, b, o)", lambda a, b, o: pg_simhash.difference(a, b, **o)),
        ]:
            texts = list(zip(self.texts, self.others(), self.options))
            theirs = self.rows(
                f"""
                SELECT i, found.* FROM unnest(%s::text[], %s::text[], %s::jsonb[]) WITH ORDINALITY AS u(a, b, o, i),
                    LATERAL (SELECT row_number() OVER () AS number, row.* FROM ({query}) AS row) AS found
                ORDER BY i, number
                """,
                *map(list, zip(*((a, b, json.dumps(options)) for a, b, options in texts))),
            )
            ours = []
            for i, arguments in enumerate(texts, 1):
                ours += [(i, number, *row) for number, row in enumerate(call(*arguments), 1)]
            with self.subTest(query):
                self.compare(ours, theirs)
                self.assertGreater(len(ours), 1000)

    def others(self):
        """For each text, one that has some features in common with it."""
        return [
            text[: self.rng.randrange(len(text) + 1)] + self.rng.choice(["", " x", random_text(self.rng)])
            for text in self.texts
        ]

    def test_near(self):
        query = "SELECT simhash_near(a, b, c::jsonb) FROM unnest(%s::text[], %s::text[], %s::text[]) AS u(a, b, c)"
        others = self.others()
        beside_options = [{}, {"resemblance": 0.5, "bands": 30}, {"bands": 2}, {"resemblance": 0.7}]
        criteria = [options | self.rng.choice(beside_options) for options in self.options]
        theirs = [near for (near,) in self.rows(query, self.texts, others, list(map(json.dumps, criteria)))]
        ours = [pg_simhash.near(*texts, **criterion) for *texts, criterion in zip(self.texts, others, criteria)]
        self.compare(ours, theirs)
        for outcome, least in (True, 100), (False, 100), (None, 10):
            self.assertGreater(ours.count(outcome), least)

    def test_texts(self):
        texts = list(self.texts[:1500])
        while len(texts) < 3000:
            words = self.rng.choice(texts).split(" ")
            words[self.rng.randrange(len(words))] = self.rng.choice(["a", "changed", "Word", ""])
            texts.append(" ".join(words))
        texts[7] = None
        calls = {"simhash_cluster": pg_simhash.text_clusters, "simhash_duplicate_of": pg_simhash.duplicate_of}
        for function, call in calls.items():
            query = f"""
                SELECT {function}(i, t, %s) OVER (ORDER BY i)
                FROM unnest(%s::text[]) WITH ORDINALITY AS u(t, i) ORDER BY i
            """
            for criterion in [{}, {"resemblance": 0.7, "ngram": 2}, {"resemblance": 0.9, "weight": "tf", "bands": 2}]:
                theirs = self.rows(query, json.dumps(criterion), texts)
                theirs = [-1 if number is None else number - 1 for (number,) in theirs]
                ours = call(texts, **criterion).tolist()
                self.compare(ours, theirs)
                self.assertGreater(sum(cluster not in (-1, row) for row, cluster in enumerate(ours)), 300)

    def test_wrong_options(self):
        unknown = "se\u00ebd" * 20
        wrong = {"ngram": [17, 2.5], "tokens": ["Words"], "weight": [{"tf": None}], "case_fold": ["true"], "seed": [-1]}
        wrong |= {"weights": [{"a": 1.5}, {"A": 1, "a": 1}, ["a" * 100]], unknown: [1]}
        for name, value in ((name, value) for name, values in wrong.items() for value in values):
            with self.subTest(name, value=value):
                with self.assertRaises(psycopg.Error) as theirs:
                    self.rows("SELECT simhash('a', %s::jsonb)", json.dumps({name: value}))
                with self.assertRaises(TypeError if name == unknown else ValueError) as ours:
                    pg_simhash.simhash("a", **{name: value})
                diag = theirs.exception.diag
                self.assertEqual(str(ours.exception), f"{diag.message_primary}. {diag.message_hint}")

    def test_floats(self):
        """COPY refuses floats, which have not all bits of a fingerprint."""
        self.connection.execute("CREATE TEMPORARY TABLE floats (simhash bigint)")
        number = float(pg_simhash.simhash("one two three four"))
        for data_format, types in ("TEXT", None), ("TEXT", ["int8"]), ("BINARY", ["int8"]):
            with self.subTest(data_format=data_format, types=types):
                copying = self.connection.cursor().copy(f"COPY floats FROM STDIN (FORMAT {data_format})")
                with self.assertRaises((TypeError, psycopg.DataError)), copying as copy:
                    if types:
                        copy.set_types(types)
                    copy.write_row((number,))
        self.assertEqual(self.connection.execute("SELECT count(*) FROM floats").fetchall(), [(0,)])
