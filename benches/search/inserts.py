"""What the indexes of a layout cost when rows are inserted."""

import statistics

import tables
from layouts import create_indexes
from statements import psql, seconds

NONE = 0, False
WAYS = NONE, (4, False), (4, True), (3, True), (2, True)


def report(runs, rows):
    """Inserts a hundredth of the rows at a time into logged tables that hold a tenth; the tables take turns."""
    held, batch = rows // 10, rows // 100
    times = {}
    for way in WAYS:
        blocks, covering = way
        table = name(way)
        tables.create(table, [blocks] if blocks else [], persistence="")
        tables.fill_uniform(table, held)
        tables.finish(table)
        psql(*(create_indexes(table, blocks, covering) if blocks else ()), "SELECT")
        times[way] = []
    for run in range(runs):
        for way, measured in times.items():
            first = held + run * batch + 1
            psql("CHECKPOINT")  # nobody's run pays for writing out another's pages
            measured.append(seconds(
                f"INSERT INTO {name(way)} (id, simhash)"
                f" SELECT i, hashint8extended(i, 0) FROM generate_series({first}, {first + batch - 1}) AS i",
            ))
    medians = {way: statistics.median(measured) for way, measured in times.items()}
    print(f"\ninserting {batch:,} uniform fingerprints into {held:,} rows with a primary key: rows a second")
    for (blocks, covering), median in medians.items():
        label = f"{blocks} blocks, {'covering' if covering else 'plain'}" if blocks else "no blocks"
        print(f"{label:<20} {batch / median:>10,.0f}   {median / medians[NONE]:.2f} times as long", flush=True)
    psql(*(f"DROP TABLE {name(way)}" for way in times))
    return medians[4, True] / medians[4, False]


def name(way):
    blocks, covering = way
    return f"insert_{blocks}_{covering:d}"
