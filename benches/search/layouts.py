"""Layouts of the 64 bits in 2 to 8 blocks: their columns and indexes, and the probes and SQL of a search."""

from math import comb

BITS = 64


def width(block, blocks):
    return BITS // blocks + (block < BITS % blocks)


def radius(block, blocks, distance):
    """How many bits of the block may be flipped in a search within a distance; -1 if the block is not looked up. A
    fingerprint beyond the radius of every block differs in radius + 1 bits of each or more, together distance + 1: it
    is not near."""
    return (distance + 1) // blocks - 1 + (block < (distance + 1) % blocks)


def block_probes(block, blocks, distance):
    return sum(comb(width(block, blocks), flipped) for flipped in range(radius(block, blocks, distance) + 1))


def probes(blocks, distance):
    return sum(block_probes(block, blocks, distance) for block in range(blocks))


def column_name(block, blocks):
    return f"blocks{blocks}_{block}"


def column_definitions(blocks):
    return [
        f"{column_name(block, blocks)} integer GENERATED ALWAYS AS (simhash_block(simhash, {block}, {blocks})) STORED"
        for block in range(blocks)
    ]


def index_name(table, block, blocks):
    return f"{table}_{column_name(block, blocks)}"


def index_names(table, blocks):
    return [index_name(table, block, blocks) for block in range(blocks)]


def create_indexes(table, blocks):
    return [
        f"CREATE INDEX {index_name(table, block, blocks)} ON {table} ({column_name(block, blocks)}, simhash)"
        for block in range(blocks)
    ]


def drop_indexes(table, blocks):
    return "DROP INDEX " + ", ".join(index_names(table, blocks))


def near(distance, query):
    """A condition on the table t."""
    return f"simhash_near(t.simhash, {query}, {distance})"
