"""The tables that are searched, and the fingerprints that they are searched for.

A row is an id, a fingerprint, a body of 96 bytes and a block column for each block of each layout, about 170 bytes with
its header. Fingerprints are `uniform`, random bits, or of `text`: those of fingerprints.rs.
"""

from search.layouts import block_column, block_expression, column_definitions, create_index_statements, index_names
from search.timing import warm
from server import psql, seconds, uniform_rows, value

LAYOUTS = 4, 3, 2
# The fingerprints that are searched for. Their numbers modulo QUERY_KINDS say of what kind they are (make_queries).
QUERIES, QUERY_KINDS = 1000, 3
OWN_ROW, NEAR_ROW, OTHER_TEXT = range(QUERY_KINDS)
DISTANCES = range(9)
# The rows that have near copies, and the rows that an order by distance returns.
COPIED_ROWS, NEAREST_ROWS = 100, 10


def make_tables(distribution, row_counts, fingerprints):
    """Makes tables with these numbers of rows, and what is searched for in them, unless they are there. Returns the
    numbers of rows by table, ascending. The file `fingerprints` has those of texts, QUERIES more than the most rows."""
    # The fingerprints of other texts, which are in no table.
    others = f"others_{distribution}"
    whole = f"{distribution}_{max(row_counts)}"
    if not exists(others):
        psql(f"CREATE UNLOGGED TABLE {others} (id bigint, fingerprint bigint)")
        if distribution == "text":
            psql(f"\\copy {others} FROM PROGRAM 'tail -n {QUERIES} \"{fingerprints}\"'")
        else:
            psql(f"INSERT INTO {others} {uniform_rows(1, QUERIES, seed=1)}")
    for rows in sorted(row_counts, reverse=True):
        table = f"{distribution}_{rows}"
        if exists(table):
            continue
        create_table(table, LAYOUTS)
        if table != whole:
            psql(f"INSERT INTO {table} (id, fingerprint) SELECT id, fingerprint FROM {whole} WHERE id <= {rows}")
        elif distribution == "text":
            psql(f"\\copy {table} (id, fingerprint) FROM PROGRAM 'head -n {rows} \"{fingerprints}\"'")
        else:
            insert_uniform(table, 1, rows)
        index_and_warm(table)
        make_queries(table, rows, others)
    return {f"{distribution}_{rows}": rows for rows in sorted(row_counts)}


def exists(table):
    return value(f"SELECT to_regclass('{table}') IS NOT NULL") == "t"


def create_table(table, layouts, persistence="UNLOGGED"):
    columns = ["id bigint NOT NULL", "fingerprint bigint NOT NULL", "body text NOT NULL DEFAULT repeat('x', 96)"]
    columns += [column for blocks in layouts for column in column_definitions(blocks)]
    psql(f"CREATE {persistence} TABLE {table} ({', '.join(columns)})")


def insert_uniform(table, first, last):
    """Inserts uniform fingerprints with these ids; returns how many seconds it takes."""
    return seconds(f"INSERT INTO {table} (id, fingerprint) {uniform_rows(first, last)}")


def index_and_warm(table):
    psql(f"ALTER TABLE {table} ADD PRIMARY KEY (id)", f"VACUUM ANALYZE {table}")
    warm(table, f"{table}_pkey")


def make_queries(table, rows, others):
    """For each distance QUERIES fingerprints to search for: one of the table's, one of the table's with `distance` bits
    flipped, and one of another text, in turns."""
    columns = "distance integer, id integer, fingerprint bigint, PRIMARY KEY (distance, id)"
    psql(f"CREATE UNLOGGED TABLE queries_{table} ({columns})", f"""INSERT INTO queries_{table}
        SELECT distance, number, CASE number % {QUERY_KINDS} WHEN {OWN_ROW} THEN own.fingerprint
            WHEN {NEAR_ROW} THEN own.fingerprint # mask ELSE other.fingerprint END
        FROM generate_series({DISTANCES.start}, {DISTANCES.stop - 1}) AS distance
            CROSS JOIN (SELECT row_number() OVER () AS number, fingerprint FROM {others}) AS other
            CROSS JOIN LATERAL (
                SELECT coalesce(bit_or(1::bigint << bit), 0) AS mask
                FROM (SELECT bit FROM generate_series(0, 63) AS bit
                    ORDER BY hashint8extended(bit, number * 10 + distance) LIMIT distance) AS flipped_bits
            ) AS masks
            JOIN {table} AS own ON own.id = {random_id('number', 2, rows)}""", f"VACUUM ANALYZE queries_{table}")


def make_copies(table, rows):
    """Gives COPIED_ROWS rows of the table near copies, NEAREST_ROWS - 1 each."""
    if exists(f"copied_{table}"):
        return
    # A copy differs from its row in two bits: the bits `copy` and 5 * `copy`.
    psql(
        f"CREATE UNLOGGED TABLE copied_{table} (id integer PRIMARY KEY, fingerprint bigint)",
        f"INSERT INTO copied_{table} SELECT number, fingerprint"
        f" FROM generate_series(0, {COPIED_ROWS - 1}) AS number JOIN {table} ON id = {random_id('number', 3, rows)}",
        f"INSERT INTO {table} (id, fingerprint)"
        f" SELECT {rows} + {NEAREST_ROWS} * id + copy, fingerprint # (1::bigint << copy) # (1::bigint << 5 * copy)"
        f" FROM copied_{table}, generate_series(1, {NEAREST_ROWS - 1}) AS copy",
        f"VACUUM ANALYZE {table}",
    )


def random_id(expression, seed, rows):
    """An expression for one of the first ids, which depends on another expression and a seed."""
    return f"1 + (hashint8extended({expression}, {seed}) & 9223372036854775807) % {rows}"


def build_indexes(table, rows, blocks, key=block_column, **settings):
    """Builds the indexes of a layout, reads them into shared buffers, and prints their time and their size."""
    built = seconds(*create_index_statements(table, blocks, key), **settings)
    warm(*index_names(table, blocks))
    stored = sum(int(value(f"SELECT pg_relation_size('{index}')")) for index in index_names(table, blocks))
    print(f"{rows:,} rows, {blocks} blocks: indexes built in {built:.2f} s, {stored / rows:.1f} bytes a row")


def commonest_share(table, blocks):
    """The share of rows that have a block's commonest value, in the worst block."""
    def share(block):
        counts = f"(SELECT count(*) FROM {table} GROUP BY {block_expression(block, blocks)}) AS counts"
        return float(value(f"SELECT max(count) / sum(count) FROM {counts}", max_parallel_workers_per_gather=4,
                           work_mem="1GB"))
    return max(map(share, range(blocks)))
