"""Figures that were measured by hand, and have no record."""

# Measured by hand on Citus 13.2.2 and PostgreSQL 15: coordinator and workers on one machine, 2 million rows.
CITUS_ROWS = 2_000_000
CITUS_CPU_OF_TASK = 0.2  # ms of CPU
CITUS_LOCAL = 0.21  # ms of the same search in a table that is not distributed
CITUS_SEARCHES = {8: (0.9, 1.7), 32: (2.1, 3.1)}  # ms, from and to, by the number of shards
# The number of cores of that machine is not on record; this is what most records name.
CITUS_CORES = 2
# All pairs of 5 million fingerprints, each in the groups of its four blocks: seconds, on 8 shards of that machine.
KEY_TABLE_ROWS = 5_000_000
KEY_TABLE_SECONDS = 23
KEY_TABLE_BLOCKS = 4

# Measured by hand on PostgreSQL 15: pg_relation_size of a table (id bigint, simhash bigint) and of its primary key.
TABLE_BYTES = 44.3
KEY_BYTES = 22.5
# docs/performance.md, "A hundred million rows": that table with four blocks.
HUNDRED_MILLION_GB = 19
