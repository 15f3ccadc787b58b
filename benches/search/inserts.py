"""What the indexes of a layout cost when rows are inserted."""

import statistics

import tables
from layouts import create_indexes
from statements import psql, seconds

NONE = 0


def report(runs, rows):
    """Inserts a hundredth of the rows at a time into logged tables that hold a tenth; the tables take turns."""
    held, batch = rows // 10, rows // 100
    times = {}
    for blocks in (NONE, 4, 3, 2):
        layouts = [blocks] if blocks else []
        tables.create(f"insert_{blocks}", layouts, persistence="")
        tables.fill_uniform(f"insert_{blocks}", held)
        tables.finish(f"insert_{blocks}")
        psql(*(command for layout in layouts for command in create_indexes(f"insert_{blocks}", layout)))
        times[blocks] = []
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
        name = f"{blocks} blocks, indexed" if blocks else "no blocks"
        print(f"{name:<20} {batch / median:>10,.0f}   {median / medians[NONE]:.2f} times as long", flush=True)
    psql(*(f"DROP TABLE insert_{blocks}" for blocks in times))
