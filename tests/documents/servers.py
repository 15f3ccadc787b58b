"""Runs the SQL of a section of a Markdown file that is about several servers.

    python3 tests/documents/servers.py DOCUMENT SECTION NAME=HOST:PORT...

The first line of each ```sql block says where it runs: `-- on the hub`, `-- on server one` or `-- on each server` (each
but the hub). Each block is run by a psql of its own, in the database app: on the hub as postgres, elsewhere as app. Any
error fails. A ```text block must be what psql prints for the block before it (trailing spaces aside). Where the page
has `host 'NAME.example.com'`, the server NAME is meant.
"""

import difflib
import os
import pathlib
import re
import subprocess
import sys

from blocks import blocks

HUB = "hub"
PLACE = re.compile(r"-- on (?:the (hub)|server (\w+)|(each) server)$")


def places(first_line, addresses):
    """The servers that a block runs on; an error if its first line does not say it."""
    found = PLACE.match(first_line)
    if not found:
        sys.exit(f"a block does not say where it runs: {first_line}")
    hub, server, each = found.groups()
    return [name for name in addresses if name != HUB] if each else [hub or server]


def run(name, sql, addresses):
    """What psql prints for the block on a server."""
    for server, (host, port) in addresses.items():
        sql = sql.replace(f"host '{server}.example.com'", f"host '{host}', port '{port}'")
    host, port = addresses[name]
    user = "postgres" if name == HUB else "app"
    command = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", host, "-p", port, "-U", user, "app"]
    environment = os.environ | {"PGOPTIONS": "-c client_min_messages=warning"}
    done = subprocess.run(command, input=sql, stdout=subprocess.PIPE, text=True, env=environment, check=False)
    if done.returncode != 0:
        sys.exit(f"failed on {name}:\n{sql}")
    return done.stdout


def trimmed(lines):
    """The lines without trailing spaces, and without empty lines at the end."""
    return "\n".join(line.rstrip() for line in lines).rstrip("\n").splitlines()


def main():
    document, section, *servers = sys.argv[1:]
    addresses = {name: tuple(address.rsplit(":", 1)) for name, address in (server.split("=", 1) for server in servers)}
    text = pathlib.Path(document).read_text(encoding="utf-8")
    count = compared = failed = 0
    printed = {}
    for language, lines in blocks(text, section):
        if language == "sql":
            count += 1
            printed = {name: run(name, "\n".join(lines), addresses) for name in places(lines[0], addresses)}
            continue
        if language == "text":
            for name, output in printed.items():
                compared += 1
                actual = trimmed(output.splitlines())
                difference = list(difflib.unified_diff(trimmed(lines), actual, document, name, lineterm=""))
                failed += bool(difference)
                print(*difference, sep="\n", end="\n" if difference else "")
        printed = {}
    if not count:
        sys.exit(f"{document} has no SQL in a section {section}")
    print(f"{document}, {section}: {count} blocks run, {compared} outputs compared")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
