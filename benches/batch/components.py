"""What simhash_components costs beside PostgreSQL's own sort of the same ids.

    python benches/batch/components.py RUNS PAIRS

PAIRS pairs and half of them, in components of up to ten ids; ids and pairs in random order. Bigints and timestamps are
sorted by their digits, and UUIDs and texts in the collation "C" by PostgreSQL's abbreviated keys of 8 bytes and then by
comparison. Half of the pairs also of texts whose first 8 bytes are the same, which are sorted by comparison alone. Then
memory. Times are medians of RUNS runs, and of the runs' ratios.

Needs PYTHONPATH=benches, and psql's environment (PGHOST and so on) pointing to a server with pg_simhash.
"""

import sys
from statistics import median

from statements import psql, seconds, value
from ways import MEMORY

ID = "hashint8extended({id}, 7)"
TYPES = {
    "bigint": ID,
    "uuid": "md5(({id})::text)::uuid",
    "timestamp": f"'2000-01-01'::timestamp + ({ID} >> 8) * '1 us'::interval",
    "text": 'md5(({id})::text) COLLATE "C"',
    "URL": "('https://example.org/' || md5(({id})::text)) COLLATE \"C\"",
}
ARRAYS = "(SELECT array_agg(a), array_agg(b) FROM {table}) AS x (a_ids, b_ids)"
WAYS = {
    "sort": "SELECT count(*) FROM (SELECT id FROM (SELECT a AS id FROM {table} UNION ALL SELECT b FROM {table}) AS ids"
            " ORDER BY id OFFSET 0) AS x",
    "arrays": f"SELECT cardinality(a_ids) + cardinality(b_ids) FROM {ARRAYS}",
    "components": f"SELECT count(*) FROM {ARRAYS}, LATERAL (SELECT simhash_components(a_ids, b_ids)) AS y",
}


def main():
    runs, pairs = int(sys.argv[1]), int(sys.argv[2])
    print(
        f"shared_buffers {value('SHOW shared_buffers')}, work_mem {MEMORY['work_mem']}, no JIT, no parallel workers;"
        f" medians of {runs} runs, in seconds"
    )
    for name in TYPES:
        measure(load(name, pairs // 2), name, pairs // 2, runs)
    for name in ("bigint", "uuid"):
        measure(load(name, pairs), name, pairs, runs)
    memory(pairs // 2)


def load(name, size, prefix="components"):
    table = f"{prefix}_{name}_{size}"
    a, b = (TYPES[name].format(id=id) for id in ("a", "a / 10 * 10 + other"))
    psql(
        f"CREATE UNLOGGED TABLE {table} AS SELECT {a} AS a, {b} AS b FROM (SELECT"
        f" (hashint8extended(i, 0) & 9007199254740991) % {2 * size} AS a, hashint8extended(i, 1) & 7 AS other"
        f" FROM generate_series(1, {size}::bigint) AS i) AS pairs",
        f"VACUUM ANALYZE {table}",
    )
    return table


def measure(table, name, size, runs):
    times = {way: [] for way in WAYS}
    for run in range(runs):
        for way in WAYS if run % 2 == 0 else reversed(WAYS):
            times[way].append(seconds(WAYS[way].format(table=table), **MEMORY))
    found = value(WAYS["components"].format(table=table), **MEMORY)
    print(f"\n{name}, {size:,} pairs of {int(found):,} ids")
    for way, measured in times.items():
        ratio = median(a / b for a, b in zip(measured, times["sort"]))
        print(f"  {way:<10} {median(measured):>8.3f}   {ratio:>6.2f} x sort", flush=True)
    own = [a - b for a, b in zip(times["components"], times["arrays"])]
    ratio = median(a / b for a, b in zip(own, times["sort"]))
    # Without the caller's arrays.
    print(f"  {'its own':<10} {median(own):>8.3f}   {ratio:>6.2f} x sort", flush=True)


def memory(size):
    """The most memory that a backend has had (shared buffers that it has touched included)."""
    high = "SELECT substring(pg_read_file('/proc/self/status', 0, 10000, true) FROM 'VmHWM:\\s*(\\d+) kB')"
    print(f"\nmost memory of a backend, {size:,} pairs, in bytes a pair; beyond the caller's arrays")
    for name in TYPES:
        peaks = {}
        for way in ("arrays", "components"):
            (*_, (kilobytes,)) = psql(WAYS[way].format(table=f"components_{name}_{size}"), high, **MEMORY)
            peaks[way] = int(kilobytes) * 1024 / size
        print(f"  {name:<10} {peaks['components']:>6.1f} {peaks['components'] - peaks['arrays']:>6.1f}", flush=True)


if __name__ == "__main__":
    main()
