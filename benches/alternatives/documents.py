"""The texts that are searched, and the true pairs among them."""

import random
import re
import sys
from functools import cache

import numpy

from debian_sets import SHINGLE, normalised
from texts import Texts

# Of ten texts, so many are an edit of an earlier text.
EDITS = 4
# An edit adds, removes or replaces each word with a chance of at most this.
MOST_WORDS = 0.1
# One in so many edits also adds a line, and one in so many changes case or punctuation.
ONE_IN = 4
# So many candidates for pairs are listed before repetitions are removed.
MOST_CANDIDATES = 50_000_000
ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def make(count, files):
    """Passages of real documents, and edits of them as people make them; and which text each one is an edit of."""
    library, rng = Texts(files), random.Random(5)
    documents, sources = [], []
    for number in range(count):
        if number % 10 < 10 - EDITS:
            documents.append(re.sub(r"\\(.)", lambda escape: ESCAPES.get(escape[1], escape[1]), library.text()))
            sources.append(None)
        else:
            sources.append(rng.randrange(number))
            documents.append(edit(documents[sources[-1]], documents[rng.randrange(number)], rng))
    return documents, sources


def edit(text, other, rng):
    """An edit of the text; new words and lines come from the other text."""
    chance = rng.uniform(0, MOST_WORDS)
    words = other.split()
    parts = []
    for part in re.findall(r"\s+|\S+", text):
        if part.isspace() or rng.random() >= chance:
            parts.append(part)
        else:
            parts.append(rng.choice([f"{part} {rng.choice(words)}", "", rng.choice(words)]))
    text = "".join(parts)
    if rng.randrange(ONE_IN) == 0:
        line = rng.choice(other.split("\n"))
        text = rng.choice([f"{line}\n{text}", f"{text}\n{line}"])
    if rng.randrange(ONE_IN) == 0:
        text = rng.choice([text.upper(), text.lower(), text.title(), re.sub(r"[,;:'\"]", "", text)])
    return text


class Truth:
    """J, the Jaccard resemblance of two texts' sets of 5-character shingles: those of the normal form of
    benches/debian_sets.py. All of it is exact."""

    def __init__(self, documents):
        sets = ShingleSets()
        shingles = [sets.of(document) for document in documents]
        self.sizes = numpy.array(list(map(len, shingles)))
        self.ends = numpy.cumsum(self.sizes)
        # From here on, a shingle is its rank by frequency, the rarest first.
        _, numbers, frequencies = numpy.unique(numpy.concatenate(shingles), return_inverse=True, return_counts=True)
        ranks = numpy.empty(len(frequencies), numpy.int32)
        ranks[numpy.argsort(frequencies, kind="stable")] = numpy.arange(len(frequencies), dtype=numpy.int32)
        self.all = ranks[numbers]
        self.distinct = len(frequencies)

    def shingles(self, document):
        return self.all[self.ends[document] - self.sizes[document]:self.ends[document]]

    def resemblances(self, document):
        """J of this text and every text: brute force."""
        marks = numpy.zeros(self.distinct, bool)
        marks[self.shingles(document)] = True
        common = numpy.add.reduceat(marks[self.all], self.ends - self.sizes, dtype=numpy.int64)
        return common / (self.sizes + self.sizes[document] - common)

    def resemblance(self, a, b):
        common = len(numpy.intersect1d(self.shingles(a), self.shingles(b), assume_unique=True))
        return common / (self.sizes[a] + self.sizes[b] - common)

    def pairs(self, least):
        """J of every pair that has at least this J.

        Of such a pair, let the larger set have n shingles and the smaller one m. They share at least least * n
        shingles, and at least 2 * least / (1 + least) * m. So one of the rarest shingles of the one is one of the
        rarest of the other (Chaudhuri, Ganti, Kaushik, ICDE 2006): of n and m, all but this many and one more.
        """
        shingles, owners, few = [], [], []
        by_size = numpy.argsort(self.sizes, kind="stable")
        for rank, document in enumerate(by_size):
            size = self.sizes[document]
            rarest = numpy.sort(self.shingles(document))[:size - ceil(least * size) + 1]
            shingles.append(rarest)
            owners.append(numpy.full(len(rarest), rank))
            few.append(numpy.arange(len(rarest)) <= size - ceil(2 * least / (1 + least) * size))
        shingles, owners, few = map(numpy.concatenate, (shingles, owners, few))
        order = numpy.argsort(shingles, kind="stable")
        shingles, owners, few = shingles[order], owners[order], few[order]
        # The owners of a shingle follow each other, in ascending order of size: pairs that are 1 apart, 2 apart, ...
        candidates = [numpy.empty(0, numpy.int64)]
        first, apart = numpy.nonzero(few)[0], 0
        while len(first) > 0:
            apart += 1
            first = first[first + apart < len(owners)]
            first = first[shingles[first] == shingles[first + apart]]
            smaller, larger = owners[first], owners[first + apart]
            similar = self.sizes[by_size[smaller]] >= least * self.sizes[by_size[larger]]
            candidates.append(smaller[similar] * len(by_size) + larger[similar])
            if sum(map(len, candidates)) > MOST_CANDIDATES:
                candidates = [numpy.unique(numpy.concatenate(candidates))]
        found = {}
        for candidate in numpy.unique(numpy.concatenate(candidates)):
            pair = sorted(by_size[rank] for rank in divmod(candidate, len(by_size)))
            resemblance = self.resemblance(*pair)
            if resemblance >= least:
                found[tuple(map(int, pair))] = float(resemblance)
        return found


def ceil(number):
    """Not one too many if the number is a little above a whole one, as it is computed."""
    return int(numpy.ceil(number - 1e-6))


class ShingleSets:
    """Sets of shingles as numbers: each character has a number of 12 bits, and a shingle those of its characters."""

    def __init__(self):
        self.number = cache(self.next_number)
        self.numbers = 0

    def next_number(self, _character):
        self.numbers += 1
        if self.numbers > 1 << 12:
            sys.exit("the texts have too many different characters")
        return self.numbers - 1

    def of(self, document):
        characters = numpy.array([self.number(character) for character in normalised(document)], numpy.int64)
        windows = numpy.lib.stride_tricks.sliding_window_view(characters, SHINGLE)
        return numpy.unique(windows @ (1 << 12 * numpy.arange(SHINGLE)))
