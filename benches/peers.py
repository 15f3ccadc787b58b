"""Which of many texts are copies of earlier ones: pg_simhash, and libraries that answer it too, each in one thread.

    python benches/peers.py COUNT FILE.jsonl...

Of ten texts, six are excerpts of the FILEs, all different, and four are edits of earlier texts. The truth is the key:
edits must go, all others must stay. Precision is the share of edits among the texts that go, recall the share of the
edits that go. The last columns are the recall of those edits of a sample whose resemblance J to their source, by
5-character shingles, is at least .8 and .9. Memory is what the process has at most beyond the list of texts; of the
server, without what it shares. PEERS=pattern measures only the peers whose names match.

Needs the Python packages pg_simhash, datasketch, rensa, text-dedup, xxhash and psycopg, PYTHONPATH=benches, and psql's
environment (PGHOST and so on) pointing to a server with pg_simhash. It is run by hand, for docs/choosing.md.
"""

import contextlib
import itertools
import json
import logging
import multiprocessing
import os
import pathlib
import random
import re
import resource
import sys
import tempfile
import time
from collections import namedtuple
from functools import partial

import datasets
import datasketch
import numpy
import pg_simhash
import psycopg
import rensa
import xxhash
from debian_sets import jaccard, normalised, shingles
from text_dedup import minhash as text_dedup
from texts import Texts

# An edit adds, removes or replaces each word with a chance of at most MAX_WORD_SHARE; one in LINE_ONE_IN also adds a
# line, and one in CASE_ONE_IN changes case or punctuation.
EDITS_OF_TEN, MAX_WORD_SHARE, LINE_ONE_IN, CASE_ONE_IN = 4, 0.1, 4, 4
SAMPLE = 20_000
OPTIONS = "-c jit=off -c max_parallel_workers_per_gather=0 -c work_mem=1GB"


# CPU seconds, and the peak of memory in bytes.
Usage = namedtuple("Usage", ["cpu", "memory"])


def make_texts(count, files):
    """The texts, and for each the number of its source; None if it is no edit. These are different from each other."""
    library, rng, drawn = Texts(files), random.Random(5), set()
    texts, sources = [], []
    for number in range(count):
        if number % 10 < 10 - EDITS_OF_TEN:
            text = ""
            while text in drawn or len(normalised(text)) < 40:
                text = library.draw()
            drawn.add(text)
            texts.append(text)
            sources.append(None)
        else:
            sources.append(rng.randrange(number))
            texts.append(edit(texts[sources[-1]], texts[rng.randrange(number)], rng))
    return texts, sources


def edit(text, other, rng):
    """An edit of the text. New words and lines come from the other text."""
    chance, words, parts = rng.uniform(0, MAX_WORD_SHARE), other.split(), []
    for part in re.findall(r"\s+|\S+", text):
        if part.isspace() or rng.random() >= chance:
            parts.append(part)
        else:
            parts.append(rng.choice([f"{part} {rng.choice(words)}", "", rng.choice(words)]))
    text = "".join(parts)
    if rng.randrange(LINE_ONE_IN) == 0:
        line = rng.choice(other.split("\n"))
        text = rng.choice([f"{line}\n{text}", f"{text}\n{line}"])
    if rng.randrange(CASE_ONE_IN) == 0:
        text = rng.choice([text.upper(), text.lower(), text.title(), re.sub(r"[,;:'\"]", "", text)])
    return text


def in_sql(function, criterion, _texts):
    with psycopg.connect(options=OPTIONS) as database:
        rows = database.execute(f"""SELECT id FROM (
            SELECT id, {function}(id, body, '{criterion}') OVER (ORDER BY id) AS earlier FROM texts) AS found
            WHERE earlier <> id""").fetchall()
        return [number for (number,) in rows], usage(database.info.backend_pid)


def in_python(function, criterion, texts):
    found = getattr(pg_simhash, function)(texts, **criterion)
    return ((found >= 0) & (found != numpy.arange(len(texts)))).nonzero()[0], usage("self")


def words(text):
    return re.findall(r"\w+", text.lower())


def by_rensa(threshold, bands, texts):
    index = rensa.RMinHashDeduplicator(threshold, 128, True, bands)
    stays = index.add_pairs((str(number), words(text)) for number, text in enumerate(texts))
    return [number for number, stay in enumerate(stays) if not stay], usage("self")


def by_datasketch(threshold, texts):
    index, gone = datasketch.MinHashLSH(threshold=threshold, num_perm=128), []
    features = ([word.encode() for word in words(text)] for text in texts)
    signatures = datasketch.MinHash.generator(features, num_perm=128, hashfunc=xxhash.xxh32_intdigest)
    for number, signature in enumerate(signatures):
        if index.query(signature):
            gone.append(number)
        else:
            index.insert(number, signature, check_duplication=False)
    return gone, usage("self")


def by_text_dedup(threshold, ngram, texts):
    """Its command, within this process. It keeps any text of a cluster; here the first one stays."""
    arguments = {"path": "texts", "output": "kept", "cache_dir": "cache", "column": "text", "threshold": threshold,
                 "ngram": ngram, "num_perm": 128, "min_length": 1, "hash_func": "xxh3", "hash_bits": 32, "num_proc": 1}
    text_dedup.main(["--local", *(f"--{name}={value}" for name, value in arguments.items())], standalone_mode=False)
    used, first, find = usage("self"), {}, text_dedup.uf.find
    return [number for number in range(len(texts)) if first.setdefault(find(number), number) != number], used


def peers():
    criteria = {"": {}, ", 0.6": {"resemblance": 0.6}}
    for (label, criterion), name in itertools.product(criteria.items(), ("duplicate_of", "cluster")):
        yield f"pg_simhash, SQL, {name}{label}", partial(in_sql, f"simhash_{name}", json.dumps(criterion))
    for (label, criterion), name in itertools.product(criteria.items(), ("duplicate_of", "text_clusters")):
        yield f"pg_simhash, Python, {name}{label}", partial(in_python, name, criterion)
    yield "rensa, 0.8", partial(by_rensa, 0.8, None)
    for threshold in (0.7, 0.6, 0.5):
        yield f"rensa, {threshold}, 32 bands", partial(by_rensa, threshold, 32)
    for threshold in (0.8, 0.7, 0.6, 0.5):
        yield f"datasketch, {threshold}", partial(by_datasketch, threshold)
    yield "text-dedup, 0.7, 5 words", partial(by_text_dedup, 0.7, 5)
    for threshold in (0.8, 0.7, 0.6):
        yield f"text-dedup, {threshold}, 1 word", partial(by_text_dedup, threshold, 1)


def main():
    logging.disable()  # text-dedup logs much
    count, files = int(sys.argv[1]), sys.argv[2:]
    texts, sources = make_texts(count, files)
    edits = [number for number, source in enumerate(sources) if source is not None]
    resemblances = {edit: jaccard(shingles(texts[edit]), shingles(texts[sources[edit]]))
                    for edit in random.Random(7).sample(edits, min(SAMPLE, len(edits)))}
    print(f"{count:,} texts of {sum(map(len, texts)) / count:,.0f} characters, {len(edits):,} edits\n")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        store(texts)
        compare(texts, edits, resemblances)


def compare(texts, edits, resemblances):
    print(f"{'':40} {'s':>6} {'CPU, s':>6} {'texts/s':>8} {'MB':>6} {'gone':>8} precision recall   >= .8  >= .9")
    for name, peer in peers():
        if not re.search(os.environ.get("PEERS", ""), name):
            continue
        gone, wall, cpu, memory = measure_in_process(peer, texts)
        right = sum(edit in gone for edit in edits)
        recalls = [numpy.mean([edit in gone for edit, resemblance in resemblances.items() if resemblance >= least])
                   for least in (0.8, 0.9)]
        print(f"{name:40} {wall:6.1f} {cpu:6.1f} {len(texts) / wall:8,.0f} {memory / 1e6:6,.0f} {len(gone):8,}"
              f" {right / len(gone):9.4f} {right / len(edits):6.4f}  {recalls[0]:.3f}  {recalls[1]:.3f}", flush=True)


def store(texts):
    """Puts the texts into the working directory, for text-dedup, and into a table."""
    datasets.Dataset.from_dict({"text": texts}).save_to_disk("texts")
    with psycopg.connect(autocommit=True) as database:
        database.execute("DROP TABLE IF EXISTS texts")
        database.execute("CREATE TABLE texts (id bigint, body text)")
        with database.cursor().copy("COPY texts FROM STDIN") as copy:
            for row in enumerate(texts):
                copy.write_row(row)
        database.execute("VACUUM ANALYZE texts")


def measure_in_process(peer, texts):
    results, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=measure, args=(peer, texts, sender))
    process.start()
    measured = results.recv()
    process.join()
    return measured


def measure(peer, texts, results):
    # The process of the server begins without the texts.
    before = 0 if peer.func == in_sql else usage("self").memory
    begin = time.perf_counter()
    gone, used = peer(texts)
    results.send((set(map(int, gone)), time.perf_counter() - begin, used.cpu, used.memory - before))


def usage(process):
    """What a process has used, with its children that have ended."""
    status = pathlib.Path(f"/proc/{process}/status").read_text()
    peak, shared = (int(re.search(rf"{name}:\s*(\d+) kB", status)[1]) << 10 for name in ("VmHWM", "RssShmem"))
    times = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:15]
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10 if process == "self" else 0
    return Usage(sum(map(int, times)) / os.sysconf("SC_CLK_TCK"), max(peak - shared, children))


if __name__ == "__main__":
    main()
