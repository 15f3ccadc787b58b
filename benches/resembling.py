"""The pairs of texts that resemble each other, by their sets of shingles of characters."""

import re
import sys
import unicodedata
from collections import Counter, defaultdict
from itertools import chain
from math import ceil

MIN_RESEMBLANCE = 0.8
SHINGLE_LENGTH = 5


def normalised(text):
    return re.sub(r"\W+", " ", unicodedata.normalize("NFKC", text).casefold()).strip()


def shingles(text):
    text = normalised(text)
    return {text[start:start + SHINGLE_LENGTH] for start in range(len(text) - SHINGLE_LENGTH + 1)}


def jaccard(one, other):
    common = len(one & other)
    return common / (len(one) + len(other) - common)


def resembling_pairs(documents):
    """Yields every pair of documents whose sets of shingles resemble each other, with the resemblance.

    By the prefix filter: two sets that resemble each other share one of their rarest shingles (Chaudhuri, Ganti,
    Kaushik, ICDE 2006).
    """
    # Equal shingles are one object, to save memory.
    shingles_of = {name: set(map(sys.intern, shingles(text))) for name, text in documents.items()}
    frequencies = Counter(chain.from_iterable(shingles_of.values()))
    names_by_rare_shingle = defaultdict(list)
    # By size, so that no earlier set is larger.
    for name, own in sorted(shingles_of.items(), key=lambda item: len(item[1])):
        rarest = sorted(own, key=lambda shingle: (frequencies[shingle], shingle))
        # A set that shares none of these shares too few of all.
        rarest = rarest[:len(own) - ceil(MIN_RESEMBLANCE * len(own)) + 1]
        for other in sorted({other for shingle in rarest for other in names_by_rare_shingle[shingle]}):
            if len(shingles_of[other]) >= MIN_RESEMBLANCE * len(own):
                resemblance = jaccard(own, shingles_of[other])
                if resemblance >= MIN_RESEMBLANCE:
                    yield other, name, resemblance
        for shingle in rarest:
            names_by_rare_shingle[shingle].append(name)
