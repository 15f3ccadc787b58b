"""What searches within one tenant cost with indexes that begin with the tenant, beside indexes that do not.

    python benches/search/scopes.py RUNS ROWS FINGERPRINTS

Two tables hold the same ROWS rows: an id, a tenant, a fingerprint and a body of 96 bytes. simhash_attach has attached
one with a scope and one without; the indexes of both are covering. Fingerprints are uniform, or those of texts (the file
FINGERPRINTS, from fingerprints.rs, has a thousand more than ROWS). Needs PYTHONPATH=benches, and psql's environment
(PGHOST and so on) pointing to a server with pg_simhash.

Everything is warm and in shared buffers, and both tables take turns: medians of RUNS runs, and of the runs' ratios.
"""

import sys

import tables
from layouts import near
from searches import ANSWER, LOOKUP, lookup
from server import Way, measure, warm
from statements import psql, value

SCOPED, UNSCOPED = "scoped", "unscoped"
# Rows of a tenant, as a share of the rows of the table.
SHARES = 1000, 10
DISTANCES = 3, 8


def main():
    runs, rows, file = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    shown = ", ".join(f"{name} {value(f'SHOW {name}')}" for name in ("shared_buffers", "work_mem"))
    print(f"{shown}, no JIT, no parallel workers; medians of {runs} runs; pgbench -M prepared, one client, generic plans")
    wrong = 0
    for distribution in ("uniform", "text"):
        (source,) = tables.prepare(distribution, (rows,), file)
        for tenants in SHARES:
            print(f"\n{distribution} fingerprints, {rows:,} rows, {tenants:,} tenants")
            make(source, tenants)
            for k in DISTANCES:
                wrong += report(source, rows, tenants, k, runs)
            psql("DROP TABLE scoped, unscoped")
    print(f"\nrows that only one of the tables found: {wrong}")
    if wrong:
        sys.exit("searches differ")


def make(source, tenants):
    """Both tables, with the rows of the source."""
    for table, arguments in ((SCOPED, ", scope => '{tenant}'"), (UNSCOPED, "")):
        psql(f"CREATE TABLE {table} (id bigint PRIMARY KEY, tenant integer NOT NULL, body text NOT NULL, simhash bigint)",
             f"INSERT INTO {table} SELECT id, id % {tenants}, body, simhash FROM {source}",
             f"SELECT simhash_attach('{table}', 'simhash', columns => false{arguments})",
             f"VACUUM ANALYZE {table}")
        warm(table)
        indexes = [index for (index,) in psql(
            f"SELECT indexrelid::regclass FROM pg_index WHERE indrelid = '{table}'::regclass")]
        warm(*indexes)
        print(f"{table}: {tables.index_bytes(indexes[1:]) / int(value(f'SELECT count(*) FROM {table}')):.1f} bytes of the"
              " block indexes a row")


def report(source, rows, tenants, k, runs):
    """Prints the times of both tables at a distance, and returns the number of rows that only one of them found."""
    query = (
        f"\\set i random(1, {tables.QUERIES})",
        f"SELECT simhash AS q, row % {tenants} AS tenant FROM queries_{source} WHERE k = {k} AND id = :i \\gset",
    )

    def search(table):
        return Way(f"SELECT t.id FROM {table} AS t WHERE t.tenant = :tenant AND {near(k, ':q')}", *query)

    ways = {ANSWER: Way("SELECT 1"), LOOKUP: lookup(SCOPED, rows), **{table: search(table) for table in (SCOPED, UNSCOPED)}}
    times = measure(ways, runs, (SCOPED, UNSCOPED))
    found = " EXCEPT ALL ".join(
        f"(SELECT q.id, t.id FROM queries_{source} AS q JOIN {table} AS t ON t.tenant = q.row % {tenants}"
        f" AND {near(k, 'q.simhash')} WHERE q.k = {k})"
        for table in (SCOPED, UNSCOPED)
    )
    wrong = int(value(f"SELECT count(*) FROM ({found}) AS rows"))
    print(
        f"k = {k}: {SCOPED} {times.ms(SCOPED):.3f} ms, {UNSCOPED} {times.ms(UNSCOPED):.3f} ms, lookup"
        f" {times.ms(LOOKUP):.3f} ms; {UNSCOPED} takes {times.ratio(UNSCOPED, SCOPED):.1f} times as long as {SCOPED}",
        flush=True,
    )
    return wrong


if __name__ == "__main__":
    main()
