"""The texts that are written: groups of texts that share most words, and what makes two of them near-duplicates."""

import random
from itertools import pairwise

GROUPS, VARIANTS, WORDS = 150, 8, 150
# Every tenth group has texts of so many times as many words, which are stored out of line.
LONG = 20
# Numbers of words that are replaced in a variant. The resemblance to the group's first text is about 1, 0.96, 0.89 and
# 0.79: so some of the texts that share a band are no near-duplicates.
EDITS = (0, 2, 6, 12)
# What makes two texts near-duplicates: the defaults of simhash_guard.
BANDS, RESEMBLANCE = 6, 0.84


def texts(seed):
    rng = random.Random(seed)
    vocabulary = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(3, 9))) for _ in range(30_000)]
    found = []
    for group in range(GROUPS):
        times = LONG if group % 10 == 0 else 1
        base = rng.choices(vocabulary, k=WORDS * times)
        for variant in range(VARIANTS):
            edited = list(base)
            for _ in range(times * EDITS[variant % len(EDITS)]):
                edited[rng.randrange(len(base))] = rng.choice(vocabulary)
            found.append(" ".join(edited))
    return found


def tenant(text, tenants):
    """The tenant that a text belongs to. Each group has texts of several tenants."""
    return text // len(EDITS) % tenants


def resemblance(a, b):
    """Of two texts: the share of common words and pairs of neighbouring words among all they have (Jaccard)."""
    a, b = ({*text.split(), *pairwise(text.split())} for text in (a, b))
    return len(a & b) / len(a | b)


class Nearness:
    """Which texts are near-duplicates, computed from their bands, words and tenants."""

    def __init__(self, texts, bands, tenants):
        self.near = [[number] for number in range(len(texts))]
        self.refuted = 0
        for a, of_a in enumerate(bands):
            for b, of_b in enumerate(bands[:a]):
                shares_band = any(band == other for band, other in zip(of_a, of_b))
                if tenant(a, tenants) == tenant(b, tenants) and shares_band:
                    if resemblance(texts[a], texts[b]) >= RESEMBLANCE:
                        self.near[a].append(b)
                        self.near[b].append(a)
                    else:
                        self.refuted += 1

    def share(self):
        """To how many others of them one is near."""
        return sum(len(near) - 1 for near in self.near) / len(self.near)
