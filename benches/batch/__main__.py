"""The time of simhash_pairs and simhash_cluster for a whole table, compared with PostgreSQL's own sort.

    python benches/batch RUNS ROWS FINGERPRINTS

In tables of ROWS rows and of a tenth of them, all within distance 3: uniform fingerprints, and those of texts (the file
FINGERPRINTS, from fingerprints.rs), of which one in ten is a copy of another with 1 to 3 bits flipped. Then memory.

Everything is warm. The statements take turns, in every other run in the opposite order; medians of RUNS runs, and of
their ratios.
"""

import sys
from statistics import median

from bars import measure_in_turns, median_ratio, print_bars
from batch.batch_statements import BATCH_STATEMENTS, ENOUGH_MEMORY
from server import print_conditions, psql, seconds, uniform_rows, value

# The most that all pairs of the smaller table may take: in seconds, or in sorts of its fingerprints.
MAX_SMALL_SECONDS, MAX_SMALL_SORTS = 1.0, 2
# The most that all pairs of the larger table may take: in sorts of its fingerprints, and as a multiple of the smaller.
MAX_SORTS, MAX_GROWTH = {"uniform": 1.2, "text": 1.8}, 15


def main():
    runs, most_rows, fingerprints = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    row_counts = most_rows // 10, most_rows
    print_conditions(["shared_buffers", "work_mem"], runs, ", in seconds; no JIT, no parallel workers; at distance 3",
                     **ENOUGH_MEMORY)
    bars = []
    for distribution in ("uniform", "text"):
        load(distribution, most_rows, fingerprints)
        tables = {rows: f"batch_{distribution}_{rows}" for rows in row_counts}
        for rows, table in tables.items():
            psql(f"CREATE UNLOGGED TABLE {table} AS SELECT * FROM {distribution} WHERE id <= {rows}",
                 f"VACUUM ANALYZE {table}")
        times = measure_tables(tables.values(), runs)
        for rows, table in tables.items():
            pairs, clusters = count_results(table)
            print(f"\n{distribution}, {rows:,} rows: {pairs:,} pairs, {clusters:,} clusters")
            report_times(table, times)
        bars += bars_of(distribution, tables, times)
    bars.append(bar_of_identical(row_counts[0], runs))
    report_memory(f"batch_uniform_{most_rows}", most_rows)
    print_bars(bars, most_rows)


def load(distribution, rows, fingerprints):
    """Makes a table whose name is the distribution."""
    if distribution == "uniform":
        psql(f"CREATE UNLOGGED TABLE uniform AS {uniform_rows(1, rows)}")
        return
    psql("CREATE UNLOGGED TABLE fingerprints (id bigint, fingerprint bigint)",
         f"\\copy fingerprints FROM '{fingerprints}'")
    # A copy differs from its original in one of the lowest 21 bits and, in two of three rows, in one of the next 21
    # bits; in one of three rows, also in one of the 21 after these. `hash` is never negative.
    psql(f"""CREATE UNLOGGED TABLE text AS
        SELECT own.id, CASE WHEN own.id % 10 = 0
            THEN original.fingerprint # (1::bigint << (hash % 21)::integer)
                # CASE WHEN hash % 3 > 0 THEN 1::bigint << (21 + hash / 21 % 21)::integer ELSE 0 END
                # CASE WHEN hash % 3 > 1 THEN 1::bigint << (42 + hash / 441 % 21)::integer ELSE 0 END
            ELSE own.fingerprint END AS fingerprint
        FROM fingerprints AS own
            CROSS JOIN LATERAL (SELECT hashint8extended(own.id, 1) & 9007199254740991) AS hashes (hash)
            JOIN fingerprints AS original
            ON original.id = CASE WHEN own.id % 10 = 0 THEN own.id / 100 * 10 + 1 + hash % 9 ELSE own.id END
        WHERE own.id <= {rows} ORDER BY own.id""", **ENOUGH_MEMORY)


def measure_tables(tables, runs):
    """The seconds of each statement in each table, in each run."""
    psql(*(f"SELECT count(*) FROM {table}" for table in tables))
    return measure_in_turns([(name, table) for table in tables for name in BATCH_STATEMENTS], runs, measure_statement)


def measure_statement(case):
    name, table = case
    return seconds(BATCH_STATEMENTS[name].format(table=table), **ENOUGH_MEMORY)


def count_results(table):
    """The numbers of pairs and of clusters in a table."""
    count_clusters = BATCH_STATEMENTS["clusters"].replace("count(", "count(DISTINCT ")
    return (int(value(statement.format(table=table), **ENOUGH_MEMORY))
            for statement in (BATCH_STATEMENTS["pairs"], count_clusters))


def report_times(table, times):
    for name in BATCH_STATEMENTS:
        sorts = median_ratio(times[name, table], times["sort", table])
        print(f"  {name:<10} {median(times[name, table]):>8.3f}   {sorts:>6.2f} x sort", flush=True)


def bars_of(distribution, tables, times):
    """The bars of all pairs. `tables` has the smaller table and the larger one, by their numbers of rows."""
    small, large = tables
    pairs = {rows: times["pairs", table] for rows, table in tables.items()}
    sorts = {rows: median_ratio(pairs[rows], times["sort", table]) for rows, table in tables.items()}
    small_seconds, growth = median(pairs[small]), median_ratio(pairs[large], pairs[small])
    max_sorts = MAX_SORTS[distribution]
    return [
        (f"{distribution}, all pairs of {small:,}: {small_seconds:.2f} s, {sorts[small]:.2f} sorts,"
         f" bar {MAX_SMALL_SECONDS} s or {MAX_SMALL_SORTS} sorts",
         small_seconds <= MAX_SMALL_SECONDS or sorts[small] <= MAX_SMALL_SORTS),
        (f"{distribution}, all pairs of {large:,}: {sorts[large]:.2f} sorts, bar {max_sorts}",
         sorts[large] <= max_sorts),
        (f"{distribution}, growth from {small:,} to {large:,}: {growth:.1f} times, bar {MAX_GROWTH}",
         growth <= MAX_GROWTH),
    ]


def bar_of_identical(rows, runs):
    """Measures clusters of identical and of distinct fingerprints; returns the bar of their ratio."""
    psql(f"CREATE UNLOGGED TABLE identical AS SELECT id, 42::bigint AS fingerprint FROM batch_uniform_{rows}",
         "VACUUM ANALYZE identical")
    cases = [("clusters", f"batch_uniform_{rows}"), ("clusters", "identical")]
    distinct, identical = measure_in_turns(cases, runs, measure_statement).values()
    times_as_long = median_ratio(identical, distinct)
    line = (f"clusters of {rows:,} identical fingerprints: {median(identical):.3f} s, {times_as_long:.2f} times as long"
            f" as of distinct ones, {median(distinct):.3f} s, bar 1")
    return line, times_as_long <= 1


def report_memory(table, rows):
    """Prints the most memory that a backend has had (shared buffers that it has touched included)."""
    peak_kilobytes = "SELECT substring(pg_read_file('/proc/self/status', 0, 10000, true) FROM 'VmHWM:\\s*(\\d+) kB')"
    sources = {
        "distinct fingerprints": table,
        "some equal": f"(SELECT id, CASE WHEN id % 10 = 0 THEN 1 ELSE fingerprint END AS fingerprint"
        f" FROM {table} OFFSET 0) AS source",
        "ids of 2 to 9 bytes": f"(SELECT id::text AS id, fingerprint FROM {table} OFFSET 0) AS source",
    }
    print(f"\nmost memory of a backend, {rows:,} rows, in bytes a row; beyond the caller's arrays, or the window")
    all_pairs = "simhash_pairs(ids, fingerprints)"
    for label, source in sources.items():
        peaks = {}
        for name in ("arrays", "pairs", "window", "clusters"):
            # A window stores on disk what exceeds work_mem. The pairs of equal fingerprints are too many to list, so
            # one pair is read.
            settings = ENOUGH_MEMORY if name in ("arrays", "pairs") else {"work_mem": "4MB"}
            one_pair = f"LATERAL (SELECT {all_pairs} LIMIT 1) AS first_pair"
            statement = BATCH_STATEMENTS[name].replace(all_pairs, one_pair)
            (*_, (kilobytes,)) = psql(statement.format(table=source), peak_kilobytes, **settings)
            peaks[name] = int(kilobytes) * 1024 / rows
        for name, caller in (("pairs", "arrays"), ("clusters", "window")):
            print(f"  {name:<9} {label:<22} {peaks[name]:>6.1f} {peaks[name] - peaks[caller]:>6.1f}", flush=True)


if __name__ == "__main__":
    main()
