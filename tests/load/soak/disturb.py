"""Ends backends while they work, and vacuums the table, which removes what undone transactions have stored."""

import os
import random
import signal
import subprocess
from time import monotonic, sleep

import psycopg

import table

BACKEND = "SELECT pid FROM pg_stat_activity WHERE application_name = 'soak' ORDER BY random() LIMIT 1"


def run(until, seed, start_command):
    rng = random.Random(seed)
    crashes = plan_crashes(until, rng) if start_command else []
    planned = len(crashes) // 2
    terminated = killed = restarted = 0
    while monotonic() < until:
        sleep(rng.uniform(0.1, 0.4))
        try:
            if crashes and monotonic() > crashes[0][0]:
                if crashes[0][1] == "server":
                    kill_server(start_command)
                    restarted += 1
                    crashes.pop(0)
                elif kill_backend():
                    killed += 1
                    crashes.pop(0)
            else:
                terminated += terminate_backend()
                if rng.random() < 0.3:
                    vacuum()
        except psycopg.OperationalError:
            pass  # The server is starting again.
    # The last of either may have come too late.
    if start_command and min(killed, restarted) < max(1, planned - 1):
        raise RuntimeError(f"only {killed} backends and {restarted} times the server were killed, not {planned} each")
    return f"{terminated} backends terminated, {killed} killed, server killed {restarted} times"


def plan_crashes(until, rng):
    """A backend and the server in turns, each every sixth second, and once more: ten times a minute and more."""
    now = monotonic()
    count = 2 * (int((until - now) / 6) + 1)
    step = (until - now) / count
    planned = []
    for number in range(count):
        planned.append((now + step * (number + rng.uniform(0.2, 0.7)), "server" if number % 2 else "backend"))
    return planned


def terminate_backend():
    with table.connect() as connection:
        return connection.execute(f"SELECT pg_terminate_backend(pid) FROM ({BACKEND}) AS backend").rowcount


def vacuum():
    with table.connect() as connection:
        connection.execute("VACUUM soak")


def kill_backend():
    with table.connect() as connection:
        found = connection.execute(BACKEND).fetchone()
    if found:
        os.kill(found[0], signal.SIGKILL)
    return bool(found)


def kill_server(start_command):
    with table.connect() as connection:
        (first,) = connection.execute("SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int").fetchone()
    os.kill(first, signal.SIGKILL)
    # Backends notice, each in its time; until the last is gone, its shared memory forbids a new server.
    deadline = monotonic() + 60
    while subprocess.run([start_command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
        if monotonic() > deadline:
            raise RuntimeError("the server cannot be started again")
        sleep(0.2)
