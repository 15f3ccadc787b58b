"""How soon a cancel is obeyed.

    python benches/batch/cancels.py ROWS

This part alone, in a table of ROWS uniform fingerprints: it wants a quiet machine more than the others do.
"""

import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from statistics import median

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
    psql(f"CREATE UNLOGGED TABLE uniform AS SELECT i AS id, hashint8extended(i, 0) AS fp"
         f" FROM generate_series(1, {rows}::bigint) AS i", "VACUUM ANALYZE uniform")
    print()
    for line, reached in cancel("uniform", rows):
        print(f"{line}: {'reached' if reached else 'MISSED'}")


def cancel(table, rows):
    """Cancels statements at random moments, with the server's own work_mem and with that of the other measurements."""
    brute_rows = BRUTE_ROWS if rows == FULL else BRUTE_ROWS // 10
    brute = f"(SELECT * FROM {table} LIMIT {brute_rows}) AS few"
    # The first two are PostgreSQL's own part of the next two.
    statements = {
        f"two array_agg of {rows:,}": WAYS["arrays"].format(table=table),
        f"ntile of {rows:,}": WAYS["window"].format(table=table),
        f"pairs of {rows:,}": WAYS["pairs"].format(table=table),
        f"clusters of {rows:,}": WAYS["clusters"].format(table=table),
        f"pairs of {brute_rows:,} at distance {BRUTE_DISTANCE}":
            f"SELECT count(*) FROM {ARRAYS.format(table=brute)}, simhash_pairs(ids, fps, {BRUTE_DISTANCE})",
    }
    print(f"\nseconds from pg_cancel_backend to the error, at up to {CANCELS} random moments of each")
    judged = []
    for settings in ({}, MEMORY):
        memory = settings.get("work_mem") or value("SHOW work_mem")
        taken = [cancelled(name, statement, memory, settings) for name, statement in statements.items()]
        worst = max(taken[2:])
        judged.append((
            f"work_mem {memory}: cancelled in {worst * 1e3:.0f} ms at the worst, bar {CANCEL_BAR * 1e3:.0f}",
            worst <= CANCEL_BAR,
        ))
    return judged


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
