"""Texts for the tests of frameworks. NEAR resembles TEXT; OTHER and THIRD have none of its words."""

WORDS = [f"word{number}" for number in range(600)]
TEXT = " ".join(WORDS)
# TEXT and NEAR have 599 of 601 words in common, and 598 of 600 pairs of neighbours. The distance is 3.
NEAR = " ".join([*WORDS[:-1], "another"])
NEAR_RESEMBLANCE = 0.997
OTHER = " ".join(word * 2 for word in WORDS)
THIRD = " ".join(word * 3 for word in WORDS)
