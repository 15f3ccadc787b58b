"""Many clients write near-duplicates into a guarded table. Then a scan of the table and of the clients' journals proves
that the guard let no near-duplicate in, or none without a mark, lost no row, and refused or marked no row without a
reason. amcheck examines the table.

    python tests/load/soak ACTION [--transactions N] [--clients N] [--seed N] [--partitions N] [--tenants N]
        [--among] [--crash START_COMMAND] [--unguarded]

Needs the server of psql's environment (PGHOST and so on), with pg_simhash, and the packages of tests/requirements.txt.
The clients commit at least N transactions. Backends are terminated all the time. With --crash, backends and the
postmaster are also killed (-9), and START_COMMAND starts the server again. This needs the right to kill these
processes.

With several tenants, the tenant is the scope of the guard and of the indexes. With --among, only active rows count, and
the clients make rows active and inactive; without it, all rows are active.

With --unguarded the same happens without the guard. Then the proof must find near-duplicates, which shows that it can.

The exit status is 1 if the proof fails, and 75 if the clients have not done their work (patience.py).
"""

import argparse
import multiprocessing
import os
import sys
import time

import psycopg

sys.path.append(f"{sys.path[0]}/..")

import check
import client
import disturb
import pool
import storage
import table
from patience import LIMIT, NotReached, not_reached, until


def main():
    # From Python 3.14 on, the default is to start each client from nothing, which takes seconds.
    multiprocessing.set_start_method("fork")
    with not_reached(psycopg.errors.QueryCanceled):
        soak(read_options())


def soak(options):
    os.environ["PGOPTIONS"] = LIMIT
    action, seed = options.action, options.seed
    texts = pool.texts(seed)
    fingerprints = table.create(action, texts, options.partitions, options.tenants, options.among)
    nearness = pool.Nearness(texts, fingerprints, options.tenants)
    if options.unguarded:
        table.unguard()
    print(
        f"{action}: {options.partitions or 'no'} partitions, {options.tenants} tenants,"
        f" {'active' if options.among else 'all'} rows count, {options.clients} clients,"
        f" {options.transactions} transactions, seed {seed}, {len(texts)} texts, {nearness.share():.1f} of which are near one of them,"
        f" {nearness.refuted} pairs only by their fingerprints; {table.durability()}",
        flush=True,
    )
    if not nearness.refuted:
        raise NotReached("no pair of texts is near only by its fingerprints")
    journals = write(options, texts)
    rows = table.rows()
    failures = check.prove(journals, rows, texts, fingerprints, nearness.near) + storage.failures()
    if options.unguarded:
        if not any("are at distance" in failure for failure in failures):
            sys.exit("FAILED: without a guard, no near-duplicate was found")
        return
    for failure in failures[:20]:
        print(f"FAILED: {failure}", file=sys.stderr)
    if failures:
        sys.exit(1)
    if not rows or not any(journal.refusals for journal in journals):
        raise NotReached("nothing was stored, or nothing refused")


def write(options, texts):
    """The journals of the clients."""
    known = multiprocessing.Array("q", client.KNOWN_ROWS)
    committed = multiprocessing.Value("q")
    over = multiprocessing.Event()
    with multiprocessing.Pool(options.clients, client.share, (known, committed, over)) as processes:
        numbers = range(1, options.clients + 1)
        arguments = [(number, options.action, texts, options.tenants, options.among, options.seed) for number in numbers]
        clients = [processes.apply_async(client.run, one) for one in arguments]

        def committed_by_all():
            for one in clients:
                if one.ready():
                    one.get()  # raises the error that has ended the client
            return committed.value

        print(disturb.run(options.transactions, options.crash, committed_by_all))
        over.set()
        until(lambda: all(one.ready() for one in clients), "the end of all clients")
        return [one.get() for one in clients]


def read_options():
    parser = argparse.ArgumentParser(prog="tests/load/soak")
    parser.add_argument("action", choices=("reject", "skip", "mark"))
    parser.add_argument("--transactions", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    parser.add_argument("--partitions", type=int, default=0)
    parser.add_argument("--tenants", type=int, default=1)
    parser.add_argument("--among", action="store_true")
    parser.add_argument("--crash", metavar="START_COMMAND")
    parser.add_argument("--unguarded", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
