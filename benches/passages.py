"""Edited clues: for how many the own text is a candidate, for how many it is found, and how many other texts are.

    python3 benches/passages.py CLUES FILE.jsonl ...

Each file is a kind of texts. A clue is some words in a row of a text, of which some are replaced by other words of
these texts: a number of them; for "15 %", this share of them, rounded up or down at random; for "each", each word with
a probability of 15 %; for "moved", one is removed and one inserted. Leaves the tables docs, with the texts and their
passages, and clues; and own and candidates, those of the last line.
"""

import json
import random
import re
import sys
from pathlib import Path

from server import copy_in, psql, seconds

# The number of words of a clue, and how they are changed (see above).
LENGTHS_AND_CHANGES = [(8, 0), (12, 0), (12, "15 %"), (12, "each"), (12, 2), (12, "moved"), (15, 1), (15, 2), (15, 3),
                       (25, 4), (60, 9)]
# The least shares of a clue by which it is looked for.
SHARES = 0.5, 0.6, 0.7, 0.8
# A find is wrong if the text has less than this share of the clue as it was before it was changed.
MIN_ORIGINAL_SHARE = 0.8


def main():
    clue_count, files = int(sys.argv[1]), sys.argv[2:]
    kinds = {Path(file).stem: [json.loads(line)["text"] for line in Path(file).read_text().split("\n") if line]
             for file in files}
    load(kinds, clue_count)
    index_passages()
    report_clues(kinds, clue_count)


def load(kinds, clue_count):
    psql("DROP TABLE IF EXISTS docs, clues",
         "CREATE TABLE docs (id integer GENERATED ALWAYS AS IDENTITY, kind text, body text, passages bigint[])",
         "CREATE TABLE clues (kind text, words integer, changed text, doc_id integer, clue text, original text)")
    copy_in("docs (kind, body)", ((kind, text) for kind, texts in kinds.items() for text in texts))
    first_id = 1  # docs numbers the texts in the order in which they are copied.
    for kind, texts in kinds.items():
        copy_in("clues", clues_of(kind, texts, first_id, clue_count))
        first_id += len(texts)


def index_passages():
    took = seconds("UPDATE docs SET passages = simhash_passages(body)")
    psql("VACUUM FULL docs", "CREATE INDEX docs_passages ON docs USING gin (passages)",
         "CREATE INDEX docs_id ON docs (id)", "ANALYZE docs")
    ((texts, passages, megabytes),) = psql(
        "SELECT count(*), sum(cardinality(passages)), pg_relation_size('docs_passages') / 1000000 FROM docs")
    print(f"{texts} texts, {passages} passages, an index of {megabytes} MB in {took:.1f} s\n")


def report_clues(kinds, clue_count):
    shares = ", ".join(map(str, SHARES))
    print(f"Candidates, and found by a share of {shares}; wrong finds of a clue: of its kind, of 100,000 others")
    for kind in kinds:
        for length, changed in LENGTHS_AND_CHANGES:
            clues_and_docs = (f"FROM clues JOIN docs ON {{}} WHERE clues.kind = '{kind}' AND words = {length} "
                              f"AND changed = '{changed}'")
            print(f"{kind:<8} {length:>3} words, {changed:>5} changed:", *own_texts_found(clues_and_docs),
                  "| wrong", *wrong_finds(clues_and_docs, kind, clue_count), flush=True)


def own_texts_found(clues_and_docs):
    """The share of the clues whose own text is a candidate; and whose own text is found, by each share of a clue."""
    psql("DROP TABLE IF EXISTS own", "CREATE TABLE own AS SELECT passages && simhash_clue(clue) AS is_candidate, "
         f"simhash_coverage(body, clue) AS share {clues_and_docs.format('id = doc_id')}")
    shares = ", ".join(f"round(avg((is_candidate AND share >= {share})::integer), 3)" for share in SHARES)
    return psql(f"SELECT round(avg(is_candidate::integer), 3), {shares} FROM own")[0]


def wrong_finds(clues_and_docs, kind, clue_count):
    """How many texts a clue finds wrongly, by each share: of its kind, and of 100,000 of others; and its candidates."""
    psql("DROP TABLE IF EXISTS candidates", "CREATE TABLE candidates AS SELECT docs.kind = clues.kind AS is_same_kind, "
         "simhash_coverage(body, clue) AS share, simhash_coverage(body, original) AS original_share "
         + clues_and_docs.format("passages && simhash_clue(clue)"), enable_seqscan="off")
    other_texts = f"(SELECT count(*) / 1e5 FROM docs WHERE kind <> '{kind}')"
    rates = [
        f"round(count(*) FILTER (WHERE {which} AND original_share < {MIN_ORIGINAL_SHARE} AND share >= {share})"
        f" / {clue_count}. / {texts}, 4)"
        for which, texts in (("is_same_kind", "1"), ("NOT is_same_kind", f"nullif({other_texts}, 0)"))
        for share in SHARES]
    return psql(f"SELECT {', '.join(rates)}, round(count(*) / {clue_count}., 1) FROM candidates")[0]


def clues_of(kind, texts, first_id, clue_count):
    """Yields rows of the table clues. The texts have the ids from `first_id` on."""
    rng = random.Random(66)
    words = [re.findall(r"[^\W_]+", text) for text in texts]
    for length, changed in LENGTHS_AND_CHANGES:
        made = 0
        while made < clue_count:
            number = rng.randrange(len(texts))
            own_words = words[number]
            if len(own_words) <= length:
                continue
            start = rng.randrange(len(own_words) - length)
            original = own_words[start : start + length]
            clue = change_words(original, changed, own_words, words, rng)
            made += 1
            yield kind, length, changed, first_id + number, " ".join(clue), " ".join(original)


def change_words(original, changed, own_words, words, rng):
    """A clue, changed by words of all texts, or of its own text if one is moved."""
    clue = original.copy()
    # Both random numbers are drawn for every clue, also if its change needs none: so all changes have the same clues.
    replaced_count = {"moved": 0, "15 %": int(0.15 * len(clue) + rng.random()),
                      "each": sum(rng.random() < 0.15 for _ in clue)}.get(changed, changed)
    for position in rng.sample(range(len(clue)), replaced_count):
        clue[position] = rng.choice(rng.choice([text for text in rng.choices(words, k=9) if text]))
    if changed == "moved":
        del clue[rng.randrange(1, len(clue) - 1)]
        clue.insert(rng.randrange(1, len(clue)), rng.choice(own_words))
    return clue


if __name__ == "__main__":
    main()
