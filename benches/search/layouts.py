"""Layouts of the 64 bits in 2 to 8 blocks: their columns and indexes, and the probes and the condition of a search."""

from math import comb

BITS = 64


def count_probes(blocks, distance):
    """How many probes a search within a distance makes.

    In each block, up to `radius` bits of the query are flipped. A fingerprint beyond the radius of every block differs
    in at least radius + 1 bits of each, together distance + 1: it is not near. No block of radius -1 is looked up."""
    widths = [BITS // blocks + (block < BITS % blocks) for block in range(blocks)]
    radii = [(distance + 1) // blocks - 1 + (block < (distance + 1) % blocks) for block in range(blocks)]
    return sum(comb(width, flipped) for width, radius in zip(widths, radii) for flipped in range(radius + 1))


def block_expression(block, blocks):
    return f"simhash_block(fingerprint, {block}, {blocks})"


def block_column(block, blocks):
    return f"blocks{blocks}_{block}"


def column_definitions(blocks):
    return [f"{block_column(block, blocks)} integer GENERATED ALWAYS AS ({block_expression(block, blocks)}) STORED"
            for block in range(blocks)]


def index_names(table, blocks):
    return [f"{table}_{block_column(block, blocks)}" for block in range(blocks)]


def create_index_statements(table, blocks, key):
    """Statements that create covering indexes. `key` is block_column or block_expression."""
    return [f"CREATE INDEX {index} ON {table} ({key(block, blocks)}, fingerprint)"
            for block, index in enumerate(index_names(table, blocks))]


def drop_index_statement(table, blocks):
    return "DROP INDEX " + ", ".join(index_names(table, blocks))


def near_condition(distance, query):
    """A condition on the table `searched`."""
    return f"simhash_near(searched.fingerprint, {query}, {distance})"
