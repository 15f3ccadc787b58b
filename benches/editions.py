"""Finds the next edition of a document, by several measures of how alike texts are.

    python benches/editions.py KEYS FOLDER

Two releases of Debian have many documents of the same name whose texts differ, as people edit. Here a pair is true if
its names are the same: no measure of texts decides what is true. FOLDER has the sets of debian_sets.py. Of each set, so
many KEYS are taken, by a hash of the name, with both editions. A measure is given every pair of an old and a new
edition. Recall is the share of the true pairs that it accepts, precision the share of true pairs among those accepted.
It is a hard measure of precision: manual pages of sister functions, and packages that are one template with another
name, are other documents here.

The limit of a measure is the one that its users are told first, or `best`: the limit with the best balance of precision
and recall (F1) on this set, which nobody knows beforehand. Time and size are of what is computed once for each text.

Needs psql's environment (PGHOST and so on) pointing to a server with pg_simhash and pg_trgm, and PYTHONPATH=benches.
"""

import gzip
import json
import os
import re
import sys
import time
import zlib
from pathlib import Path

import numpy
from datasketch import MinHash
from statements import copy_in, psql, seconds
from unisim import TextSim

SETS = "manuals", "paragraphs", "copyrights", "descriptions"
SHINGLE = 5
BITS = 8192
PERMUTATIONS = 128


def main():
    keys, folder = int(sys.argv[1]), Path(sys.argv[2])
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # One core, as the server's process has one.
    for name in SETS:
        old, new = editions(folder / f"{name}.jsonl.gz", keys)
        size = sum(map(len, old + new)) / len(old + new)
        print(f"\n{name}: {len(old)} documents in two editions, {size:.0f} characters\n")
        print(f"{'':<37} {'limit':>5} {'recall':>6} {'precision':>9} {'us a text':>10} {'bytes':>6}")
        for measure, limit, alike, cost, stored in measures(old, new):
            limits = [(limit, "")] if limit else []
            if alike.dtype != bool:
                limits.append((best(alike), ", best"))
            for chosen, of in limits:
                recall, precision = judged(alike >= chosen)
                print(f"{measure + of:<37} {chosen:>5.2f} {recall:>6.3f} {precision:>9.3f}"
                      f" {f'{cost * 1e6:.0f}' if cost else '':>10} {stored or '':>6}", flush=True)


def editions(path, keys):
    """The old and the new editions of documents, in the same order."""
    found = {}
    with gzip.open(path, "rt") as lines:
        for document in map(json.loads, lines):
            language, release, name = document["id"].split("/", 2)
            found.setdefault((language, name), {})[release] = " ".join(document["text"].split())
    both = [name for name, texts in found.items() if len(texts) == 2]
    both.sort(key=lambda name: zlib.crc32("/".join(name).encode()))
    # Releases in the order of the alphabet are in the order of time: bookworm, trixie.
    return zip(*([text for _, text in sorted(found[name].items())] for name in both[:keys]), strict=True)


def measures(old, new):
    """Name, usual limit, how alike each old text is to each new one, seconds and bytes for each text."""
    texts = len(old) + len(new)
    psql("CREATE EXTENSION IF NOT EXISTS pg_trgm", "DROP TABLE IF EXISTS old, new",
         *(f"CREATE TABLE {table} (id integer, body text)" for table in ("old", "new")))
    escapes = str.maketrans({"\\": "\\\\"})
    for table, bodies in ("old", old), ("new", new):
        copy_in(table, ((number, body.translate(escapes)) for number, body in enumerate(bodies)))
    spent = seconds("SELECT simhash(body) FROM old", "SELECT simhash(body) FROM new") / texts
    near = pairs(len(old), "simhash_near(old.body, new.body)::integer").astype(bool)
    yield "pg_simhash: simhash_near", 1, near, spent, 8
    yield "pg_simhash: simhash_resemblance", 0.84, pairs(len(old), "simhash_resemblance(old.body, new.body)"), None, None
    alike = pairs(len(old), "similarity(old.body, new.body)")
    spent = seconds("SELECT show_trgm(body) FROM old", "SELECT show_trgm(body) FROM new") / texts
    yield "pg_trgm: similarity", None, alike, spent, None

    signatures, spent = timed(lambda text: signature(shingles(text)), old, new)
    yield "MinHash, 128 permutations", 0.8, equal_share(*signatures), spent, 4 * PERMUTATIONS
    bits, spent = timed(lambda text: bit_set(shingles(text)), old, new)
    yield "pgvector, bit(8192), Jaccard", None, jaccard(*bits), spent, BITS // 8
    embed = TextSim(verbose=0).embed
    embedded, spent = timed(lambda text: embed([text])[0], old, new)
    alike = embedded[0] @ embedded[1].T
    yield "RETSim, cosine", 0.9, alike, spent, embedded[0][0].nbytes


def pairs(count, expression):
    found = psql(f"SELECT old.id, new.id, {expression} FROM old, new")
    alike = numpy.zeros((count, count))
    for old, new, value in found:
        alike[int(old), int(new)] = float(value or 0)
    return alike


def timed(compute, old, new):
    start = time.perf_counter()
    computed = [numpy.array([compute(text) for text in texts]) for texts in (old, new)]
    return computed, (time.perf_counter() - start) / (len(old) + len(new))


def shingles(text):
    text = re.sub(r"\W+", " ", text.casefold()).strip()
    return {text[start:start + SHINGLE].encode() for start in range(max(1, len(text) - SHINGLE + 1))}


def signature(shingles):
    made = MinHash(num_perm=PERMUTATIONS)
    made.update_batch(list(shingles))
    return made.hashvalues


def equal_share(old, new):
    return numpy.array([(new == one).mean(axis=1) for one in old])


def bit_set(shingles):
    bits = numpy.zeros(BITS, dtype=numpy.float32)
    bits[[zlib.crc32(shingle) % BITS for shingle in shingles]] = 1
    return bits


def jaccard(old, new):
    common = old @ new.T
    return common / (old.sum(axis=1)[:, None] + new.sum(axis=1)[None, :] - common)


def judged(accepted):
    """Recall and precision. True pairs are on the diagonal."""
    true = numpy.diag(accepted).sum()
    return true / len(accepted), true / max(1, accepted.sum())


def best(alike):
    def balance(limit):
        recall, precision = judged(alike >= limit)
        return 2 * recall * precision / max(recall + precision, 1e-9)

    return max((step / 100 for step in range(1, 101)), key=balance)


if __name__ == "__main__":
    main()
