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
# Measured by hand on PostgreSQL 15: index bytes a row, of four covering indexes and a primary key of two columns, after
# the rows were inserted one by one, and after REINDEX.
INDEXES_GROWN = 205
INDEXES_BUILT = 158
# That table with four blocks, freshly built. No record has this figure: it is typed from docs/performance.md.
HUNDRED_MILLION_GB = 19

# Inserts, on Citus 13.2.2 and PostgreSQL 15, all servers on one machine: rows a second, least and most.
INSERTS_WITHIN_SCOPE = 5_300, 6_600  # eight clients, a guard whose scope has the distribution column
INSERTS_REFERENCE = 890
INSERTS_REGISTER = 2_200, 3_400
# A new connection to PostgreSQL 15 on a machine with two busy cores: ms, least and most.
CONNECTION = 3.5, 4.5
