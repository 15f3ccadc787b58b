"""Long calls release the GIL, and Ctrl-C ends them.

The programs run in processes of their own: one that holds the GIL, or cannot be interrupted, is ended by the time
limit, and fails.
"""

import subprocess
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor

from pg_simhash import simhash

# To compare two million fingerprints with each other takes hours.
ENDLESS = """
import numpy
fingerprints = numpy.random.default_rng(1).integers(-2**63, 2**63, 2_000_000)
"""

# The main thread goes on while another one is in a call that does not end.
BESIDE = """
import os, threading, time
import pg_simhash

started = threading.Event()

def work():
    started.set()
    {call}

thread = threading.Thread(target=work, daemon=True)
thread.start()
started.wait()
for _ in range(100):
    time.sleep(0.01)
assert thread.is_alive(), "the call has ended"
print("went on", flush=True)
os._exit(0)
"""

# A signal comes while the main thread is in a call.
INTERRUPTED = """
import signal
import pg_simhash

signal.signal(signal.SIGALRM, signal.default_int_handler)
try:
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    {call}
except KeyboardInterrupt:
    print("interrupted")
else:
    print("the call has ended")
assert pg_simhash.simhash("hello") == -7685981735718036227
"""

CALLS = {
    "pairs": "pg_simhash.pairs(fingerprints, 30)",
    "clusters": "pg_simhash.clusters(fingerprints, 30)",
    "a long text": "pg_simhash.simhash('some words ' * 10_000_000, tokens='chars', weight='tf', ngram=16)",
    "a list": "pg_simhash.simhash(['some words ' * 1000] * 10_000_000)",
    "a list of short texts": "pg_simhash.simhash(str(number) for number in iter(int, 1))",
}


def run(program, call):
    program = ENDLESS + program.format(call=call)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600)


class Threads(unittest.TestCase):
    def test_other_threads_go_on(self):
        for name, call in CALLS.items():
            if name == "a long text":
                call = f"while True: {call}"
            with self.subTest(name):
                ended = run(BESIDE, call)
                self.assertEqual((ended.stdout, ended.stderr), ("went on\n", ""))

    def test_signal_ends_call(self):
        for name, call in CALLS.items():
            with self.subTest(name):
                ended = run(INTERRUPTED, call)
                self.assertEqual((ended.stdout, ended.stderr), ("interrupted\n", ""))

    def test_signal_ends_reading(self):
        """No Python code runs while the texts are read, and the last one is of a wrong type."""
        texts = "itertools.chain(map(max, itertools.repeat(['a'] * 10_000, 30_000)), [1])"
        ended = run(INTERRUPTED, f"import itertools; pg_simhash.duplicate_of({texts})")
        self.assertEqual((ended.stdout, ended.stderr), ("interrupted\n", ""))

    def test_simhash_in_signal_handler(self):
        handler = "signal.signal(signal.SIGALRM, lambda *_: print(pg_simhash.simhash('hello')) or exit())"
        program = INTERRUPTED.replace("signal.signal(signal.SIGALRM, signal.default_int_handler)", handler)
        ended = run(program, CALLS["a long text"])
        self.assertEqual((ended.stdout, ended.stderr), ("-7685981735718036227\n", ""))

    def test_scratch_memory_of_threads(self):
        texts = [f"{word} and more words, in text {number} " * 300 for number in range(40) for word in "abcdef"]
        expected = [simhash(text) for text in texts]
        with ThreadPoolExecutor(8) as pool:
            for _ in range(5):
                self.assertEqual(list(pool.map(simhash, texts)), expected)
