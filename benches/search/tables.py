"""The tables that are searched, and the fingerprints that they are searched for.

A row is an id, a fingerprint, a body of 96 bytes and a block column for each block of each layout, about 170 bytes with
its header. Fingerprints are `uniform`, random bits, or of `text`: those of fingerprints.rs.
"""

from layouts import column_definitions
from statements import psql, value
from timing import warm

LAYOUTS = 4, 3, 2
QUERIES = 1000
DISTANCES = range(9)


def prepare(distribution, sizes, fingerprints):
    """Makes the tables of these numbers of rows, and what is searched for in them, unless they are there. Returns the
    number of rows by the table's name, ascending.

    `fingerprints` is a file with the fingerprints of texts: a thousand more than the largest table.
    """
    others = f"others_{distribution}"
    whole = f"{distribution}_{max(sizes)}"
    if not is_there(others):
        psql(f"CREATE UNLOGGED TABLE {others} (id bigint, simhash bigint)")
        if distribution == "text":
            psql(f"\\copy {others} FROM PROGRAM 'tail -n {QUERIES} \"{fingerprints}\"'")
        else:
            psql(f"INSERT INTO {others} SELECT i, hashint8extended(i, 1) FROM generate_series(1, {QUERIES}) AS i")
    for rows in sorted(sizes, reverse=True):
        table = f"{distribution}_{rows}"
        if is_there(table):
            continue
        create(table, LAYOUTS)
        if table != whole:
            psql(f"INSERT INTO {table} (id, simhash) SELECT id, simhash FROM {whole} WHERE id <= {rows}")
        elif distribution == "text":
            psql(f"\\copy {table} (id, simhash) FROM PROGRAM 'head -n {rows} \"{fingerprints}\"'")
        else:
            fill_uniform(table, rows)
        finish(table)
        make_queries(table, rows, others)
    return {f"{distribution}_{rows}": rows for rows in sorted(sizes)}


def is_there(table):
    return value(f"SELECT to_regclass('{table}') IS NOT NULL") == "t"


def create(table, layouts, persistence="UNLOGGED"):
    names = [
        "id bigint NOT NULL",
        "simhash bigint NOT NULL",
        "body text NOT NULL DEFAULT repeat('x', 96)",
        *(column for blocks in layouts for column in column_definitions(blocks)),
    ]
    psql(f"CREATE {persistence} TABLE {table} ({', '.join(names)})")


def fill_uniform(table, rows):
    psql(f"INSERT INTO {table} (id, simhash) SELECT i, hashint8extended(i, 0) FROM generate_series(1, {rows}) AS i")


def finish(table):
    psql(f"ALTER TABLE {table} ADD PRIMARY KEY (id)", f"VACUUM ANALYZE {table}")
    warm(table, f"{table}_pkey")


def make_queries(table, rows, others):
    """For each distance k a thousand fingerprints to search for: by their ids modulo 3, one of the table, one with k
    bits flipped, and one of another text; and ids of rows to look up."""
    psql(
        f"CREATE UNLOGGED TABLE queries_{table} (k int, id int, simhash bigint, row bigint, PRIMARY KEY (k, id))",
        f"""INSERT INTO queries_{table}
        SELECT k, i, CASE i % 3 WHEN 0 THEN t.simhash WHEN 1 THEN t.simhash # flips ELSE o.simhash END, t.id
        FROM generate_series({DISTANCES.start}, {DISTANCES.stop - 1}) AS k
            CROSS JOIN (SELECT row_number() OVER () AS i, simhash FROM {others}) AS o
            CROSS JOIN LATERAL (
                SELECT coalesce(bit_or(1::bigint << bit), 0) AS flips
                FROM (
                    SELECT bit FROM generate_series(0, 63) AS bit ORDER BY hashint8extended(bit, i * 10 + k) LIMIT k
                ) AS bits
            ) AS f
            JOIN {table} AS t ON t.id = 1 + (hashint8extended(i, 2) & 9223372036854775807) % {rows}""",
        f"VACUUM ANALYZE queries_{table}",
    )


def make_copies(table, rows):
    """Gives a hundred rows of the table nine near copies each, for searches of the nearest ten."""
    if is_there(f"copied_{table}"):
        return
    psql(
        f"CREATE UNLOGGED TABLE copied_{table} (id int PRIMARY KEY, simhash bigint)",
        f"INSERT INTO copied_{table} SELECT i, t.simhash FROM generate_series(0, 99) AS i JOIN {table} AS t"
        f" ON t.id = 1 + (hashint8extended(i, 3) & 9223372036854775807) % {rows}",
        f"INSERT INTO {table} (id, simhash)"
        f" SELECT {rows} + 10 * id + n, simhash # (1::bigint << n) # (1::bigint << 5 * n)"
        f" FROM copied_{table}, generate_series(1, 9) AS n",
        f"VACUUM ANALYZE {table}",
    )


def index_bytes(indexes):
    names = ", ".join(f"'{index}'" for index in indexes)
    return int(value(f"SELECT sum(pg_relation_size(name::regclass)) FROM unnest(ARRAY[{names}]) AS name"))


def commonest_share(table, blocks):
    """The share of rows that have a block's commonest value, in the worst block."""
    return max(
        float(value(
            f"SELECT max(n) / sum(n) FROM"
            f" (SELECT count(*) AS n FROM {table} GROUP BY simhash_block(simhash, {block}, {blocks})) AS counts",
            max_parallel_workers_per_gather=4, work_mem="1GB",
        ))
        for block in range(blocks)
    )
