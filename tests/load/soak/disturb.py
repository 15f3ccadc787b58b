"""Ends backends while they work, vacuums the table, which removes what undone transactions have stored, and rebuilds
its indexes."""

import collections
import itertools
import os
import signal
import subprocess

import psycopg

import database
from patience import until

# The number of committed transactions between two disturbances.
TRANSACTIONS_BETWEEN = 100
RANDOM_BACKEND_SQL = "SELECT pid FROM pg_stat_activity WHERE application_name = 'soak' ORDER BY random() LIMIT 1"


def run(transactions, start_command, count_committed):
    """Returns when `transactions` more are committed. `count_committed` returns their number."""
    turns = [("terminated backends", terminate_backend), ("VACUUMs", vacuum), ("REINDEXes", reindex)]
    if start_command:
        turns += [("killed backends", kill_backend), *turns, ("killed servers", lambda: kill_server(start_command))]
    done = collections.Counter()
    for name, disturb in itertools.islice(itertools.cycle(turns), transactions // TRANSACTIONS_BETWEEN):
        wait_for(TRANSACTIONS_BETWEEN, count_committed)
        until(lambda: attempt(disturb), f"a disturbance ({name})")
        done[name] += 1
    wait_for(TRANSACTIONS_BETWEEN, count_committed)
    return ", ".join(f"{count} {name}" for name, count in done.items())


def wait_for(transactions, count_committed):
    goal = count_committed() + transactions
    until(lambda: count_committed() >= goal, f"{transactions} transactions")


def attempt(disturb):
    """Disturbs once. Returns None if the server takes no connections because it is starting again."""
    try:
        return disturb()
    except psycopg.OperationalError as error:
        if isinstance(error, psycopg.errors.QueryCanceled):
            raise
        return None


def terminate_backend():
    with database.connect() as connection:
        return connection.execute(f"SELECT pg_terminate_backend(pid) FROM ({RANDOM_BACKEND_SQL}) AS backend").rowcount


def vacuum():
    with database.connect() as connection:
        # To truncate a table, VACUUM waits for up to five seconds until no other session uses the table.
        connection.execute("VACUUM (TRUNCATE false) soak")
    return True


def reindex():
    with database.connect() as connection:
        # PostgreSQL locks all partitions of a table at once: then it waits for writers, and they wait for it.
        partitions = connection.execute("SELECT relid::regclass FROM pg_partition_tree('soak') WHERE isleaf").fetchall()
        # A table that is not partitioned has no partition tree.
        for (partition,) in partitions or [("soak",)]:
            connection.execute(f"REINDEX TABLE CONCURRENTLY {partition}")
    return True


def kill_backend():
    with database.connect() as connection:
        backend = connection.execute(RANDOM_BACKEND_SQL).fetchone()
    try:
        if backend:
            os.kill(backend[0], signal.SIGKILL)
    except ProcessLookupError:
        return None  # It has ended by itself.
    return backend


def kill_server(start_command):
    with database.connect() as connection:
        (pid,) = connection.execute("SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::integer").fetchone()
    os.kill(pid, signal.SIGKILL)
    # Until the last backend has noticed, its shared memory prevents the start of a new server.
    return until(
        lambda: not subprocess.run([start_command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode,
        "the start of the killed server",
    )
