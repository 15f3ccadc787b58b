"""The server that psql's environment (PGHOST and so on) points to: statements and how long they take, and pgbench.

The programs that import this module need PYTHONPATH=benches and, in the server, the extension pg_simhash.
"""

import os
import subprocess
import tempfile
from functools import reduce

# How COPY reads these characters. The backslash comes first, because the forms of the others contain it. A text in
# PostgreSQL cannot have the character 0.
ESCAPES = ("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r"), ("\0", " ")
SETTINGS = {"client_min_messages": "warning", "jit": "off", "max_parallel_workers_per_gather": "0"}


def environment(settings):
    """Environment variables for psql and pgbench, by which the server has these settings."""
    options = " ".join(f"-c {name}={value}" for name, value in {**SETTINGS, **settings}.items())
    return {**os.environ, "PGOPTIONS": options, "LC_ALL": "C"}


def psql(*commands, **settings):
    """The rows that the commands print, each a list of strings."""
    arguments = [argument for command in commands for argument in ("-c", command)]
    output = subprocess.run(["psql", "-XAtq", "-F", "\t", "-v", "ON_ERROR_STOP=1", *arguments], check=True,
                            stdout=subprocess.PIPE, text=True, env=environment(settings)).stdout
    return [line.split("\t") for line in output.splitlines()]


def value(command, **settings):
    """The only value that the command prints."""
    ((only,),) = psql(command, **settings)
    return only


def seconds(*commands, **settings):
    """How long the commands take together, in seconds."""
    # psql prints `Time: 1.234 ms` after each command.
    output = psql("\\timing on", *commands, **settings)
    return sum(float(row[0].split()[1]) for row in output if row and row[0].startswith("Time: ")) / 1e3


def copy_in(table, rows):
    """Stores rows in a table by COPY."""
    command = ["psql", "-Xq", "-v", "ON_ERROR_STOP=1", "-c", f"COPY {table} FROM STDIN"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True, env=environment({})) as process:
        process.stdin.writelines("\t".join(map(escape, row)) + "\n" for row in rows)
    if process.returncode:
        raise RuntimeError(f"cannot fill {table}")


def escape(field):
    """A field as COPY reads it. str.translate would take longer than COPY does."""
    return reduce(lambda text, replacement: text.replace(*replacement), ESCAPES, str(field))


def uniform_rows(first, last, seed=0):
    """A query for the ids from `first` to `last`, each with a uniform fingerprint, which depends on id and seed."""
    return f"SELECT id, hashint8extended(id, {seed}) AS fingerprint FROM generate_series({first}::bigint, {last}) AS id"


def run_pgbench(script, transactions, clients=1, variables=None, **settings):
    """Runs pgbench, and returns its report. Each client runs the script `transactions` times. In the script, the
    variable `turn` is 0 at first."""
    definitions = [f"--define={name}={number}" for name, number in {"turn": 0, **(variables or {})}.items()]
    with tempfile.NamedTemporaryFile("w", prefix="pg_simhash.", suffix=".sql") as file:
        file.write(script)
        file.flush()
        command = ["pgbench", "--no-vacuum", "--protocol=prepared", "--report-per-command", "--random-seed=1",
                   f"--client={clients}", f"--jobs={clients}", f"--transactions={transactions}", *definitions,
                   f"--file={file.name}"]
        process = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                 env=environment(settings))
    if process.returncode:
        raise RuntimeError(f"pgbench ended with {process.returncode}:\n{process.stdout}")
    return process.stdout


def print_conditions(names, runs, rest, **settings):
    """Prints the first line of a benchmark: these settings of the server, the number of runs, and the rest."""
    shown = ", ".join(f"{name} {value(f'SHOW {name}', **settings)}" for name in names)
    print(f"{shown}; medians of {runs} runs{rest}")
