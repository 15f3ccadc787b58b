"""Random texts: 1 to 9 excerpts of one kind of document. An excerpt is lines of a document, about 300 characters; a
longer line is cut."""

import json
import random

EXCERPT_LENGTH = 300
EXCERPTS = 1, 9


class Texts:
    """A sequence of random texts, which is the same in each run."""

    def __init__(self, files):
        self.rng = random.Random(4)
        self.excerpts_of = [list(excerpts(file)) for file in files]
        self.counts = list(map(len, self.excerpts_of))

    def draw(self):
        (of_one_file,) = self.rng.choices(self.excerpts_of, self.counts)
        return "\n".join(self.rng.choices(of_one_file, k=self.rng.randint(*EXCERPTS)))


def excerpts(file):
    with open(file) as lines:
        for line in lines:
            excerpt = ""
            for part in json.loads(line)["text"].splitlines():
                if excerpt and len(excerpt) + len(part) > EXCERPT_LENGTH:
                    yield excerpt
                    excerpt = ""
                excerpt += part[:EXCERPT_LENGTH] + "\n"
            # A rest shorter than half of that is left out.
            if len(excerpt) > EXCERPT_LENGTH // 2:
                yield excerpt
