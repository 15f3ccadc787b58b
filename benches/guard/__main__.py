"""The cost of a guard for inserts, as its table grows.

    python benches/guard RUNS TRANSACTIONS ROWS[,ROWS...] CURVE.svg FILE.jsonl ...

Prints, for each number of rows:

- how long the indexes take to build;
- how many entries a search reads, the same on every machine, and as many as a guard reads for a new row;
- how long a search for a copy takes, beside two look-ups by primary key;
- how many rows a second pgbench inserts (-M prepared, a transaction for each row) with the guard and without, by one
  client and by four. These take turns, in every other run in the opposite order: medians, and medians of the runs'
  ratios. Whether a commit waits for the disk (fsync) is up to the server.

The curve is that of one client.
"""

import sys
from statistics import median

import curve
from bars import measure_in_turns, median_ratio, verdict
from guard.table import CLIENTS, GUARDED, UNGUARDED, Table
from server import print_conditions
from texts import RandomTexts

# One client's least share of the rate without a guard, by the number of rows.
BARS = {100_000: 0.75, 1_000_000: 0.7, 10_000_000: 0.65}


def main():
    runs, transactions = map(int, sys.argv[1:3])
    row_counts, svg = map(int, sys.argv[3].split(",")), sys.argv[4]
    print_conditions(["fsync", "synchronous_commit", "shared_buffers"], runs,
                     f" of {transactions:,} transactions of each client")
    table = Table(transactions, RandomTexts(sys.argv[5:]))
    shares = {rows: measure_guard(table, rows, runs) for rows in row_counts}
    curve.draw({GUARDED: shares}, "share of the rate of inserts without a guard", "{:.2f}", svg, scale="linear")


def measure_guard(table, rows, runs):
    """Prints what a guard costs at this number of rows; returns one client's share of the rate without a guard."""
    table.grow(rows, runs)
    table.report_search(runs)
    cases = [(variant, clients) for clients in CLIENTS for variant in (UNGUARDED, GUARDED)]
    rates = measure_in_turns(cases, runs, lambda case: table.insert_rate(*case))
    shares = {clients: median_ratio(rates[GUARDED, clients], rates[UNGUARDED, clients]) for clients in CLIENTS}
    for (variant, clients), measured in rates.items():
        line = f"{clients} client{'s' * (clients > 1)}, {variant}: {median(measured):,.0f} rows a second"
        if variant == GUARDED:
            line += f", {shares[clients]:.2f} of the rate without a guard"
            if clients == 1 and rows in BARS:
                line += f"; bar {BARS[rows]}: {verdict(shares[1] >= BARS[rows])}"
        print(line, flush=True)
    return shares[1]


if __name__ == "__main__":
    main()
