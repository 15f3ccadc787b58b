"""Statements on the server that psql's environment (PGHOST and so on) points to, and how long they take."""

import os
import subprocess

# The form in which COPY reads each character. No text of PostgreSQL has the character 0.
ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\0": " "})
SETTINGS = {"client_min_messages": "warning", "jit": "off", "max_parallel_workers_per_gather": "0"}


def environment(settings):
    """The environment of psql and pgbench, in which the server has these settings."""
    options = " ".join(f"-c {name}={value}" for name, value in {**SETTINGS, **settings}.items())
    return {**os.environ, "PGOPTIONS": options, "LC_ALL": "C"}


def psql(*commands, **settings):
    """The rows that the commands print, each a list of strings."""
    arguments = [argument for command in commands for argument in ("-c", command)]
    output = subprocess.run(
        ["psql", "-XAtq", "-F", "\t", "-v", "ON_ERROR_STOP=1", *arguments],
        check=True, stdout=subprocess.PIPE, text=True, env=environment(settings),
    ).stdout
    return [line.split("\t") for line in output.splitlines()]


def value(command, **settings):
    """The only value that the command prints."""
    ((only,),) = psql(command, **settings)
    return only


def seconds(*commands, **settings):
    """How long the commands take together."""
    # psql prints `Time: 1.234 ms` after each command.
    output = psql("\\timing on", *commands, **settings)
    return sum(float(row[0].split()[1]) for row in output if row and row[0].startswith("Time: ")) / 1e3


def copy_in(table, rows):
    """Stores rows in a table by COPY."""
    with subprocess.Popen(
        ["psql", "-Xq", "-v", "ON_ERROR_STOP=1", "-c", f"COPY {table} FROM STDIN"],
        stdin=subprocess.PIPE, text=True, env=environment({}),
    ) as process:
        for row in rows:
            process.stdin.write("\t".join(str(field).translate(ESCAPES) for field in row) + "\n")
    if process.returncode:
        raise RuntimeError(f"cannot fill {table}")
