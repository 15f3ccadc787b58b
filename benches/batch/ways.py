"""The statements that benches/batch and benches/against.py measure."""

FULL = 10_000_000
# Enough for PostgreSQL's sort of the largest table to stay in memory, and its arrays and windows.
MEMORY = {"work_mem": "2GB"}

ARRAYS = "(SELECT array_agg(id), array_agg(fp) FROM {table}) AS x (ids, fps)"
WAYS = {
    "sort": "SELECT count(*) FROM (SELECT fp FROM {table} ORDER BY fp OFFSET 0) AS x",
    "arrays": f"SELECT cardinality(ids) + cardinality(fps) FROM {ARRAYS}",
    "pairs": f"SELECT count(*) FROM {ARRAYS}, simhash_pairs(ids, fps)",
    "window": "SELECT count(part) FROM (SELECT ntile(2) OVER () AS part FROM {table}) AS x",
    "clusters": "SELECT count(cluster) FROM (SELECT simhash_cluster(fp, fp) OVER () AS cluster FROM {table}) AS x",
}
