"""Many clients write near-duplicates into a guarded table; then a scan of it, and of the clients' journals,
proves that the guard let in none of them, lost nothing and turned nothing away without a reason. PostgreSQL's amcheck
looks at what is stored.

    python tests/soak ACTION [--seconds N] [--clients N] [--seed N] [--partitions N]
        [--crash START_COMMAND] [--unguarded]

Needs the server of psql's environment (PGHOST and so on), with pg_simhash, and the packages of
tests/drivers/requirements.txt.
Backends are terminated all the time. With --crash, some are killed (-9), which makes the server start again, and so is
its first process; START_COMMAND starts it again. That needs the rights to kill them.

With --unguarded the same happens without the guard: the proof must fail, which shows that it can.
"""

import argparse
import multiprocessing
import sys
import time

import check
import client
import disturb
import pool
import storage
import table


def main():
    # From Python 3.14 on, the default is to start each client from nothing, which may take longer than a short run.
    multiprocessing.set_start_method("fork")
    options = read_options()
    action, seed = options.action, options.seed
    texts = pool.texts(seed)
    fingerprints = table.create(action, texts, options.partitions)
    if options.unguarded:
        table.unguard()
    print(
        f"{action}: {options.partitions or 'no'} partitions, {options.clients} clients, {options.seconds} s, seed {seed}, {len(texts)} texts,"
        f" {pool.share_near(fingerprints):.1f} of which are near one of them; {table.durability()}", flush=True,
    )
    until = time.monotonic() + options.seconds
    known = multiprocessing.Array("q", client.KNOWN_ROWS)
    with multiprocessing.Pool(options.clients + 1, client.share, (known,)) as processes:
        disturbed = processes.apply_async(disturb.run, (until, seed, options.crash))
        arguments = [(number, action, texts, seed, until) for number in range(1, options.clients + 1)]
        written = [processes.apply_async(client.run, one) for one in arguments]
        journals = [result.get(options.seconds + 120) for result in written]
        print(disturbed.get(60))
    failures = check.prove(journals, table.rows(), texts, fingerprints) + storage.failures()
    for failure in failures[:20]:
        print(f"FAILED: {failure}", file=sys.stderr)
    sys.exit(bool(failures))


def read_options():
    parser = argparse.ArgumentParser(prog="tests/soak")
    parser.add_argument("action", choices=("reject", "skip"))
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    parser.add_argument("--partitions", type=int, default=0)
    parser.add_argument("--crash", metavar="START_COMMAND")
    parser.add_argument("--unguarded", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
