"""What searches cost where many rows share a block or a whole fingerprint: hot and cold queries, with four blocks
indexed, with two halves, and with both."""

import re

import tables
from layouts import create_indexes, drop_indexes, indexes, near
from server import Way, measure, warm
from statements import psql
from searches import lookup

K = 3
HOT = 0x5EED
SAME = 0x0123456789ABCDEF
LOW = (1 << 48) - 1


def hot(number):
    """The fingerprint with the hot block of a row. (SQL's bit operators have no order of their own.)"""
    return f"((hashint8extended({number}, 0) & {LOW}) | ({HOT}::bigint << 48))"


# Fingerprint of row i, and what is searched for, as SQL: by name, an expression of a random number from 1 to 1,000.
TABLES = {
    "a quarter of the rows share a 16-bit block": (
        "skew_block",
        f"CASE i % 4 WHEN 0 THEN {hot('i')} ELSE hashint8extended(i, 0) END",
        {
            "hot: in such rows, 2 bits flipped": f"{hot('4 * i')} # 257",
            "cold: in other rows, 2 bits flipped": "hashint8extended(4 * i + 1, 0) # 257",
        },
    ),
    "half of the rows have the same fingerprint": (
        "skew_same",
        f"CASE i % 2 WHEN 0 THEN {SAME} ELSE hashint8extended(i, 0) END",
        {
            "hot: that fingerprint": f"{SAME} + 0 * i",
            "hot: 4 bits from it, 2 in each half": f"({SAME} # (3::bigint << 40) # 3) + 0 * i",
            "hot: 4 bits from it, in one block": f"({SAME} # 15) + 0 * i",
            "cold: in other rows, 2 bits flipped": "hashint8extended(2 * i + 1, 0) # 257",
        },
    ),
}
INDEXED = (4,), (2,), (4, 2)


def report(runs, rows):
    size = rows // 5
    for title, (table, fingerprint, queries) in TABLES.items():
        tables.create(table, (4, 2))
        psql(
            f"INSERT INTO {table} (id, simhash) SELECT i, {fingerprint} FROM generate_series(1, {size}) AS i",
            f"CREATE UNLOGGED TABLE queries_{table} (query int, id int, simhash bigint, PRIMARY KEY (query, id))",
            *(
                f"INSERT INTO queries_{table}"
                f" SELECT {number}, i, {expression} FROM generate_series(1, {tables.QUERIES}) AS i"
                for number, expression in enumerate(queries.values())
            ),
            f"VACUUM ANALYZE queries_{table}",
        )
        tables.finish(table)
        print(f"\n{size:,} rows, {title}; k = {K}; the rows found are counted: ms (primary-key lookups) and how")
        print(f"{'query':<38} {'indexed':<15} {'search':<18} {'generic plan':>27} {'planned anew':>27}")
        for layouts in INDEXED:
            for blocks in layouts:
                psql(*create_indexes(table, blocks))
                warm(*indexes(table, blocks))
            for number, query in enumerate(queries):
                report_query(table, size, layouts, number, query, runs)
            for blocks in layouts:
                psql(drop_indexes(table, blocks))
        psql(f"DROP TABLE {table}, queries_{table}")


def report_query(table, size, layouts, number, query, runs):
    conditions = {"simhash_near": near(K, ":q")}
    ways = {"lookup": lookup(table, size)}
    for name, condition in conditions.items():
        ways[name] = Way(
            f"SELECT count(*) FROM {table} AS t WHERE {condition}",
            f"\\set i random(1, {tables.QUERIES})",
            f"SELECT simhash AS q FROM queries_{table} WHERE query = {number} AND id = :i \\gset",
        )
    times = {plans: measure(ways, runs, [table], f"force_{plans}_plan", least=1) for plans in ("generic", "custom")}
    indexed = " and ".join(str(blocks) for blocks in layouts) + " blocks"
    for name, condition in conditions.items():
        cells = (
            f"{measured.ms(name):.3f} ({measured.ratio(name, 'lookup'):,.1f})"
            f" {plan(table, condition, number, plans):<6}"
            for plans, measured in times.items()
        )
        print(f"{query:<38} {indexed:<15} {name:<18} " + " ".join(f"{cell:>27}" for cell in cells), flush=True)


def plan(table, condition, query, plans):
    """The radii within which each block is looked at for the first of the queries, or that everything is scanned."""
    ((fingerprint,),) = psql(f"SELECT simhash FROM queries_{table} WHERE query = {query} AND id = 1")
    lines = psql(
        f"PREPARE search(bigint) AS SELECT count(*) FROM {table} AS t WHERE {condition.replace(':q', '$1')}",
        f"EXPLAIN (ANALYZE, COSTS OFF) EXECUTE search({fingerprint})",
        plan_cache_mode=f"force_{plans}_plan",
    )
    text = "\n".join(line[0] for line in lines)
    radii = re.search("Radii: (.*)", text)
    return radii.group(1).replace(", ", "") if radii else "scan"
