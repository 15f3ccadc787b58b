"""Ways to find near-duplicate texts in a table `docs (id, body)`: what each one makes, its search and its pairs."""

import hashlib

import datasketch
import numpy
import rensa

from documents import SHINGLE, ShingleSets
from debian_sets import normalised

# Numbers of a MinHash signature, and bits of a vector.
NUMBERS = 128
BITS = 8192
# pgvector returns the nearest rows, so many at most, of which a condition outside chooses those that are near enough.
NEAREST = 200
# How pgvector searches: hnsw.iterative_scan and hnsw.ef_search.
SCANS = [(scan, candidates) for scan in ("strict_order", "relaxed_order", "off") for candidates in (40, 100, 200)]
# The best rows by rank, beside the text itself.
BEST_BY_RANK = 11
LIMITS = [limit / 100 for limit in range(60, 100, 2)]


class Way:
    """One of the ways. A row counts as found if its score is at least a limit; a way without limits has no scores."""

    # The extension that it needs.
    extension = "pg_simhash"
    limits = [None]
    # Whether all pairs take as many searches as there are texts.
    loops = True
    # Settings with which the same index is searched; all pairs are searched for with the first ones.
    variants = [None]

    def __init__(self, database):
        self.database = database

    def set_variant(self, variant):
        """What the server has to know of a variant."""

    def rows(self, statement, **parameters):
        return self.database.execute(statement, parameters).fetchall()

    def set_limit(self, limit):
        """What the server has to know before a search."""

    def build(self):
        raise NotImplementedError

    def search(self, text, limit):
        """Ids and scores of the rows that are near the text."""
        raise NotImplementedError

    def pairs(self, limit):
        """Every pair of ids, once or twice."""
        texts = self.rows("SELECT id, body FROM docs")
        return [(text, other) for text, body in texts for other, _ in self.search(body, limit) if other != text]


class Simhash(Way):
    loops = False

    def build(self):
        self.rows("SELECT simhash_attach('docs', 'body')")


class Default(Simhash):
    name = "pg_simhash, the default"
    limits = [0.84]
    criterion = "{}"

    def search(self, text, limit):
        return self.rows(
            "SELECT id, simhash_resemblance(body, %(text)s) FROM docs"
            f" WHERE simhash_near(body, %(text)s, '{self.criterion}')", text=text,
        )

    def pairs(self, limit):
        return self.rows(
            f"SELECT a.id, b.id FROM docs AS a JOIN docs AS b ON simhash_near(b.body, a.body, '{self.criterion}')"
            " AND a.id <> b.id AND simhash_resemblance(a.body, b.body) >= %(limit)s", limit=limit,
        )


class BestResemblance(Default):
    name = "pg_simhash, the best resemblance"
    limits = LIMITS
    criterion = f'{{"resemblance": {LIMITS[0]}}}'


class Within3(Simhash):
    name = "pg_simhash, distance 3 alone"

    def search(self, text, limit):
        return self.rows("SELECT id, NULL FROM docs WHERE simhash_near(simhash, simhash(%(text)s))", text=text)

    def pairs(self, limit):
        return self.rows(
            "SELECT a, b FROM (SELECT array_agg(id), array_agg(simhash) FROM docs) AS x (ids, fingerprints),"
            " simhash_pairs(ids, fingerprints)"
        )


class EveryText(Way):
    name = "pg_simhash, every text compared"
    limits = LIMITS

    def build(self):
        pass

    def search(self, text, limit):
        return self.rows(
            "SELECT * FROM (SELECT id, simhash_resemblance(body, %(text)s) AS resemblance FROM docs) AS compared"
            " WHERE resemblance >= %(limit)s", text=text, limit=limit,
        )


class Trigrams(Way):
    limits = [limit for limit in LIMITS if limit >= 0.7]

    def build(self):
        self.database.execute(f"CREATE INDEX ON docs USING {self.method}")

    def set_limit(self, limit):
        self.database.execute(f"SET pg_trgm.similarity_threshold = {limit}")

    def search(self, text, limit):
        return self.rows(
            "SELECT id, similarity(body, %(text)s) FROM docs WHERE body %% %(text)s", text=text,
        )


class TrigramsGin(Trigrams):
    name, method = "pg_trgm, GIN", "gin (body gin_trgm_ops)"


class TrigramsGist(Trigrams):
    name, method = "pg_trgm, GiST, siglen 256", "gist (body gist_trgm_ops (siglen = 256))"


class Rank(Way):
    name = f"full text, the {BEST_BY_RANK - 1} best by ts_rank"

    def build(self):
        self.database.execute(
            "ALTER TABLE docs ADD words tsvector GENERATED ALWAYS AS (to_tsvector('simple', body)) STORED"
        )
        self.database.execute("CREATE INDEX ON docs USING gin (words)")

    def search(self, text, limit):
        """The text's words, joined by OR."""
        return self.rows(
            "SELECT id, NULL FROM docs, (SELECT replace(plainto_tsquery('simple', %(text)s)::text, '&', '|')::tsquery)"
            f" AS x (query) WHERE words @@ query ORDER BY ts_rank(words, query) DESC LIMIT {BEST_BY_RANK}", text=text,
        )


class Vector(Way):
    """pgvector. A condition on the distance is outside of the search for the nearest rows, as its manual has it."""

    extension = "vector"
    variants = SCANS

    def set_variant(self, variant):
        scan, candidates = variant
        self.name = f"pgvector, {self.kind}, {scan}, ef_search {candidates}"
        self.database.execute(f"SET hnsw.iterative_scan = {scan}")
        self.database.execute(f"SET hnsw.ef_search = {candidates}")


class VectorOfSimhash(Vector):
    kind = "bit(64), 3"

    def fill(self):
        self.database.execute(
            "ALTER TABLE docs ADD fingerprint bit(64) GENERATED ALWAYS AS (simhash(body)::bit(64)) STORED"
        )

    def build(self):
        self.fill()
        self.database.execute("CREATE INDEX ON docs USING hnsw (fingerprint bit_hamming_ops)")

    def search(self, text, limit):
        return self.rows(
            "WITH nearest AS MATERIALIZED (SELECT id, fingerprint <~> simhash(%(text)s)::bit(64) AS distance FROM docs"
            f" ORDER BY distance LIMIT {NEAREST}) SELECT id, NULL FROM nearest WHERE distance <= 3", text=text,
        )

    def pairs(self, limit):
        return self.rows(
            "SELECT a.id, b.id FROM docs AS a, LATERAL (WITH nearest AS MATERIALIZED (SELECT id, b.fingerprint <~>"
            f" a.fingerprint AS distance FROM docs AS b ORDER BY distance LIMIT {NEAREST}) SELECT id FROM nearest"
            " WHERE distance <= 3) AS b WHERE a.id <> b.id"
        )


class EverySimhash(VectorOfSimhash):
    """Exact: without an index."""

    name = "pgvector, bit(64), 3, every row compared"
    variants = [None]
    set_variant = Way.set_variant
    build = VectorOfSimhash.fill

    def search(self, text, limit):
        return self.rows(
            "SELECT id, NULL FROM docs WHERE fingerprint <~> simhash(%(text)s)::bit(64) <= 3", text=text,
        )

    pairs = Way.pairs


class VectorOfShingles(Vector):
    """A bit for each shingle of a text, by its hash: Jaccard distance of vectors is that of the sets, nearly."""

    kind = f"bit({BITS})"
    limits = LIMITS
    sets = ShingleSets()

    def vector(self, text):
        bits = numpy.zeros(BITS, bool)
        hashes = self.sets.of(text).astype(numpy.uint64) * numpy.uint64(0x9E3779B97F4A7C15)
        bits[hashes >> numpy.uint64(64 - BITS.bit_length() + 1)] = True
        return (bits + ord("0")).astype(numpy.uint8).tobytes().decode()

    def fill(self):
        self.database.execute(f"CREATE TABLE vectors (id bigint PRIMARY KEY, vector bit({BITS}))")
        store(self, "vectors (id, vector)", self.vector)

    def build(self):
        self.fill()
        self.database.execute("CREATE INDEX ON vectors USING hnsw (vector bit_jaccard_ops)")

    def search(self, text, limit):
        return self.rows(
            f"WITH nearest AS MATERIALIZED (SELECT id, vector <%%> %(vector)s::bit({BITS}) AS distance FROM vectors"
            f" ORDER BY distance LIMIT {NEAREST}) SELECT id, 1 - distance FROM nearest WHERE 1 - distance >= %(limit)s",
            vector=self.vector(text), limit=limit,
        )

    def pairs(self, limit):
        return self.rows(
            "SELECT a.id, b.id FROM vectors AS a, LATERAL (WITH nearest AS MATERIALIZED (SELECT id, b.vector <%%>"
            f" a.vector AS distance FROM vectors AS b ORDER BY distance LIMIT {NEAREST}) SELECT id FROM nearest"
            " WHERE 1 - distance >= %(limit)s) AS b WHERE a.id <> b.id", limit=limit,
        )


class EveryVector(VectorOfShingles):
    """Exact: without an index."""

    name = f"pgvector, bit({BITS}), every row compared"
    variants = [None]
    set_variant = Way.set_variant
    build = VectorOfShingles.fill

    def search(self, text, limit):
        return self.rows(
            f"SELECT * FROM (SELECT id, 1 - (vector <%%> %(vector)s::bit({BITS})) AS jaccard FROM vectors) AS compared"
            " WHERE jaccard >= %(limit)s", vector=self.vector(text), limit=limit,
        )

    pairs = Way.pairs


class Smlar(Way):
    """Arrays of shingles, by their cosine similarity."""

    name = "smlar, GiST, cosine of shingles"
    extension = "smlar"
    limits = [limit for limit in LIMITS if limit >= 0.8]
    sets = ShingleSets()

    def array(self, text):
        return self.sets.of(text).tolist()

    def build(self):
        self.database.execute("CREATE TABLE arrays (id bigint PRIMARY KEY, shingles bigint[])")
        store(self, "arrays (id, shingles)", self.array)
        self.database.execute("CREATE INDEX ON arrays USING gist (shingles _int8_sml_ops)")

    def set_limit(self, limit):
        self.database.execute(f"SET smlar.threshold = {limit}")

    def search(self, text, limit):
        return self.rows(
            "SELECT id, smlar(shingles, %(array)s::bigint[]) FROM arrays WHERE shingles %% %(array)s::bigint[]",
            array=self.array(text),
        )


class MinHash(Way):
    """Signatures by rensa, bands by datasketch, for the threshold .8; the signatures estimate J of the candidates. The
    shingles are those of the true J."""

    limits = LIMITS
    loops = False
    # Recall is what bands must have: the signatures see to precision.
    weights = 0.1, 0.9

    def __init__(self, database):
        super().__init__(database)
        bands = datasketch.MinHashLSH(threshold=0.8, num_perm=NUMBERS, weights=self.weights)
        self.bands, self.band_size = bands.b, bands.r
        self.name = f"MinHash, {self.bands} bands of {self.band_size}"

    def signature(self, text):
        text = normalised(text)
        minhash = rensa.RMinHash(NUMBERS, 1)
        minhash.update(list({text[start:start + SHINGLE] for start in range(len(text) - SHINGLE + 1)}))
        return numpy.array(minhash.digest(), numpy.uint32)

    def hashes(self, signature):
        for band in range(self.bands):
            part = signature[band * self.band_size:(band + 1) * self.band_size].tobytes()
            yield int.from_bytes(hashlib.blake2b(part, digest_size=8).digest(), signed=True)

    def build(self):
        self.database.execute("CREATE TABLE signatures (id bigint PRIMARY KEY, signature bytea)")
        self.database.execute("CREATE TABLE bands (band smallint, hash bigint, id bigint)")
        store(self, "signatures (id, signature)", lambda text: self.signature(text).tobytes())
        signatures = self.rows("SELECT id, signature FROM signatures ORDER BY id")
        with self.database.cursor().copy("COPY bands FROM STDIN") as copy:
            for document, signature in signatures:
                for band, hash_of_band in enumerate(self.hashes(numpy.frombuffer(signature, numpy.uint32))):
                    copy.write_row((band, hash_of_band, document))
        self.database.execute("CREATE INDEX ON bands (band, hash) INCLUDE (id)")

    def search(self, text, limit):
        signature = self.signature(text)
        rows = self.rows(
            "SELECT id, signature FROM signatures WHERE id IN (SELECT bands.id FROM bands JOIN"
            " unnest(%(bands)s::smallint[], %(hashes)s::bigint[]) AS x (band, hash) USING (band, hash))",
            bands=list(range(self.bands)), hashes=list(self.hashes(signature)),
        )
        found = [
            (document, float(numpy.mean(numpy.frombuffer(other, numpy.uint32) == signature)))
            for document, other in rows
        ]
        return [(document, estimate) for document, estimate in found if estimate >= limit]

    def pairs(self, limit):
        signatures = {
            document: numpy.frombuffer(signature, numpy.uint32)
            for document, signature in self.rows("SELECT id, signature FROM signatures")
        }
        candidates = self.rows(
            "SELECT DISTINCT a.id, b.id FROM bands AS a JOIN bands AS b USING (band, hash) WHERE a.id < b.id"
        )
        return [(a, b) for a, b in candidates if numpy.mean(signatures[a] == signatures[b]) >= limit]


WAYS = [
    Default, BestResemblance, Within3, VectorOfSimhash, EverySimhash, VectorOfShingles, EveryVector, EveryText,
    MinHash, TrigramsGin, TrigramsGist, Smlar, Rank,
]


def store(way, columns, compute):
    """Stores what the application computes of each text."""
    rows = way.rows("SELECT id, body FROM docs ORDER BY id")
    with way.database.cursor().copy(f"COPY {columns} FROM STDIN") as copy:
        for document, body in rows:
            copy.write_row((document, compute(body)))
