"""Which of many texts are copies of earlier ones: pg_simhash, and libraries that answer it too, each in one thread.

    python benches/peers.py COUNT FILE.jsonl...

Of ten texts, six are excerpts of the FILEs, all different, and four are edits of earlier texts. A peer should find all
edits as duplicates, and no other text. Precision is the share of edits among the duplicates that it finds, recall the
share of the edits that it finds. The last columns are the recall of those edits of a sample whose resemblance J to
their source, by 5-character shingles, is at least .8 and .9. Memory is what the process has at most beyond the list of
texts; of the server, without what it shares. PEERS=pattern measures only the peers whose names match.

Needs the Python packages pg_simhash, datasketch, rensa, text-dedup, xxhash and psycopg. It is run by hand, for
docs/choosing.md.
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
from functools import partial

import datasets
import datasketch
import numpy
import pg_simhash
import psycopg
import rensa
import xxhash
from resembling import jaccard, normalised, shingles
from server import copy_in, psql
from text_dedup import minhash as text_dedup
from texts import RandomTexts

EDITS_PER_TEN_TEXTS = 4
# An edit adds, removes or replaces each word with a chance of at most MAX_WORD_SHARE. One in so many also adds a line,
# or changes case or punctuation.
MAX_WORD_SHARE, ONE_EDIT_IN_ADDS_LINE, ONE_EDIT_IN_CHANGES_CASE = 0.1, 4, 4
# The most edits whose resemblance to their source is computed.
MAX_SAMPLE = 20_000
# The least characters of a text that is no edit, in its normalised form.
MIN_LENGTH = 40
SETTINGS = "-c jit=off -c max_parallel_workers_per_gather=0 -c work_mem=1GB"


def main():
    logging.disable()  # text-dedup logs much
    text_count, files = int(sys.argv[1]), sys.argv[2:]
    texts, sources = make_texts(text_count, files)
    edits = [number for number, source in enumerate(sources) if source is not None]
    resemblances = {number: jaccard(shingles(texts[number]), shingles(texts[sources[number]]))
                    for number in random.Random(7).sample(edits, min(MAX_SAMPLE, len(edits)))}
    print(f"{text_count:,} texts of {sum(map(len, texts)) / text_count:,.0f} characters, {len(edits):,} edits\n")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        store(texts)
        report_peers(texts, edits, resemblances)


def report_peers(texts, edits, resemblances):
    print(f"{'':40} {'s':>6} {'CPU, s':>6} {'texts/s':>8} {'MB':>6} {'found':>8} precision recall   >= .8  >= .9")
    groups = edits, *([edit for edit in resemblances if resemblances[edit] >= least] for least in (0.8, 0.9))
    for name, peer, is_in_server in peers():
        if not re.search(os.environ.get("PEERS", ""), name):
            continue
        found, wall, cpu, memory = measure_in_process(peer, is_in_server, texts)
        recalls = [numpy.mean([edit in found for edit in group]) for group in groups]
        print(f"{name:40} {wall:6.1f} {cpu:6.1f} {len(texts) / wall:8,.0f} {memory / 1e6:6,.0f} {len(found):8,}"
              f" {len(found & set(edits)) / len(found):9.4f} {recalls[0]:6.4f}  {recalls[1]:.3f}  {recalls[2]:.3f}",
              flush=True)


def make_texts(text_count, files):
    """The texts, and for each the number of its source; None if it is no edit. Those without a source all differ."""
    random_texts, rng, drawn = RandomTexts(files), random.Random(5), set()
    texts, sources = [], []
    for number in range(text_count):
        if number % 10 < 10 - EDITS_PER_TEN_TEXTS:
            text = ""
            while text in drawn or len(normalised(text)) < MIN_LENGTH:
                text = random_texts.draw()
            drawn.add(text)
            texts.append(text)
            sources.append(None)
        else:
            sources.append(rng.randrange(number))
            texts.append(make_edit(texts[sources[-1]], texts[rng.randrange(number)], rng))
    return texts, sources


def make_edit(text, other, rng):
    """An edit of the text. New words and lines come from the other text."""
    chance, words, parts = rng.uniform(0, MAX_WORD_SHARE), other.split(), []
    for part in re.findall(r"\s+|\S+", text):
        if part.isspace() or rng.random() >= chance:
            parts.append(part)
        else:
            parts.append(rng.choice([f"{part} {rng.choice(words)}", "", rng.choice(words)]))
    text = "".join(parts)
    if rng.randrange(ONE_EDIT_IN_ADDS_LINE) == 0:
        line = rng.choice(other.split("\n"))
        text = rng.choice([f"{line}\n{text}", f"{text}\n{line}"])
    if rng.randrange(ONE_EDIT_IN_CHANGES_CASE) == 0:
        text = rng.choice([text.upper(), text.lower(), text.title(), re.sub(r"[,;:'\"]", "", text)])
    return text


def run_sql(function, criterion, _texts):
    """Runs a window function of the server, over the table of the texts."""
    with psycopg.connect(options=SETTINGS) as database:
        rows = database.execute(f"""SELECT id FROM (
            SELECT id, {function}(id, body, '{criterion}') OVER (ORDER BY id) AS earlier FROM texts) AS results
            WHERE earlier <> id""").fetchall()
        return [number for (number,) in rows], usage(database.info.backend_pid)


def run_python(function, criterion, texts):
    found = getattr(pg_simhash, function)(texts, **criterion)
    return ((found >= 0) & (found != numpy.arange(len(texts)))).nonzero()[0], usage("self")


def words(text):
    return re.findall(r"\w+", text.lower())


def run_rensa(threshold, bands, texts):
    index = rensa.RMinHashDeduplicator(threshold, 128, True, bands)
    stays = index.add_pairs((str(number), words(text)) for number, text in enumerate(texts))
    return [number for number, stay in enumerate(stays) if not stay], usage("self")


def run_datasketch(threshold, texts):
    index, duplicates = datasketch.MinHashLSH(threshold=threshold, num_perm=128), []
    features = ([word.encode() for word in words(text)] for text in texts)
    signatures = datasketch.MinHash.generator(features, num_perm=128, hashfunc=xxhash.xxh32_intdigest)
    for number, signature in enumerate(signatures):
        if index.query(signature):
            duplicates.append(number)
        else:
            index.insert(number, signature, check_duplication=False)
    return duplicates, usage("self")


def run_text_dedup(threshold, ngram, texts):
    """Its command, within this process. It keeps any text of a cluster; here the first one stays."""
    arguments = {"path": "texts", "output": "kept", "cache_dir": "cache", "column": "text", "threshold": threshold,
                 "ngram": ngram, "num_perm": 128, "min_length": 1, "hash_func": "xxh3", "hash_bits": 32, "num_proc": 1}
    text_dedup.main(["--local", *(f"--{name}={value}" for name, value in arguments.items())], standalone_mode=False)
    used = usage("self")
    first, find = {}, text_dedup.uf.find
    return [number for number in range(len(texts)) if first.setdefault(find(number), number) != number], used


def peers():
    """Yields for each peer its name; a function of the texts, which returns the numbers of the duplicates and the
    `usage` of the process that found them; and whether that process is the server's."""
    criteria = {"": {}, ", 0.6": {"resemblance": 0.6}}
    for (label, criterion), name in itertools.product(criteria.items(), ("duplicate_of", "cluster")):
        yield f"pg_simhash, SQL, {name}{label}", partial(run_sql, f"simhash_{name}", json.dumps(criterion)), True
    for (label, criterion), name in itertools.product(criteria.items(), ("duplicate_of", "text_clusters")):
        yield f"pg_simhash, Python, {name}{label}", partial(run_python, name, criterion), False
    yield "rensa, 0.8", partial(run_rensa, 0.8, None), False
    for threshold in (0.7, 0.6, 0.5):
        yield f"rensa, {threshold}, 32 bands", partial(run_rensa, threshold, 32), False
    for threshold in (0.8, 0.7, 0.6, 0.5):
        yield f"datasketch, {threshold}", partial(run_datasketch, threshold), False
    yield "text-dedup, 0.7, 5 words", partial(run_text_dedup, 0.7, 5), False
    for threshold in (0.8, 0.7, 0.6):
        yield f"text-dedup, {threshold}, 1 word", partial(run_text_dedup, threshold, 1), False


def store(texts):
    """Puts the texts into the working directory, for text-dedup, and into a table."""
    datasets.Dataset.from_dict({"text": texts}).save_to_disk("texts")
    psql("DROP TABLE IF EXISTS texts", "CREATE TABLE texts (id bigint, body text)")
    copy_in("texts", enumerate(texts))
    psql("VACUUM ANALYZE texts")


def measure_in_process(peer, is_in_server, texts):
    """Runs a peer in a process of its own. Returns the duplicates, the seconds, the CPU seconds, and the memory."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=measure_peer, args=(peer, is_in_server, texts, sender))
    process.start()
    measured = receiver.recv()
    process.join()
    return measured


def measure_peer(peer, is_in_server, texts, sender):
    # The process of the server begins without the texts.
    memory_before = 0 if is_in_server else usage("self")[1]
    begin = time.perf_counter()
    duplicates, (cpu, memory) = peer(texts)
    sender.send((set(map(int, duplicates)), time.perf_counter() - begin, cpu, memory - memory_before))


def usage(process):
    """The CPU seconds of a process and its peak of memory in bytes, with those of its children that have ended."""
    status = pathlib.Path(f"/proc/{process}/status").read_text()
    peak, shared = (int(re.search(rf"{name}:\s*(\d+) kB", status)[1]) << 10 for name in ("VmHWM", "RssShmem"))
    # utime, stime, cutime and cstime of proc(5), in ticks.
    ticks = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:15]
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10 if process == "self" else 0
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK"), max(peak - shared, children)


if __name__ == "__main__":
    main()
