"""CREATE EXTENSION."""

from django.contrib.postgres.operations import CreateExtension


class SimhashExtension(CreateExtension):
    """Creates the extension. It stands before the first model that has a fingerprint.

    Backwards, it drops the extension, which fails while a table uses it.
    """

    def __init__(self) -> None:
        self.name = "pg_simhash"
