"""Statements on the server that psql's environment (PGHOST and so on) points to, and how long they take."""

import os
import subprocess
from statistics import median

# The form in which COPY reads each character, the backslash first. No text of PostgreSQL has the character 0.
ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\0": " "}
SETTINGS = {"client_min_messages": "warning", "jit": "off", "max_parallel_workers_per_gather": "0"}


def environment(settings):
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
    ((only,),) = psql(command, **settings)
    return only


def seconds(*commands, **settings):
    """How long the commands take together."""
    output = psql("\\timing on", *commands, **settings)
    return sum(float(row[0].split()[1]) for row in output if row and row[0].startswith("Time: ")) / 1e3


def in_turns(ways, runs):
    """Runs each way once in each run. Every other run has the opposite order."""
    for run in range(runs):
        yield from ways if run % 2 == 0 else reversed(ways)


def ratio(times, others):
    """How many times as much: the median of the runs' ratios."""
    return median(a / b for a, b in zip(times, others))


def verdict(is_reached):
    return "reached" if is_reached else "MISSED"


def print_bars(judged):
    for line, is_reached in judged:
        print(f"{line}: {verdict(is_reached)}")


def copy_in(table, rows):
    with subprocess.Popen(
        ["psql", "-Xq", "-v", "ON_ERROR_STOP=1", "-c", f"COPY {table} FROM STDIN"],
        stdin=subprocess.PIPE, text=True, env=environment({}),
    ) as process:
        for row in rows:
            process.stdin.write("\t".join(map(escaped, row)) + "\n")
    if process.returncode:
        raise RuntimeError(f"cannot fill {table}")


def escaped(value):
    text = str(value)
    for character, escape in ESCAPES.items():
        text = text.replace(character, escape)
    return text
