"""Which texts contain this: passages beside pg_trgm (GIN and GiST), phrase search and LIKE, on the same table.

    python3 passages.py CLUES TEXTS FILE.jsonl ...

Needs psql's environment (PGHOST and so on) pointing to a server with pg_simhash and pg_trgm. A clue is a row of words of
a text; in a changed clue, other words of the texts stand in the place of some. What a clue should find are the texts
that have it unchanged. Recall: the share of them that is found. The slow ways get fewer clues;
medians.
"""

import random
import re
import statistics
import sys

from statements import copy_in, psql, seconds, value
from texts import Texts

SHARE = 0.6  # pg_trgm's default, too
CLUES = [(12, 0), (12, 4), (12, 8), (25, 0), (25, 8), (25, 15), (60, 0), (60, 8), (60, 15)]
INSERTED = 5000
# The indexes, and what each serves: a name, the condition, and how many clues fewer it gets.
PHRASE = "to_tsvector('simple', body) @@ phraseto_tsquery('simple', %s)"
INDEXES = {
    "gin (simhash_passages(body))": [("simhash_contains", f"simhash_contains(body, %s, {SHARE})", 1)],
    "gin (body gin_trgm_ops)": [("pg_trgm GIN", "%s <%% body", 5), ("LIKE", "body LIKE '%%' || %s || '%%'", 1)],
    "gist (body gist_trgm_ops)": [("pg_trgm GiST", "%s <%% body", 25)],
    "gin (to_tsvector('simple', body))": [("phrase", PHRASE, 1)],
}


def main():
    clues, texts, files = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    made = Texts(files)
    psql("CREATE EXTENSION IF NOT EXISTS pg_trgm", "DROP TABLE IF EXISTS docs, more",
         "CREATE TABLE docs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text)",
         "CREATE TABLE more (body text)")
    copy_in("docs (body)", ([line(made)] for _ in range(texts)))
    copy_in("more", ([line(made)] for _ in range(INSERTED)))
    psql("VACUUM ANALYZE docs")
    size = int(value("SELECT sum(octet_length(body)) FROM docs"))
    print(f"{texts} texts, {size / 1e6:.0f} MB; {clues} clues of each kind; share {SHARE}\n")
    asked = clues_of(clues)
    print(f"{'':<17} {'build s':>8} {'MB':>6} {'inserts/s':>9}", *(f"{f'{n} words, {p} %':>16}" for n, p in CLUES), flush=True)
    results = {}
    for index, ways in INDEXES.items():
        build = seconds(f"CREATE INDEX way ON docs USING {index}")
        if "simhash" in index:
            psql("ALTER INDEX way ALTER COLUMN 1 SET STATISTICS 1000", "ANALYZE docs")
        size = int(value("SELECT pg_relation_size('way')")) / 1e6
        answers = {name: answer(condition, slowness, asked) for name, condition, slowness in ways}
        inserts = INSERTED / seconds("BEGIN", "INSERT INTO docs (body) SELECT body FROM more", "ROLLBACK", "VACUUM docs")
        psql("DROP INDEX way")
        for name, of_kinds in answers.items():
            results[name] = build, size, inserts, of_kinds
            cells = (f"{ms:>8.2f} ms {recall:>4.2f}" for ms, recall in of_kinds.values())
            print(f"{name:<17} {build:>8.1f} {size:>6.0f} {inserts:>9.0f}", *cells, flush=True)
    ours, gin, gist = (results[name] for name in ("simhash_contains", "pg_trgm GIN", "pg_trgm GiST"))
    best = {clue: min(gin[3][clue][0], gist[3][clue][0]) for clue in CLUES}
    bar("index at most .7 of pg_trgm's GIN", ours[1] / gin[1], at_most=0.7)
    bar("built at least 5 times as fast as it", gin[0] / ours[0], at_least=5)
    bar("inserts not slower than with GIN", ours[2] / gin[2], at_least=1)
    bar("inserts not slower than with GiST", ours[2] / gist[2], at_least=1)
    bar("a clue at least 20 times as fast as pg_trgm's best", min(best[c] / ours[3][c][0] for c in CLUES), at_least=20)


def line(made):
    """A text, on one line: LIKE finds no clue across the end of a line."""
    text = re.sub(r"\\(.)", lambda escaped: " " if escaped[1] in "nrt" else escaped[0], made.text())
    return " ".join(text.split())


def bar(name, found, at_least=None, at_most=None):
    reached = found >= at_least if at_least else found <= at_most
    print(f"{name}: {found:.2f}: {'reached' if reached else 'MISSED'}")


def clues_of(count):
    """For each length and share of changed words: clues, each with the ids of the texts that have it unchanged."""
    rng = random.Random(52)
    bodies = [f" {body} " for (body,) in psql("SELECT body FROM docs ORDER BY id")]
    words = [word for body in bodies[:1000] for word in re.findall(r"\w+", body)]
    asked = {}
    for length, percent in CLUES:
        asked[length, percent] = kind = []
        while len(kind) < count:
            body = rng.choice(bodies).split()
            start = rng.randrange(len(body))
            clue = body[start : start + length]
            if len(clue) < length or not all(re.search(r"[^\W_]", word) for word in clue):
                continue
            has = [str(i) for i, other in enumerate(bodies, 1) if f" {' '.join(clue)} " in other]
            for at in rng.sample(range(length), round(length * percent / 100 + rng.random() - 0.5)):
                clue[at] = rng.choice(words)
            kind.append((" ".join(clue), set(has)))
    return asked


def answer(condition, slowness, asked):
    """For each kind of clues: the median time of a search, and the share of the texts that it finds."""
    answers = {}
    for kind, clues in asked.items():
        times, found, should = [], 0, 0
        for clue, has in clues[: max(1, len(clues) // slowness)]:
            quoted = "'" + clue.replace("'", "''") + "'"
            if "LIKE" in condition:
                quoted = quoted.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
            query = f"SELECT id FROM docs WHERE {condition % quoted}"
            settings = {"enable_seqscan": "off", "pg_trgm.word_similarity_threshold": SHARE}
            rows = psql(query, "\\timing on", query, "\\timing off", **settings)
            times += [float(row[0].split()[1]) for row in rows if row[0].startswith("Time: ")]
            found += len({row[0] for row in rows} & has)
            should += len(has)
        answers[kind] = statistics.median(times), found / should
    return answers


main()
