"""The statements that benches/batch and benches/against.py measure."""

# The sort, the arrays and the windows of the largest table stay in memory.
ENOUGH_MEMORY = {"work_mem": "2GB"}

ARRAYS = "(SELECT array_agg(id), array_agg(fingerprint) FROM {table}) AS arrays (ids, fingerprints)"
# `sort`, `arrays` and `window` measure what PostgreSQL itself takes. In `clusters`, each fingerprint is its own id.
BATCH_STATEMENTS = {
    "sort": "SELECT count(*) FROM (SELECT fingerprint FROM {table} ORDER BY fingerprint) AS sorted",
    "arrays": f"SELECT cardinality(ids) + cardinality(fingerprints) FROM {ARRAYS}",
    "pairs": f"SELECT count(*) FROM {ARRAYS}, simhash_pairs(ids, fingerprints)",
    "window": "SELECT count(tile) FROM (SELECT ntile(2) OVER () AS tile FROM {table}) AS tiles",
    "clusters": "SELECT count(cluster) FROM"
    " (SELECT simhash_cluster(fingerprint, fingerprint) OVER () AS cluster FROM {table}) AS clustered",
}
