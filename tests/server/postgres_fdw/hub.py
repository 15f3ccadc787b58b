"""The hub and its foreign servers, one and two, which log their plans."""

import json
import pathlib
import re

from distributed import ENTRY, OTHERS, SERVERS, connect

PLAN = re.compile(r"plan:\n((?:\t.*\n)+)")


def create_database(name):
    """Makes a database with the extension on all servers. On the hub, the others are its foreign servers."""
    for server in SERVERS:
        with connect(server, "postgres") as connection:
            connection.execute(f"CREATE DATABASE {name}")
        with connect(server, name) as connection:
            connection.execute("CREATE EXTENSION pg_simhash")
    with connect(ENTRY, name) as hub:
        hub.execute("CREATE EXTENSION postgres_fdw")
        for server in OTHERS:
            host, port = SERVERS[server]
            hub.execute(f"""
                CREATE SERVER {server} FOREIGN DATA WRAPPER postgres_fdw OPTIONS
                    (host '{host}', port '{port}', dbname '{name}', extensions 'pg_simhash');
                CREATE USER MAPPING FOR postgres SERVER {server} OPTIONS (user 'postgres')""")


class PlanLog:
    def __init__(self):
        self.offsets = dict.fromkeys(OTHERS, 0)

    def read_new(self):
        """The plans that each of the other servers has logged since the last call, each as a list of its nodes."""
        plans = {}
        for server in OTHERS:
            log = pathlib.Path(SERVERS[server][0], f"{server}.log").read_bytes()
            new = log[self.offsets[server] :].decode()
            self.offsets[server] = len(log)
            found = (json.loads(plan)["Plan"] for plan in PLAN.findall(new))
            # use_remote_estimate sends EXPLAIN, whose plans have no actual rows: leave these out.
            plans[server] = [list(nodes_of(plan)) for plan in found if "Actual Rows" in plan]
        return plans


def nodes_of(plan):
    """The nodes of a plan, from the top."""
    yield plan
    for child in plan.get("Plans", []):
        yield from nodes_of(child)


def node_type(node):
    return node.get("Custom Plan Provider", node["Node Type"])
