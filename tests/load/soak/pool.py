"""The texts that are written: groups of near-duplicates, edited by a few words."""

import random

GROUPS, VARIANTS, WORDS = 150, 8, 150
DISTANCE = 3


def texts(seed):
    rng = random.Random(seed)
    vocabulary = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(3, 9))) for _ in range(3000)]
    found = []
    for _ in range(GROUPS):
        base = rng.choices(vocabulary, k=WORDS)
        for variant in range(VARIANTS):
            edited = list(base)
            for _ in range(variant % 4):
                edited[rng.randrange(WORDS)] = rng.choice(vocabulary)
            found.append(" ".join(edited))
    return found


def distance(a, b):
    """Of two signed 64-bit fingerprints."""
    return ((a ^ b) & 0xFFFF_FFFF_FFFF_FFFF).bit_count()


def share_near(fingerprints):
    """To how many others of them one is near."""
    near = sum(
        distance(a, b) <= DISTANCE for i, a in enumerate(fingerprints) for b in fingerprints[max(0, i - VARIANTS):i]
    )
    return 2 * near / len(fingerprints)
