"""Tests that run most statements on the coordinator."""

import sys

sys.path.append(f"{sys.path[0]}/..")
from distributed import FIRST, DistributedTest, connect


class OnCoordinator(DistributedTest):
    @classmethod
    def connect(cls, server=FIRST):
        connection = connect(server)
        connection.execute("SET client_min_messages = warning; SET citus.enable_unsafe_triggers = on")
        return connection

    @classmethod
    def on_coordinator(cls, *commands):
        return cls.on(FIRST, *commands)
