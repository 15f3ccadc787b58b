"""Tests that run most statements on the coordinator."""

from distributed import ENTRY, DistributedTest, connect


class OnCoordinator(DistributedTest):
    @classmethod
    def connect(cls, server=ENTRY):
        connection = connect(server)
        connection.execute("SET client_min_messages = warning; SET citus.enable_unsafe_triggers = on")
        return connection

    @classmethod
    def on_coordinator(cls, *commands):
        return cls.on(ENTRY, *commands)
