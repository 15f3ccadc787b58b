"""What tables of a hundred million to eight billion rows would take, computed from what was measured on smaller ones.

    python3 benches/estimates             the measured figures, the model beside them, and the tables
    python3 benches/estimates --tables    only the tables and phrases of docs/scale.md

Needs no server. Fails if the model is off by more than a factor of two where there is a measured figure, or for a size
by more than a tenth.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "search"))  # for layouts.py

import by_hand
import checks
import model
import phrases
import records
import tables


def main():
    estimates = model.Model(records.read())
    if sys.argv[1:] == ["--tables"]:
        print_tables(estimates)
        return
    inputs(estimates.measured)
    compared = list(checks.checks(estimates))
    print(f"\nThe model beside what was measured (bar: a factor of {checks.FACTOR}, of sizes {checks.SIZE_FACTOR})\n")
    for check in compared:
        verdict = "" if check.holds else "   MISSED"
        print(f"{check.what:75} {check.estimate:9.3f} {check.measured:9.3f} {check.unit:3} {check.ratio:5.2f}{verdict}")
    print("\nEstimates, none of them measured")
    print_tables(estimates)
    if not all(check.holds for check in compared):
        sys.exit("the model does not agree with what was measured")


def print_tables(estimates):
    for section, of_section in tables.tables(estimates).items():
        print(f"\n{section}\n")
        print("\n".join(of_section), end="")
    print("\nFigures in the prose")
    for section, of_section in phrases.phrases(estimates).items():
        print(f"\n{section}\n")
        for phrase in of_section:
            print(phrase)


def inputs(m):
    print("Measured figures\n")
    for name, source in m.sources.items():
        print(f"{name}: {source}")
    print(f"a probe {m.probe_us} us, an index entry {m.entry_us} us, a statement as much as a primary-key lookup")
    for blocks, size in sorted(m.index_bytes.items()):
        print(f"covering indexes of {blocks} blocks: {size} bytes a row, block columns: {m.column_bytes[blocks]}")
    print(f"a row (id, fingerprint): {by_hand.TABLE_BYTES} bytes, of its primary key: {by_hand.KEY_BYTES} (by hand)")
    print(f"indexes that grew row by row: {by_hand.INDEXES_GROWN} bytes a row, freshly built: {by_hand.INDEXES_BUILT}"
          " (by hand)")
    print(f"a row with a text: {m.text_bytes:.0f} bytes")
    print(f"candidates in {m.largest('text'):,} rows of texts: " + ", ".join(
        f"{s.candidates:,.1f} ({s.blocks} blocks, distance {s.k})" for s in m.searches
        if s.kind == "text" and s.rows == m.largest("text") and s.k in tables.DISTANCES
    ))
    print(f"memory of simhash_pairs with its arrays: {m.pairs_bytes} bytes a row")
    print(f"Citus 13.2.2, PostgreSQL 15 (by hand): {by_hand.CITUS_CPU_OF_TASK} ms of CPU a task; {by_hand.CITUS_ROWS:,}"
          f" rows: {by_hand.CITUS_LOCAL} ms if not distributed; all pairs of {by_hand.KEY_TABLE_ROWS:,} rows by a key"
          f" table: {by_hand.KEY_TABLE_SECONDS} s")
    print("\nAssumed\n")
    print(f"cores of the machine with Citus: {by_hand.CITUS_CORES}; share of the memory for tables:"
          f" {model.SHARE_FOR_TABLES}; memory for each core: {model.GB_PER_CORE} GB; shards of a server:"
          f" {model.SHARDS_PER_SERVER}")


if __name__ == "__main__":
    main()
