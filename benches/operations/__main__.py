"""What the commands that change a table cost: time, locks, WAL, and the bytes a row that they leave.

    python benches/operations RUNS ROWS FILE.jsonl ...

In a table of ROWS texts, with a primary key: attaching in several layouts, the online way, a guard, and taking it away
again; then a dump and its restore, with and without fingerprints. Times are medians of RUNS runs. Locks are the
strongest on the table, as pg_locks shows them at the end of the transaction or, where a command commits by itself, as
often as another session can look.

Needs PYTHONPATH=benches, and psql's environment (PGHOST and so on) pointing to a server with pg_simhash.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import texts
from statements import copy_in, psql, value

# In ascending order.
LOCKS = (
    "AccessShareLock", "RowShareLock", "RowExclusiveLock", "ShareUpdateExclusiveLock", "ShareLock",
    "ShareRowExclusiveLock", "ExclusiveLock", "AccessExclusiveLock",
)
SIZES = (
    "SELECT pg_table_size('docs'), coalesce(sum(pg_relation_size(indexrelid)), 0) FROM pg_index"
    " WHERE indrelid = 'docs'::regclass AND NOT indisprimary"
)
DETACH = "SELECT simhash_detach('docs')"
# Each with a name, and whether it may stand in a transaction. Each case begins with a table of its own.
CASES = (
    (("VACUUM FULL, for comparison", "VACUUM FULL docs", False),),
    (
        ("simhash_attach, 4 blocks", "SELECT simhash_attach('docs', 'body')", True),
        ("simhash_guard", "SELECT simhash_guard('docs')", True),
        ("simhash_unguard", "SELECT simhash_unguard('docs')", True),
        ("simhash_detach", DETACH, True),
        ("VACUUM FULL, after simhash_detach", "VACUUM FULL docs", False),
    ),
    (("simhash_attach, 4 blocks, plain", "SELECT simhash_attach('docs', 'body', covering => false)", True),),
    (("simhash_attach, 3 blocks", "SELECT simhash_attach('docs', 'body', 3)", True),),
    (("simhash_attach, 2 blocks", "SELECT simhash_attach('docs', 'body', 2)", True),),
    (
        ("simhash_attach_online", "SELECT simhash_attach_online('docs', 'body')", True),
        ("simhash_fill", "CALL simhash_fill('docs')", False),
        ("commands of simhash_index_commands", "SELECT simhash_index_commands('docs') \\gexec", False),
        ("VACUUM FULL, after these", "VACUUM FULL docs", False),
    ),
)


def main():
    runs, rows = int(sys.argv[1]), int(sys.argv[2])
    made = texts.Texts(sys.argv[3:])
    psql("CREATE TABLE source (id bigint, body text NOT NULL)")
    copy_in("source", ((id, made.text()) for id in range(rows)))
    fresh()
    average = float(value("SELECT avg(octet_length(body)) FROM docs"))
    table = int(value("SELECT pg_table_size('docs')"))
    print(f"{rows:,} texts of {average:.0f} bytes, {table / rows:.0f} bytes a row as stored; medians of {runs} runs")
    print(f"\n{'command':<38} {'seconds':>8}  {'lock':<24} {'WAL':>6}  bytes a row: table, indexes")
    measured = {}
    for _ in range(runs):
        for commands in CASES:
            fresh()
            for name, command, inside in commands:
                measured.setdefault(name, []).append(run_one(command, inside))
    for name, results in measured.items():
        report(name, results, rows, table)
    dumps(runs, rows)


def fresh():
    psql("DROP TABLE IF EXISTS docs", "CREATE TABLE docs (LIKE source)", "INSERT INTO docs TABLE source",
         "ALTER TABLE docs ADD PRIMARY KEY (id)", "VACUUM ANALYZE docs")


def run_one(command, inside):
    psql("CHECKPOINT")
    before = value("SELECT pg_current_wal_lsn()")
    if inside:
        start = time.perf_counter()
        rows = psql("BEGIN", command, "SELECT mode FROM pg_locks WHERE relation = 'docs'::regclass"
                    " AND locktype = 'relation' AND pid = pg_backend_pid()", "COMMIT")
        taken = time.perf_counter() - start
        modes = {row[0] for row in rows if row and row[0] in LOCKS}
    else:
        taken, modes = watched(command)
    lock = max(modes, key=LOCKS.index, default="")
    wal = int(value(f"SELECT pg_current_wal_lsn() - '{before}'::pg_lsn"))
    psql("ANALYZE docs")
    ((table, indexes),) = psql(SIZES)
    return taken, lock, wal, int(table), int(indexes)


def watched(command):
    """How long a command takes, and the locks that another session sees."""
    modes, ended = set(), threading.Event()

    def watch():
        while not ended.is_set():
            look = (
                "SELECT DISTINCT mode FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid)"
                " WHERE l.relation = 'docs'::regclass AND locktype = 'relation' AND granted"
                " AND backend_type = 'client backend'"
            )
            modes.update(mode for (mode,) in psql(look))

    watcher = threading.Thread(target=watch)
    watcher.start()
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
        file.write(command + ("" if command.endswith("\\gexec") else ";") + "\n")
        file.flush()
        start = time.perf_counter()
        subprocess.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-f", file.name], check=True,
                       stdout=subprocess.DEVNULL)
        taken = time.perf_counter() - start
    ended.set()
    watcher.join()
    return taken, modes


def report(name, results, rows, table):
    times, locks, wal, tables, indexes = zip(*results)
    grown = statistics.median(tables) - table
    print(
        f"{name:<38} {statistics.median(times):>8.2f}  {max(locks, key=lambda lock: LOCKS.index(lock)):<24}"
        f" {statistics.median(wal) / 1e6:>5.0f}M  {grown / rows:>+8.1f} {statistics.median(indexes) / rows:>8.1f}",
        flush=True,
    )


def dumps(runs, rows):
    """pg_dump and its restore, which computes generated columns anew."""
    fresh()
    print(f"\n{'pg_dump and restore of the table':<38} {'dump':>8} {'size':>8} {'restore':>8}")
    for name, command in (
        ("without fingerprints", "VACUUM docs"),
        ("attached, 4 blocks", "SELECT simhash_attach('docs', 'body')"),
        ("attached and guarded", "SELECT simhash_guard('docs')"),
    ):
        psql(command)
        found = [dump_and_restore() for _ in range(runs)]
        dump, size, restore = (statistics.median(values) for values in zip(*found))
        print(f"{name:<38} {dump:>7.2f}s {size / rows:>8.1f} {restore:>7.2f}s", flush=True)


def dump_and_restore():
    with tempfile.NamedTemporaryFile(suffix=".dump") as file:
        start = time.perf_counter()
        subprocess.run(["pg_dump", "-t", "docs", "-f", file.name], check=True)
        dumped = time.perf_counter()
        size = os.path.getsize(file.name)
        psql("CREATE DATABASE restored", "\\connect restored", "CREATE EXTENSION pg_simhash")
        begun = time.perf_counter()
        subprocess.run(["psql", "-Xq", "-v", "ON_ERROR_STOP=1", "-d", "restored", "-f", file.name], check=True,
                       stdout=subprocess.DEVNULL)
        restored = time.perf_counter()
        psql("DROP DATABASE restored")
    return dumped - start, size, restored - begun


if __name__ == "__main__":
    main()
