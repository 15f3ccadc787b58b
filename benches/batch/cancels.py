"""How soon pairs, clusters and components obey a cancel.

    python benches/batch/cancels.py ROWS

In a table of ROWS uniform fingerprints, and of half as many pairs of ids. It wants a quiet machine more than the other
measurements do. Needs the packages of requirements.txt, PYTHONPATH=benches, and psql's environment (PGHOST and so on)
pointing to a server with pg_simhash.
"""

import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from statistics import median

import components
import psycopg
from statements import environment, psql, value
from ways import ARRAYS, FULL, MEMORY, WAYS

CANCELS = 10
CANCEL_BAR = 0.1
# Seconds after which nothing new happens.
LONGEST = 10
# What is compared with everything in the tests of cancelling: beyond distance 16 or so nothing else is possible.
BRUTE_ROWS, BRUTE_DISTANCE = 300_000, 19


def main():
    rows = int(sys.argv[1])
    print(f"shared_buffers {value('SHOW shared_buffers')}, no JIT, no parallel workers; {rows:,} uniform fingerprints")
    psql("CREATE UNLOGGED TABLE cancelled AS SELECT i AS id, hashint8extended(i, 0) AS fp"
         f" FROM generate_series(1, {rows}::bigint) AS i", "VACUUM ANALYZE cancelled")
    print(f"seconds from pg_cancel_backend to the error, at up to {CANCELS} random moments of each")
    ours, own = statements(rows)
    for settings in ({}, MEMORY):
        memory = settings.get("work_mem") or value("SHOW work_mem")
        # PostgreSQL's own part of the others: no bar is below what it takes.
        bar = max(CANCEL_BAR, *(cancelled(name, statement, memory, settings) for name, statement in own.items()))
        worst = max(cancelled(name, statement, memory, settings) for name, statement in ours.items())
        print(f"work_mem {memory}: cancelled in {worst * 1e3:.0f} ms at the worst, bar {bar * 1e3:.0f}:"
              f" {'reached' if worst <= bar else 'MISSED'}", flush=True)


def statements(rows):
    """The statements that are cancelled, by name; and those parts of them that are PostgreSQL's alone."""
    brute_rows = BRUTE_ROWS if rows == FULL else BRUTE_ROWS // 10
    brute = f"(SELECT * FROM cancelled LIMIT {brute_rows}) AS few"
    ours = {
        f"pairs of {rows:,}": WAYS["pairs"].format(table="cancelled"),
        f"clusters of {rows:,}": WAYS["clusters"].format(table="cancelled"),
        f"pairs of {brute_rows:,} at distance {BRUTE_DISTANCE}":
            f"SELECT count(*) FROM {ARRAYS.format(table=brute)}, simhash_pairs(ids, fps, {BRUTE_DISTANCE})",
    }
    own = {
        f"two array_agg of {rows:,}": WAYS["arrays"].format(table="cancelled"),
        f"ntile of {rows:,}": WAYS["window"].format(table="cancelled"),
    }
    for name in ("bigint", "text"):
        table = components.load(name, rows // 2, prefix="cancelled")
        ours[f"components of {rows // 2:,} pairs of {name}"] = components.WAYS["components"].format(table=table)
        own[f"array_agg of {rows // 2:,} pairs of {name}"] = components.WAYS["arrays"].format(table=table)
    return ours, own


def cancelled(name, statement, memory, settings):
    """How long the slowest of some cancels of the statement took."""
    rng = random.Random(1)
    taken = []
    options = environment(settings)["PGOPTIONS"]
    with (
        psycopg.connect(options=options, autocommit=True) as victim,
        psycopg.connect(autocommit=True) as other,
        ThreadPoolExecutor(1) as pool,
    ):
        start = time.perf_counter()
        victim.execute(statement)
        whole = time.perf_counter() - start
        while len(taken) < CANCELS:
            ended = pool.submit(outcome, victim, statement)
            time.sleep(rng.uniform(0, min(whole, LONGEST)))
            asked = time.perf_counter()
            other.execute("SELECT pg_cancel_backend(%s)", [victim.info.backend_pid])
            was_cancelled, moment = ended.result()
            # Others have ended before.
            if was_cancelled:
                taken.append(moment - asked)
    print(f"  work_mem {memory}, {name}: median {median(taken):.3f}, worst {max(taken):.3f}", flush=True)
    return max(taken)


def outcome(connection, statement):
    """Whether the statement was cancelled, and when it ended."""
    try:
        connection.execute(statement)
    except psycopg.errors.QueryCanceled:
        return True, time.perf_counter()
    return False, time.perf_counter()


if __name__ == "__main__":
    main()
