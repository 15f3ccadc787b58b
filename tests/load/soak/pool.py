"""The texts that are written: groups of texts that share most words, and what makes two of them near-duplicates."""

import operator
import random
from itertools import pairwise

GROUPS, VARIANTS, WORDS = 150, 8, 150
# How many times longer the texts of every tenth group are, so that they are stored out of line.
LONG_FACTOR = 20
# Numbers of words that are replaced in a variant. The resemblance to the group's first text is about 1, 0.96, 0.89 and
# 0.79: so some of the texts that share a band are not near-duplicates.
EDITS = (0, 2, 6, 12)
# Two texts are near-duplicates by default if they share a band, their fingerprints are near, and they resemble each
# other.
BANDS, MAX_DISTANCE_OF_TEXTS, MIN_RESEMBLANCE = 6, 20, 0.84
# The largest distance of near fingerprints, if texts are not compared.
MAX_DISTANCE = 3


def make_texts(seed):
    rng = random.Random(seed)
    vocabulary = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(3, 9))) for _ in range(30_000)]
    texts = []
    for group in range(GROUPS):
        factor = LONG_FACTOR if group % 10 == 0 else 1
        original = rng.choices(vocabulary, k=WORDS * factor)
        for variant in range(VARIANTS):
            edited = list(original)
            for _ in range(factor * EDITS[variant % len(EDITS)]):
                edited[rng.randrange(len(original))] = rng.choice(vocabulary)
            texts.append(" ".join(edited))
    return texts


def distance(a, b):
    """The distance of two signed 64-bit fingerprints."""
    return ((a ^ b) & 0xFFFF_FFFF_FFFF_FFFF).bit_count()


def tenant_of(text_number, tenants):
    """The tenant that a text belongs to. Each group has texts of several tenants."""
    return text_number // len(EDITS) % tenants


def resemblance(a, b):
    """The share of words and pairs of neighbouring words of two texts that both have (Jaccard)."""
    a, b = ({*text.split(), *pairwise(text.split())} for text in (a, b))
    return len(a & b) / len(a | b)


def find_near_texts(texts, fingerprints, bands, tenants):
    """For each text, those that it is near within its tenant: by their fingerprints or, if there are bands, by these
    and their words. And the number of pairs that only share a band."""
    near_texts = [[number] for number in range(len(texts))]  # A text is near itself: it may be stored twice.
    refuted = 0
    for a in range(len(texts)):
        for b in range(a):
            if tenant_of(a, tenants) != tenant_of(b, tenants):
                continue
            if bands and not any(map(operator.eq, bands[a], bands[b])):
                continue
            bits = distance(fingerprints[a], fingerprints[b])
            if bands:
                is_near = bits <= MAX_DISTANCE_OF_TEXTS and resemblance(texts[a], texts[b]) >= MIN_RESEMBLANCE
                refuted += not is_near
            else:
                is_near = bits <= MAX_DISTANCE
            if is_near:
                near_texts[a].append(b)
                near_texts[b].append(a)
    return near_texts, refuted
