"""Many clients write near-duplicates into a guarded table. Then a scan of the table and of the clients' journals proves
that the guard let no near-duplicate in, or none without a mark, lost no row, and refused or marked no row without a
reason. amcheck examines the table. While the clients write, others search the table, and compare with a scan of it.

    python tests/load/soak ACTION [--source SOURCE] [--transactions N] [--clients N] [--seed N] [--partitions N]
        [--tenants N] [--crash START_COMMAND] [--unguarded]

The clients commit at least N transactions. Backends are terminated all the time. With --crash, backends and the
postmaster are also killed (-9), and START_COMMAND starts the server again. This needs the right to kill these
processes.

The guard compares texts (the source `body`) or fingerprints (`simhash`). With several tenants, the tenant is the scope
of the guard and of the indexes on texts.

With --unguarded the same happens without the guard. Then the proof must find near-duplicates, which shows that it can.
"""

import argparse
import multiprocessing
import sys
import time
from collections import Counter

import check
import client
import disturb
import pool
import table
from patience import NotReached, until
from searches import Searches


def main():
    # By default, Python 3.14 starts a new interpreter for each client, which takes seconds.
    multiprocessing.set_start_method("fork")
    soak(read_options())


def soak(options):
    texts = pool.make_texts(options.seed)
    fingerprints, bands = table.create(options.action, options.source, texts, options.partitions, options.tenants)
    by_text = options.source == "body"
    near_texts, refuted = pool.find_near_texts(texts, fingerprints, bands if by_text else (), options.tenants)
    if options.unguarded:
        table.unguard()
    describe(options, near_texts, refuted)
    if by_text and not refuted:
        raise NotReached("no pair of texts shares a band and is not near")
    searches = Searches(texts, fingerprints, options.tenants, options.seed)
    journals = write_and_search(options, texts, searches)
    print(f"  {searches.done} searches, which found {searches.found} rows")
    counts = sum((Counter(journal.counts) for journal in journals), Counter())
    print("  " + ", ".join(f"{event} {count}" for event, count in sorted(counts.items())))
    rows, findings = table.read_rows(), sum(len(journal.findings) for journal in journals)
    wrong = check.find_failures(journals, rows, texts, fingerprints, near_texts)
    print(f"  {len(rows)} rows, {len(rows) * (len(rows) - 1) // 2} pairs, {findings} findings, {len(wrong)} failures")
    failures = [*searches.failures, *wrong, *table.find_damage()]
    if options.unguarded:
        others = [failure for failure in failures if " are near: " not in failure]
        if len(others) == len(failures):
            sys.exit("FAILED: without a guard, no near-duplicate was found")
        failures = others
    for failure in failures[:20]:
        print(f"FAILED: {failure}", file=sys.stderr)
    if failures:
        sys.exit(1)
    if searches.hung or not searches.found:
        raise NotReached(f"no search has found a row {searches.hung}")
    if not options.unguarded and not findings:
        raise NotReached("the guard has found nothing")


def describe(options, near_texts, refuted):
    average_near = sum(len(others) - 1 for others in near_texts) / len(near_texts)
    print(
        f"{options.action} by {options.source}: {options.partitions or 'no'} partitions, {options.tenants} tenants,"
        f" {options.clients} clients, {options.transactions} transactions, seed {options.seed}, {len(near_texts)}"
        f" texts, {average_near:.1f} of which are near one of them, {refuted} pairs only share a band;"
        f" {table.durability()}",
        flush=True,
    )


def write_and_search(options, texts, searches):
    """The journals of the clients, which write while others search."""
    known_rows = multiprocessing.Array("q", client.KNOWN_ROWS)
    committed = multiprocessing.Value("q")
    all_done = multiprocessing.Event()
    with multiprocessing.Pool(options.clients, client.set_shared, (known_rows, committed, all_done)) as processes:
        numbers = range(1, options.clients + 1)
        arguments = [(number, options.action, texts, options.tenants, options.seed) for number in numbers]
        results = [processes.apply_async(client.run, client_arguments) for client_arguments in arguments]

        def count_committed():
            for client_result in results:
                if client_result.ready():
                    client_result.get()  # This raises the error that has ended the client.
            return committed.value

        # After the clients' processes: a process that has threads should not fork.
        with searches:
            print(disturb.run(options.transactions, options.crash, count_committed))
        all_done.set()
        until(lambda: all(client_result.ready() for client_result in results), "the end of all clients")
        return [client_result.get() for client_result in results]


def read_options():
    parser = argparse.ArgumentParser(prog="tests/load/soak")
    parser.add_argument("action", choices=("reject", "skip", "mark"))
    parser.add_argument("--source", choices=("body", "simhash"), default="body")
    parser.add_argument("--transactions", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    parser.add_argument("--partitions", type=int, default=0)
    parser.add_argument("--tenants", type=int, default=1)
    parser.add_argument("--crash", metavar="START_COMMAND")
    parser.add_argument("--unguarded", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
