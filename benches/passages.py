"""Edited clues: how many are candidates, and are found by their share; and how many other texts are found.

    python3 passages.py CLUES FILE.jsonl ...

Needs psql's environment (PGHOST and so on) pointing to a server with pg_simhash. Each file is a kind of texts. A clue is
a row of words of a text, of which some are replaced by other words of these texts, or for "moved" one is removed and one
inserted. A find is wrong if the text has less than .8 of the clue as it was before. Leaves the tables docs, with the
texts and their passages, and clues, for postings.py.
"""

import json
import random
import re
import sys
from pathlib import Path

from statements import copy_in, psql, seconds, value

CLUES = [(8, 0), (12, 0), (12, "15 %"), (12, 2), (12, "moved"), (15, 1), (15, 2), (15, 3), (25, 4), (60, 9)]
SHARES = 0.5, 0.6, 0.7, 0.8
ESCAPED = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\0": " "})


def main():
    count, files = int(sys.argv[1]), sys.argv[2:]
    kinds = {Path(file).stem: [json.loads(line)["text"] for line in open(file)] for file in files}
    psql("DROP TABLE IF EXISTS docs, clues",
         "CREATE TABLE docs (id integer GENERATED ALWAYS AS IDENTITY, kind text, body text, hashes bigint[])",
         "CREATE TABLE clues (kind text, words integer, changed text, of integer, clue text, original text)")
    copy_in("docs (kind, body)", ([kind, text.translate(ESCAPED)] for kind, texts in kinds.items() for text in texts))
    first = 1
    for kind, texts in kinds.items():
        copy_in("clues", clues_of(kind, texts, first, count))
        first += len(texts)
    took = seconds("UPDATE docs SET hashes = simhash_passages(body)")
    psql("VACUUM FULL docs", "CREATE INDEX docs_hashes ON docs USING gin (hashes)",
         "CREATE INDEX docs_id ON docs (id)", "ANALYZE docs")
    words, entries, size = psql("SELECT sum(cardinality(regexp_split_to_array(body, '\\W+'))), "
                                "sum(cardinality(hashes)), pg_relation_size('docs_hashes') / 1e6 FROM docs")[0]
    print(f"{value('SELECT count(*) FROM docs')} texts, {words} words, {entries} passages in {took:.1f} s, index {size} MB\n")
    print("Candidates, and found by a share of .5, .6, .7, .8; wrong finds of a clue: of its kind, and of 100,000 others")
    shares = ", ".join(f"round(avg((share >= {share})::integer), 3)" for share in SHARES)
    wrong = ", ".join(f"round((count(*) FILTER (WHERE wrong AND same AND share >= {share}) / {count}.), 3)" for share in SHARES)
    others = ", ".join(f"round((count(*) FILTER (WHERE wrong AND NOT same AND share >= {share}) * 1e5 / {count} / others), 4)"
                       for share in SHARES)
    for kind, texts in kinds.items():
        for length, changed in CLUES:
            these = f"clues WHERE kind = '{kind}' AND words = {length} AND changed = '{changed}'"
            found = psql(f"SELECT round(avg(candidate::integer), 3), {shares} FROM (SELECT hashes && simhash_clue(clue) AS "
                         "candidate, CASE WHEN hashes && simhash_clue(clue) THEN simhash_coverage(body, clue) ELSE 0 END AS share "
                         f"FROM (SELECT * FROM {these}) AS c JOIN docs ON id = of) AS c")[0]
            rest = psql(f"SELECT round(count(*) / {count}., 1), {wrong}, {others} FROM (SELECT *, share >= .5 AND "
                        "simhash_coverage(body, original) < .8 AS wrong FROM (SELECT docs.body, docs.kind = c.kind AS same, "
                        f"original, simhash_coverage(body, clue) AS share FROM (SELECT * FROM {these}) AS c, LATERAL (SELECT * "
                        "FROM docs WHERE hashes && simhash_clue(clue)) AS docs OFFSET 0) AS c) AS c, (SELECT "
                        f"nullif(count(*) FILTER (WHERE kind <> '{kind}'), 0) AS others FROM docs) AS o GROUP BY others",
                        enable_seqscan="off")[0]
            print(f"{kind:<8} {length:>3} words, {changed:>5} changed:", *found, "| wrong", *rest[1:5], "|", *rest[5:],
                  f"| {rest[0]} candidates", flush=True)


def clues_of(kind, texts, first, count):
    rng = random.Random(66)
    words = [re.findall(r"[^\W_]+", text) for text in texts]
    for length, changed in CLUES:
        made = 0
        while made < count:
            of = rng.randrange(len(texts))
            if len(words[of]) <= length:
                continue
            start = rng.randrange(len(words[of]) - length)
            clue = words[of][start : start + length]
            original = " ".join(clue)
            places = [] if changed == "moved" else rng.sample(
                range(length), int(0.15 * length + rng.random()) if changed == "15 %" else changed)
            for place in places:
                clue[place] = rng.choice(rng.choice([text for text in rng.choices(words, k=9) if text]))
            if changed == "moved":
                del clue[rng.randrange(1, length - 1)]
                clue.insert(rng.randrange(1, length - 1), rng.choice(words[of]))
            made += 1
            yield kind, length, changed, first + of, " ".join(clue), original


main()
