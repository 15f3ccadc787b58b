"""Random texts of 1 to 9 excerpts each, all of one file of documents. An excerpt is some lines of a document, about 300
characters; a longer line is cut."""

import json
import random

EXCERPT_LENGTH = 300
MIN_EXCERPTS, MAX_EXCERPTS = 1, 9


class RandomTexts:
    """A sequence of random texts, which is the same in each run."""

    def __init__(self, files):
        self.rng = random.Random(4)
        self.excerpts_by_file = [list(read_excerpts(file)) for file in files]
        # A file is drawn as often as it has excerpts, so all excerpts are equally probable.
        self.excerpt_counts = list(map(len, self.excerpts_by_file))

    def draw(self):
        """The next text."""
        (excerpts_of_file,) = self.rng.choices(self.excerpts_by_file, self.excerpt_counts)
        return "\n".join(self.rng.choices(excerpts_of_file, k=self.rng.randint(MIN_EXCERPTS, MAX_EXCERPTS)))


def read_excerpts(file):
    with open(file) as documents:
        for document in documents:
            excerpt = ""
            for line in json.loads(document)["text"].splitlines():
                if excerpt and len(excerpt) + len(line) > EXCERPT_LENGTH:
                    yield excerpt
                    excerpt = ""
                excerpt += line[:EXCERPT_LENGTH] + "\n"
            # The end of a document is left out if it is shorter than half of EXCERPT_LENGTH.
            if len(excerpt) > EXCERPT_LENGTH // 2:
                yield excerpt
