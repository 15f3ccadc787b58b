"""Random texts: 1 to 9 passages of one kind of document. A passage is lines of a document, about 300 characters; a
longer line is cut."""

import json
import random

from statements import ESCAPED

PASSAGE_LENGTH = 300
PASSAGES = 1, 9


class Texts:
    """Random texts, escaped for COPY. The sequence is the same in each run."""

    def __init__(self, files):
        self.rng = random.Random(4)
        self.kinds = [list(passages(file)) for file in files]
        self.sizes = list(map(len, self.kinds))

    def text(self):
        (kind,) = self.rng.choices(self.kinds, self.sizes)
        return "\\n".join(self.rng.choices(kind, k=self.rng.randint(*PASSAGES)))


def passages(file):
    """The passages of a file, escaped for COPY."""
    with open(file) as lines:
        for line in lines:
            passage = ""
            for part in json.loads(line)["text"].splitlines():
                if passage and len(passage) + len(part) > PASSAGE_LENGTH:
                    yield passage
                    passage = ""
                passage += part[:PASSAGE_LENGTH].translate(ESCAPED) + "\\n"
            if len(passage) > PASSAGE_LENGTH // 2:
                yield passage
