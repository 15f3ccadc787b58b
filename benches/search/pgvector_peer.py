"""What pgvector's approximate index takes to find near fingerprints, and how many of them it finds.

    python pgvector_peer.py RUNS FINGERPRINTS ROWS

Needs PYTHONPATH=benches, and psql's environment (PGHOST and so on) pointing to a server with pgvector: see with-pgvector.
The first ROWS of the file FINGERPRINTS (from fingerprints.rs) are stored as bit(64) under an HNSW index with the default settings.

The ten nearest rows are asked for, and those within the distance count as found: of all that there are, at most ten a
query.
"""

import sys

from server import Way, measure, warm
from statements import psql, seconds, value

K = 3
LIMIT = 10
QUERIES = 300
SEARCHED = 40, 100, 200  # hnsw.ef_search; 40 is the default


def main():
    runs, file, rows = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    psql(
        "CREATE EXTENSION vector",
        "CREATE UNLOGGED TABLE fingerprints (id bigint, simhash bigint)",
        f"\\copy fingerprints FROM PROGRAM 'head -n {rows} \"{file}\"'",
        "CREATE UNLOGGED TABLE docs (id bigint, simhash bit(64), body text DEFAULT repeat('x', 96))",
        "INSERT INTO docs (id, simhash) SELECT id, simhash::bit(64) FROM fingerprints",
        "ALTER TABLE docs ADD PRIMARY KEY (id)",
        # Two bits flipped: 64 - i % 64 and 64 - (i + 7) % 64 differ.
        f"""CREATE TABLE queries AS SELECT i AS id,
            (simhash # (1::bigint << (i % 64)::int) # (1::bigint << ((i + 7) % 64)::int))::bit(64) AS simhash
        FROM generate_series(1, {QUERIES}) AS i
            JOIN fingerprints AS f ON f.id = 1 + (hashint8extended(i, 2) & 9223372036854775807) % {rows}""",
        "ALTER TABLE queries ADD PRIMARY KEY (id)",
        "VACUUM ANALYZE",
        "SET max_parallel_workers_per_gather = 4",
        f"""CREATE TABLE truth AS SELECT q.id AS query, d.id, d.simhash <~> q.simhash AS distance
        FROM docs AS d JOIN queries AS q ON d.simhash <~> q.simhash <= {K}""",
    )
    built = seconds("CREATE INDEX docs_hnsw ON docs USING hnsw (simhash bit_hamming_ops)", maintenance_work_mem="2GB")
    warm("docs", "docs_pkey", "docs_hnsw")
    stored = int(value("SELECT pg_relation_size('docs_hnsw')")) / rows
    print(
        f"pgvector {value('SELECT extversion FROM pg_extension WHERE extname = $$vector$$')},"
        f" PostgreSQL {value('SHOW server_version')}: HNSW on bit(64), {rows:,} fingerprints of texts:"
        f" built in {built:.0f} s, {stored:.1f} bytes a row; {LIMIT} nearest"
    )
    print(
        f"{'hnsw.ef_search':<15} {'lookup, ms':>11} {'ms a search':>12} {'x lookup':>9} {'found':>6} {'of':>6}"
        f" {'recall':>7}"
    )
    there = int(value(f"SELECT sum(least(n, {LIMIT})) FROM (SELECT count(*) AS n FROM truth GROUP BY query) AS counts"))
    for searched in SEARCHED:
        ways = {
            "lookup": Way("SELECT simhash FROM docs WHERE id = :row", f"\\set row random(1, {rows})"),
            "search": Way(
                f"SELECT id FROM docs ORDER BY simhash <~> :q::bit(64) LIMIT {LIMIT}",
                f"\\set i random(1, {QUERIES})",
                "SELECT simhash AS q FROM queries WHERE id = :i \\gset",
            ),
        }
        count = f"""SELECT count(*) FROM queries AS q CROSS JOIN LATERAL (
                SELECT d.simhash <~> q.simhash AS distance FROM docs AS d ORDER BY d.simhash <~> q.simhash LIMIT {LIMIT}
            ) AS nearest WHERE distance <= {K}"""
        settings = {"hnsw.ef_search": searched, "enable_seqscan": "off"}
        times = measure(ways, runs, ["docs"], before=[count], **settings)
        found = int(value(count, **settings))
        print(
            f"{searched:<15} {times.ms('lookup'):>11.3f} {times.ms('search'):>12.3f}"
            f" {times.ratio('search', 'lookup'):>9.1f} {found:>6} {there:>6} {found / there:>7.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
