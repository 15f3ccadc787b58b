"""Three servers, as the programs of this folder use them: a hub and two others, one and two, that log their plans."""

import json
import pathlib
import re
import sys

import psycopg

HUB = "hub"
OTHERS = "one", "two"
# A statement that waits forever fails after this time.
SAFETY_NET = "-c statement_timeout=10min"
PLAN = re.compile(r"plan:\n((?:\t.*\n)+)")


class Servers:
    """The servers whose addresses are the arguments of the program: NAME=HOST:PORT."""

    def __init__(self):
        self.addresses = dict(argument.split("=", 1) for argument in sys.argv[1:])
        self.read = {}

    def connect(self, name, database="postgres"):
        host, port = self.addresses[name].rsplit(":", 1)
        return psycopg.connect(
            host=host, port=port, dbname=database, user="postgres", autocommit=True, options=SAFETY_NET
        )

    def create_database(self, name):
        """Makes a database with the extension on all servers. On the hub, the others are its foreign servers."""
        for server in self.addresses:
            with self.connect(server) as connection:
                connection.execute(f"CREATE DATABASE {name}")
            with self.connect(server, name) as connection:
                connection.execute("CREATE EXTENSION pg_simhash")
                if server == HUB:
                    connection.execute("CREATE EXTENSION postgres_fdw")
                    for other in OTHERS:
                        connection.execute(self.create_server(other, name))

    def create_server(self, server, database):
        host, port = self.addresses[server].rsplit(":", 1)
        return f"""
            CREATE SERVER {server} FOREIGN DATA WRAPPER postgres_fdw OPTIONS
                (host '{host}', port '{port}', dbname '{database}', extensions 'pg_simhash');
            CREATE USER MAPPING FOR postgres SERVER {server} OPTIONS (user 'postgres')"""

    def new_plans(self):
        """The plans that each of the other servers has logged since the last call, as trees."""
        plans = {}
        for server in OTHERS:
            log = pathlib.Path(self.addresses[server].rsplit(":", 1)[0], f"{server}.log")
            text = log.read_bytes()
            new = text[self.read.get(server, 0) :].decode()
            self.read[server] = len(text)
            found = (json.loads(plan)["Plan"] for plan in PLAN.findall(new))
            # EXPLAIN, which use_remote_estimate sends, logs a plan without rows.
            plans[server] = [plan for plan in found if "Actual Rows" in plan]
        return plans


def nodes(plan):
    """A node of a plan, and all below it."""
    yield plan
    for below in plan.get("Plans", []):
        yield from nodes(below)


def is_search(node):
    return node.get("Custom Plan Provider") == "SimhashScan"


def is_whole(node):
    """Whether the node reads a whole table."""
    return node["Node Type"] == "Seq Scan"
