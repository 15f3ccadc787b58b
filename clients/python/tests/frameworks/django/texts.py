"""Texts for the tests."""

WORDS = [f"word{number}" for number in range(600)]
TEXT = " ".join(WORDS)
# Of 601 words and 600 pairs of neighbours, 599 and 598 are common: distance 3, resemblance 0.997.
NEAR = " ".join([*WORDS[:-1], "another"])
OTHER = " ".join(word * 2 for word in WORDS)
THIRD = " ".join(word * 3 for word in WORDS)
