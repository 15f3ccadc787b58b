"""Many clients write near-duplicates into a guarded table. Then a scan of the table and of the clients' journals proves
that the guard let no near-duplicate in, lost no row and refused no row without a reason. amcheck examines the table.

    python tests/load/soak ACTION [--seconds N] [--clients N] [--seed N] [--partitions N]
        [--crash START_COMMAND] [--unguarded]

Needs the server of psql's environment (PGHOST and so on), with pg_simhash, and the packages of tests/requirements.txt.
Backends are terminated all the time. With --crash, backends and the postmaster are also killed (-9), and START_COMMAND
starts the server again. This needs the right to kill these processes.

With --unguarded the same happens without the guard. Then the proof must fail, which shows that it can.
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
    nearness = pool.Nearness(texts, fingerprints)
    if options.unguarded:
        table.unguard()
    print(
        f"{action}: {options.partitions or 'no'} partitions, {options.clients} clients, {options.seconds} s, seed {seed}, {len(texts)} texts,"
        f" {nearness.share():.1f} of which are near one of them, {nearness.refuted} pairs only by their fingerprints;"
        f" {table.durability()}", flush=True,
    )
    if not nearness.refuted:
        sys.exit("no pair of texts is near only by its fingerprints: this proves less than it should")
    until = time.monotonic() + options.seconds
    known = multiprocessing.Array("q", client.KNOWN_ROWS)
    with multiprocessing.Pool(options.clients + 1, client.share, (known,)) as processes:
        disturbed = processes.apply_async(disturb.run, (until, seed, options.crash))
        arguments = [(number, action, texts, seed, until) for number in range(1, options.clients + 1)]
        written = [processes.apply_async(client.run, one) for one in arguments]
        journals = [result.get(options.seconds + 120) for result in written]
        print(disturbed.get(60))
    failures = check.prove(journals, table.rows(), texts, fingerprints, nearness.near) + storage.failures()
    for failure in failures[:20]:
        print(f"FAILED: {failure}", file=sys.stderr)
    sys.exit(bool(failures))


def read_options():
    parser = argparse.ArgumentParser(prog="tests/load/soak")
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
