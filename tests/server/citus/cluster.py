"""The servers, as the programs of this folder use them: a coordinator of Citus, and two others, one and two."""

import sys

import psycopg

COORDINATOR = "coordinator"
# The database of docs/citus.md, in which Citus knows the servers.
DATABASE = "app"


def statements(script):
    """The statements of a script, each of which ends at the end of a line. Citus needs a transaction for each."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if line.endswith(";\n") and statement.count("$$") % 2 == 0:
            yield statement
            statement = ""


class Servers:
    """The servers whose addresses are the arguments of the program: NAME=USER@HOST:PORT."""

    def __init__(self):
        self.addresses = dict(argument.split("=", 1) for argument in sys.argv[1:])

    def connect(self, name=COORDINATOR):
        user, address = self.addresses[name].split("@")
        host, port = address.rsplit(":", 1)
        return psycopg.connect(host=host, port=port, dbname=DATABASE, user=user, autocommit=True)
