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
WAYS = {
    "simhash_contains": ("gin (simhash_passages(body))", f"simhash_contains(body, %s, {SHARE})", 1),
    "pg_trgm GIN": ("gin (body gin_trgm_ops)", "%s <%% body", 5),
    "pg_trgm GiST": ("gist (body gist_trgm_ops)", "%s <%% body", 25),
    "phrase": ("gin (to_tsvector('simple', body))", "to_tsvector('simple', body) @@ phraseto_tsquery('simple', %s)", 1),
    "LIKE": ("gin (body gin_trgm_ops)", "body LIKE '%%' || %s || '%%'", 1),
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
    for way in WAYS:
        results[way] = build, size, inserts, answers = measure(*WAYS[way], asked)
        cells = (f"{ms:>8.2f} ms {recall:>4.2f}" for ms, recall in answers.values())
        print(f"{way:<17} {build:>8.1f} {size:>6.0f} {inserts:>9.0f}", *cells, flush=True)
    ours, trgm = results["simhash_contains"], results["pg_trgm GIN"]
    best = {c: min(results[w][3][c][0] for w in ("pg_trgm GIN", "pg_trgm GiST")) for c in CLUES}
    bar("index at most .7 of pg_trgm's GIN", ours[1] / trgm[1], at_most=0.7)
    bar("built at least 5 times as fast", trgm[0] / ours[0], at_least=5)
    bar("inserts not slower", ours[2] / trgm[2], at_least=1)
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
    bodies = [body for (body,) in psql("SELECT body FROM docs ORDER BY id")]
    words = [word for body in bodies[:1000] for word in re.findall(r"\w+", body)]
    asked = {}
    for length, percent in CLUES:
        asked[length, percent] = kind = []
        while len(kind) < count:
            body = rng.choice(bodies).split(" ")
            if len(body) < length + 4:
                continue
            start = rng.randrange(len(body) - length)
            clue = body[start : start + length]
            has = [str(i) for i, other in enumerate(bodies, 1) if " ".join(clue) in other]
            for at in rng.sample(range(length), round(length * percent / 100 + rng.random() - 0.5)):
                clue[at] = rng.choice(words)
            kind.append((" ".join(clue), set(has)))
    return asked


def measure(index, condition, slowness, asked):
    build = seconds(f"CREATE INDEX way ON docs USING {index}", maintenance_work_mem="256MB")
    psql("ALTER INDEX way ALTER COLUMN 1 SET STATISTICS 1000", "ANALYZE docs") if "simhash" in index else None
    size = int(value("SELECT pg_relation_size('way')")) / 1e6
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
    inserts = INSERTED / seconds("BEGIN", "INSERT INTO docs (body) SELECT body FROM more", "ROLLBACK", "VACUUM docs")
    psql("DROP INDEX way")
    return build, size, inserts, answers


main()
