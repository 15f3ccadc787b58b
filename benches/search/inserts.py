"""The cost of a layout's indexes when rows are inserted."""

import statistics

from search import tables
from search.layouts import block_column, create_index_statements
from server import psql

# The layouts by their numbers of blocks: 0 is a table without block columns.
LAYOUTS = 0, 4, 3, 2


def report_inserts(runs, rows):
    """Inserts a hundredth of the rows at a time into logged tables that hold a tenth; the tables take turns."""
    held, batch = rows // 10, rows // 100
    times = {blocks: [] for blocks in LAYOUTS}
    for blocks in LAYOUTS:
        table = f"insert_{blocks}"
        tables.create_table(table, [blocks], persistence="")
        tables.insert_uniform(table, 1, held)
        tables.index_and_warm(table)
        psql(*create_index_statements(table, blocks, block_column))
    for run in range(runs):
        for blocks, measured in times.items():
            first = held + run * batch + 1
            # A checkpoint before each run: no run writes out the pages of the run before.
            psql("CHECKPOINT")
            measured.append(tables.insert_uniform(f"insert_{blocks}", first, first + batch - 1))
    medians = {blocks: statistics.median(measured) for blocks, measured in times.items()}
    print(f"\ninserting {batch:,} uniform fingerprints into {held:,} rows with a primary key: rows a second")
    for blocks, median in medians.items():
        print(f"{blocks} blocks {batch / median:>10,.0f}   {median / medians[0]:.2f} times as long", flush=True)
    psql(*(f"DROP TABLE insert_{blocks}" for blocks in times))
