"""The time of simhash_pairs and simhash_cluster for a whole table, compared with PostgreSQL's own sort.

    python benches/batch RUNS ROWS FINGERPRINTS

In tables of ROWS rows and of a tenth of them, all within distance 3: uniform fingerprints, and those of texts (the file
FINGERPRINTS, from fingerprints.rs), of which one in ten is a copy of another with 1 to 3 bits flipped. Then memory.

Needs PYTHONPATH=benches, and psql's environment (PGHOST and so on) pointing to a server with pg_simhash. Everything is
warm. The statements take turns, in every other run in the opposite order; medians of RUNS runs, and of their ratios.
"""

import sys
from statistics import median

from bars import in_turns, print_bars, ratio
from measured import BAR_ROWS, BATCH_STATEMENTS, MEMORY
from statements import psql, seconds, value

# The most that all pairs of the largest table may take, in sorts of its fingerprints.
SORTS = {"uniform": 1.2, "text": 1.8}


def main():
    runs, rows, fingerprints = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    sizes = rows // 10, rows
    print(
        f"shared_buffers {value('SHOW shared_buffers')}, work_mem {MEMORY['work_mem']}, no JIT, no parallel workers;"
        f" at distance 3; medians of {runs} runs, in seconds"
    )
    judged = []
    for distribution in ("uniform", "text"):
        load(distribution, rows, fingerprints)
        tables = {size: f"batch_{distribution}_{size}" for size in sizes}
        for size, table in tables.items():
            psql(f"CREATE UNLOGGED TABLE {table} AS SELECT * FROM {distribution} WHERE id <= {size}")
            psql(f"VACUUM ANALYZE {table}")
        judged += judge(distribution, tables, measure(tables.values(), runs))
    judged += measure_identical(sizes[0], runs)
    report_memory(f"batch_uniform_{rows}", rows)
    print()
    if rows != BAR_ROWS:
        print(f"The bars are for {BAR_ROWS:,} rows and a tenth; here for {rows:,}:")
    print_bars(judged)


def load(distribution, rows, fingerprints):
    if distribution == "uniform":
        psql(
            f"CREATE UNLOGGED TABLE uniform AS SELECT i AS id, hashint8extended(i, 0) AS fp"
            f" FROM generate_series(1, {rows}::bigint) AS i"
        )
        return
    psql("CREATE UNLOGGED TABLE fingerprints (id bigint, fp bigint)", f"\\copy fingerprints FROM '{fingerprints}'")
    # A copy differs in one of the lowest 21 bits, maybe one of the next 21 and one of the next. h is not negative.
    psql(
        f"""CREATE UNLOGGED TABLE text AS
        SELECT f.id, CASE WHEN f.id % 10 = 0
            THEN original.fp # (1::bigint << (h % 21)::integer)
                # CASE WHEN h % 3 > 0 THEN 1::bigint << (21 + h / 21 % 21)::integer ELSE 0 END
                # CASE WHEN h % 3 > 1 THEN 1::bigint << (42 + h / 441 % 21)::integer ELSE 0 END
            ELSE f.fp END AS fp
        FROM fingerprints AS f CROSS JOIN LATERAL (SELECT hashint8extended(f.id, 1) & 9007199254740991) AS hash (h)
            JOIN fingerprints AS original
            ON original.id = CASE WHEN f.id % 10 = 0 THEN f.id / 100 * 10 + 1 + h % 9 ELSE f.id END
        WHERE f.id <= {rows} ORDER BY f.id""",
        **MEMORY,
    )


def measure(tables, runs):
    """Seconds of each statement of each table, in each run."""
    times = {(name, table): [] for table in tables for name in BATCH_STATEMENTS}
    for table in tables:
        psql(f"SELECT count(*) FROM {table}")
    for name, table in in_turns(list(times), runs):
        times[name, table].append(seconds(BATCH_STATEMENTS[name].format(table=table), **MEMORY))
    return times


def judge(distribution, tables, times):
    for size, table in tables.items():
        pairs = int(value(BATCH_STATEMENTS["pairs"].format(table=table), **MEMORY))
        count_clusters = BATCH_STATEMENTS["clusters"].format(table=table).replace("count(", "count(DISTINCT ")
        clusters = int(value(count_clusters, **MEMORY))
        print(f"\n{distribution}, {size:,} rows: {pairs:,} pairs, {clusters:,} clusters")
        for name in BATCH_STATEMENTS:
            measured = times[name, table]
            print(f"  {name:<10} {median(measured):>8.3f}   {ratio(measured, times['sort', table]):>6.2f} x sort")
    sys.stdout.flush()
    (few, small), (many, large) = tables.items()
    seconds_small, sorts_small = median(times["pairs", small]), ratio(times["pairs", small], times["sort", small])
    sorts_large = ratio(times["pairs", large], times["sort", large])
    growth = ratio(times["pairs", large], times["pairs", small])
    bar = SORTS[distribution]
    return [
        (
            f"{distribution}, all pairs of {few:,}: {seconds_small:.2f} s, {sorts_small:.2f} sorts,"
            " bar 1.0 s or 2 sorts", seconds_small <= 1 or sorts_small <= 2,
        ),
        (f"{distribution}, all pairs of {many:,}: {sorts_large:.2f} sorts, bar {bar}", sorts_large <= bar),
        (f"{distribution}, growth from {few:,} to {many:,}: {growth:.1f} times, bar 15", growth <= 15),
    ]


def measure_identical(rows, runs):
    psql(f"CREATE UNLOGGED TABLE identical AS SELECT id, 42::bigint AS fp FROM batch_uniform_{rows}")
    psql("VACUUM ANALYZE identical")
    distinct, same = [], []
    for _ in range(runs):
        distinct.append(seconds(BATCH_STATEMENTS["clusters"].format(table=f"batch_uniform_{rows}"), **MEMORY))
        same.append(seconds(BATCH_STATEMENTS["clusters"].format(table="identical"), **MEMORY))
    times_as_long = ratio(same, distinct)
    print(f"\nclusters of {rows:,} rows: all distinct {median(distinct):.3f} s, all identical {median(same):.3f} s")
    line = f"clusters of {rows:,} identical fingerprints: {times_as_long:.2f} times as long as of distinct ones, bar 1"
    return [(line, times_as_long <= 1)]


def report_memory(table, rows):
    """The most memory that a backend has had (shared buffers that it has touched included)."""
    peak_kilobytes = "SELECT substring(pg_read_file('/proc/self/status', 0, 10000, true) FROM 'VmHWM:\\s*(\\d+) kB')"
    tables = {
        "distinct fingerprints": table,
        "some equal": f"(SELECT id, CASE WHEN id % 10 = 0 THEN 1 ELSE fp END AS fp FROM {table} OFFSET 0) AS x",
        "ids of 2 to 9 bytes": f"(SELECT id::text AS id, fp FROM {table} OFFSET 0) AS x",
    }
    print(f"\nmost memory of a backend, {rows:,} rows, in bytes a row; beyond the caller's arrays, or the window")
    for label, source in tables.items():
        peaks = {}
        for name in ("arrays", "pairs", "window", "clusters"):
            # A window keeps what exceeds work_mem on disk. The pairs of equal fingerprints are too many to be listed.
            settings = MEMORY if name in ("arrays", "pairs") else {"work_mem": "4MB"}
            one_pair = "LATERAL (SELECT simhash_pairs(ids, fps) LIMIT 1) AS y"
            statement = BATCH_STATEMENTS[name].replace("simhash_pairs(ids, fps)", one_pair)
            (*_, (kilobytes,)) = psql(statement.format(table=source), peak_kilobytes, **settings)
            peaks[name] = int(kilobytes) * 1024 / rows
        for name, caller in (("pairs", "arrays"), ("clusters", "window")):
            print(f"  {name:<9} {label:<22} {peaks[name]:>6.1f} {peaks[name] - peaks[caller]:>6.1f}", flush=True)


if __name__ == "__main__":
    main()
