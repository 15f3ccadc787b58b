"""What a search, a table and a batch take on one server, or on several with Citus.

A search of one table or shard costs probes and candidates, as simhash_skew computes them (simhash/src/search/cost.rs).
Among uniform fingerprints, the candidates follow from the number of rows. Those of texts are the share of the rows that
was counted in the largest measured table. On several servers, each shard is a task that repeats all probes.
"""

from dataclasses import dataclass
from math import ceil, exp2, expm1, log1p

import by_hand
import layouts

MAX_PROBES = 1 << 20  # of a block: blocks.rs
LAYOUTS = range(2, 9)

# Assumptions, not measurements.
SHARE_FOR_TABLES = 0.75  # of a server's memory; the rest is for sessions, maintenance and the system
GB_PER_CORE = 8
SHARDS_PER_SERVER = 2  # so that the number of servers can be doubled by moving shards

GROWN = by_hand.INDEXES_GROWN / by_hand.INDEXES_BUILT  # how much larger indexes are that grew row by row


@dataclass(frozen=True)
class Plan:
    """One way to keep and search a table."""

    rows: int
    k: int
    blocks: int
    servers: int
    server_gb: float
    cores: int  # of each server
    shards: int  # of all servers; 1: PostgreSQL without Citus
    memory: float  # bytes of a table (id, fingerprint), its primary key and its covering indexes, which grew
    cpu: float  # ms of a search, on all servers
    latency: float  # ms of a search

    @property
    def searches(self):
        """Searches a second, if all cores of all servers do nothing else."""
        return self.servers * self.cores / (self.cpu / 1e3)


class Model:
    def __init__(self, measured):
        self.measured = measured
        self.layouts_known = sorted(measured.index_bytes)

    def candidates(self, kind, rows, blocks, k, counted=None):
        """Entries that a search reads; None if nothing is known. `counted` is the table whose share is used."""
        if kind == "uniform":
            return rows * uniform_share(blocks, k)
        counted = counted or self.measured.largest(kind)
        found = self.measured.candidates(kind, counted, blocks, k)
        return None if found is None else rows * found / counted

    def cost(self, kind, rows, blocks, k, counted=None):
        """Milliseconds of a search in the indexes of one table; None if the layout cannot serve it."""
        if any(layouts.block_probes(block, blocks, k) > MAX_PROBES for block in range(blocks)):
            return None
        candidates = self.candidates(kind, rows, blocks, k, counted)
        if candidates is None:
            return None
        probes = layouts.probes(blocks, k)
        return (probes * self.measured.probe_us + candidates * self.measured.entry_us) / 1e3

    def best(self, kind, rows, k):
        """The cheapest layout for one table, and its cost."""
        costs = {blocks: self.cost(kind, rows, blocks, k) for blocks in LAYOUTS}
        blocks = min((blocks for blocks in costs if costs[blocks] is not None), key=costs.get)
        return blocks, costs[blocks]

    def row_bytes(self, blocks, grown=GROWN):
        """A row (id, fingerprint) with its key and indexes; `grown` is 1 if these are freshly built."""
        return by_hand.TABLE_BYTES + grown * (by_hand.KEY_BYTES + self.measured.index_bytes[blocks])

    def rows_in(self, server_gb, blocks):
        """Rows of a table that fits in the memory of a server with its key and indexes."""
        return server_gb * 1e9 * SHARE_FOR_TABLES / self.row_bytes(blocks)

    def disk(self, rows, blocks):
        """Bytes of a table that has texts, fingerprints and block columns, with its indexes."""
        m = self.measured
        return rows * (m.text_bytes + m.column_bytes[blocks] + GROWN * (by_hand.KEY_BYTES + m.index_bytes[blocks]))

    def plan(self, rows, k, server_gb=None, servers=None, per_server=SHARDS_PER_SERVER):
        """The layout that takes least CPU for texts, on one server as large as it takes, or on servers of one size.

        These are as many as the table takes, or `servers`.
        """
        of = (server_gb, servers, per_server)
        plans = (self.plan_layout(rows, k, blocks, *of) for blocks in self.layouts_known)
        return min((plan for plan in plans if plan), key=lambda plan: plan.cpu)

    def plan_layout(self, rows, k, blocks, server_gb, servers, per_server):
        """None if the layout is unknown at this distance, or does not fit."""
        memory = rows * self.row_bytes(blocks)
        if server_gb is None:
            least, server_gb = 1, memory / SHARE_FOR_TABLES / 1e9
        else:
            least = ceil(rows / self.rows_in(server_gb, blocks))
        servers = servers or least
        cores = max(1, int(server_gb / GB_PER_CORE))
        shards = 1 if servers == 1 else servers * per_server
        cost = self.cost("text", rows / shards, blocks, k)
        if cost is None or servers < least:
            return None
        if servers == 1:
            cpu = latency = self.measured.lookup("scale", self.measured.largest("uniform")) + cost
        else:
            cpu = by_hand.CITUS_LOCAL + shards * (by_hand.CITUS_CPU_OF_TASK + cost)
            # The tasks of a short search take turns on the one connection to their server.
            latency = citus_overhead(shards) + per_server * cost
        return Plan(rows, k, blocks, servers, server_gb, cores, shards, memory, cpu, latency)

    def pairs_hours(self, plan):
        """Hours of all pairs by a key table: each core has its share of the groups."""
        entries = plan.rows * by_hand.KEY_TABLE_BLOCKS
        measured = by_hand.KEY_TABLE_ROWS * by_hand.KEY_TABLE_BLOCKS / by_hand.KEY_TABLE_SECONDS / by_hand.CITUS_CORES
        return entries / (measured * plan.servers * plan.cores) / 3600

    def pairs_key_bits(self, plan):
        """How many bits of a block a key needs, so that every core can hold a group in the memory beside the table."""
        spare = plan.server_gb * 1e9 * (1 - SHARE_FOR_TABLES) / plan.cores
        most = min(spare / self.measured.pairs_bytes, 2**26)  # an array has at most 1 GB
        return next(bits for bits in range(17) if plan.rows / 2**bits <= most)


def uniform_share(blocks, k):
    """The share of all fingerprints that have at least one block within its radius, as in cost.rs."""
    # The share that a block misses; their product is that of all blocks. Logarithms, because it is nearly 1.
    missed = (
        log1p(-layouts.block_probes(block, blocks, k) / exp2(layouts.width(block, blocks))) for block in range(blocks)
    )
    return -expm1(sum(missed))


def citus_overhead(shards):
    """Milliseconds that a search of so many shards takes beside reading indexes: their tasks, on the cores measured."""
    return by_hand.CITUS_LOCAL + shards * by_hand.CITUS_CPU_OF_TASK / by_hand.CITUS_CORES
