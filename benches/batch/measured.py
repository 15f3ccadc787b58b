"""The statements that benches/batch and benches/against.py measure."""

# The number of rows for which the bars hold.
BAR_ROWS = 10_000_000
# The sort, the arrays and the windows of the largest table stay in memory.
MEMORY = {"work_mem": "2GB"}

ARRAYS = "(SELECT array_agg(id), array_agg(fp) FROM {table}) AS x (ids, fps)"
# `sort`, `arrays` and `window` are what PostgreSQL itself takes.
BATCH_STATEMENTS = {
    "sort": "SELECT count(*) FROM (SELECT fp FROM {table} ORDER BY fp OFFSET 0) AS x",
    "arrays": f"SELECT cardinality(ids) + cardinality(fps) FROM {ARRAYS}",
    "pairs": f"SELECT count(*) FROM {ARRAYS}, simhash_pairs(ids, fps)",
    "window": "SELECT count(tile) FROM (SELECT ntile(2) OVER () AS tile FROM {table}) AS x",
    "clusters": "SELECT count(cluster) FROM (SELECT simhash_cluster(fp, fp) OVER () AS cluster FROM {table}) AS x",
}
