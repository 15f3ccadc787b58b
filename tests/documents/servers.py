"""Runs the SQL of a section of a Markdown file, which is about several servers.

    python3 tests/documents/servers.py DOCUMENT SECTION NAME=[USER@]HOST:PORT...

The first server is the one that the others work for. The first line of each ```sql block says where it runs:
`-- on the NAME` for the first server, `-- on server NAME`, or `-- on each server` (each but the first). Each block is
run by a psql of its own, in the database app: on the first server as postgres, elsewhere as app, if no user is given.
With `, in the database postgres` at the end of the line, it is run there as postgres. Any error fails. A ```text block
must be what psql prints for the block before it (trailing spaces and counts of rows aside); without such a block, it is
an error. Where the page has `host 'NAME.example.com'` or `'NAME.example.com', 5432`, the server NAME is meant.
"""

import difflib
import os
import pathlib
import re
import subprocess
import sys

from blocks import blocks

ADDRESS = re.compile(r"(\w+)=(?:(\w+)@)?(.+):(\d+)")
PLACE = re.compile(r"-- on (?:the (\w+)|server (\w+)|(each) server)(, in the database postgres)?$")


def main():
    document, section, *servers = sys.argv[1:]
    addresses = {}
    for server in servers:
        name, user, host, port = ADDRESS.fullmatch(server).groups()
        addresses[name] = (user or ("app" if addresses else "postgres"), host, port)
    text = pathlib.Path(document).read_text(encoding="utf-8")
    count = compared = failed = 0
    printed = {}
    for language, lines in blocks(text, section):
        if language == "sql":
            count += 1
            names, in_postgres = read_place(lines[0], addresses)
            printed = {name: run(name, "\n".join(lines), addresses, in_postgres) for name in names}
            continue
        if language == "text":
            if not printed:
                sys.exit(f"no SQL comes before a text block: {lines[:1]}")
            for name, output in printed.items():
                compared += 1
                actual = trimmed(output.splitlines())
                difference = list(difflib.unified_diff(trimmed(lines), actual, document, name, lineterm=""))
                failed += bool(difference)
                print(*difference, sep="\n", end="\n" if difference else "")
        printed = {}
    if not count:
        sys.exit(f"{document}, {section}: no SQL")
    print(f"{document}, {section}: {count} blocks run, {compared} outputs compared")
    sys.exit(failed > 0)


def read_place(first_line, addresses):
    """The servers that a block runs on, and whether in the database postgres, as its first line says."""
    found = PLACE.match(first_line)
    if not found:
        sys.exit(f"a block does not say where it runs: {first_line}")
    first, server, each, in_postgres = found.groups()
    names = list(addresses)
    if first and first != names[0]:
        sys.exit(f"the first server is {names[0]}: {first_line}")
    return names[1:] if each else [first or server], bool(in_postgres)


def run(name, sql, addresses, in_postgres):
    """Runs a block on a server, and returns what psql prints."""
    for server, (_, host, port) in addresses.items():
        sql = sql.replace(f"host '{server}.example.com'", f"host '{host}', port '{port}'")
        sql = sql.replace(f"'{server}.example.com', 5432", f"'{host}', {port}")
    user, host, port = addresses[name]
    user, database = ("postgres", "postgres") if in_postgres else (user, "app")
    command = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", host, "-p", port, "-U", user, database]
    environment = os.environ | {"PGOPTIONS": "-c client_min_messages=warning -c statement_timeout=10min"}
    done = subprocess.run(command, input=sql, stdout=subprocess.PIPE, text=True, env=environment, check=False)
    if done.returncode != 0:
        sys.exit(f"failed on {name}:\n{sql}")
    return done.stdout


def trimmed(lines):
    """The lines without trailing spaces, psql's counts of rows, and empty lines at the end."""
    kept = [line.rstrip() for line in lines if not re.fullmatch(r"\(\d+ rows?\)", line)]
    return "\n".join(kept).rstrip("\n").splitlines()


if __name__ == "__main__":
    main()
