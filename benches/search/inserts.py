"""The cost of a layout's indexes when rows are inserted."""

import statistics

import tables
from layouts import create_indexes
from statements import psql, seconds

LAYOUTS = 0, 4, 3, 2


def report(runs, rows):
    """Inserts a hundredth of the rows at a time into logged tables that hold a tenth; the tables take turns."""
    held, batch = rows // 10, rows // 100
    times = {blocks: [] for blocks in LAYOUTS}
    for blocks in LAYOUTS:
        table = f"insert_{blocks}"
        tables.create(table, [blocks] if blocks else [], persistence="")
        tables.fill_uniform(table, held)
        tables.finish(table)
        psql(*(create_indexes(table, blocks) if blocks else ()), "SELECT")
    for run in range(runs):
        for blocks, measured in times.items():
            first = held + run * batch + 1
            psql("CHECKPOINT")  # nobody's run pays for writing out another's pages
            measured.append(seconds(
                f"INSERT INTO insert_{blocks} (id, simhash)"
                f" SELECT i, hashint8extended(i, 0) FROM generate_series({first}, {first + batch - 1}) AS i",
            ))
    medians = {blocks: statistics.median(measured) for blocks, measured in times.items()}
    print(f"\ninserting {batch:,} uniform fingerprints into {held:,} rows with a primary key: rows a second")
    for blocks, median in medians.items():
        print(f"{blocks} blocks {batch / median:>10,.0f}   {median / medians[0]:.2f} times as long", flush=True)
    psql(*(f"DROP TABLE insert_{blocks}" for blocks in times))
