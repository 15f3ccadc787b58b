"""Texts as they are: one to nine passages of up to 300 bytes, whole lines, from documents of one kind."""

import json
import random

PASSAGE = 300
PASSAGES = 1, 9


class Texts:
    """As many as wanted, the same in each run."""

    def __init__(self, files):
        self.rng = random.Random(4)
        self.kinds = [list(passages(file)) for file in files]
        self.sizes = list(map(len, self.kinds))

    def text(self):
        (kind,) = self.rng.choices(self.kinds, self.sizes)
        return "\\n".join(self.rng.choices(kind, k=self.rng.randint(*PASSAGES)))


def passages(file):
    """As COPY reads them."""
    with open(file) as lines:
        for line in lines:
            passage = ""
            for part in json.loads(line)["text"].splitlines():
                if passage and len(passage) + len(part) > PASSAGE:
                    yield passage
                    passage = ""
                passage += part[:PASSAGE].replace("\\", "\\\\").replace("\t", "\\t").replace("\r", "\\r") + "\\n"
            if len(passage) > PASSAGE // 2:
                yield passage
