"""A client's record of what it did, with times of a clock that all processes share."""

from dataclasses import dataclass, field
from time import monotonic

COMMITTED, UNDONE, UNKNOWN = "committed", "undone", "unknown"
FOREVER = float("inf")


@dataclass
class Version:
    """A row as it was written: not in the table before `since`, nor after the end of the transaction that ends it."""

    id: int
    text: int
    transaction: tuple
    since: float
    inserted: bool
    # A time at which the row was locked, by which versions and their ends can be ordered.
    order: float
    mark: int = None
    fate: str = UNDONE
    # If it was undone: the latest time at which it may have been in the table.
    until: float = FOREVER


@dataclass
class Ending:
    """An update or a delete of a row, which ended a version of the row."""

    id: int
    deleted: bool
    order: float
    fate: str = UNDONE
    until: float = FOREVER


@dataclass
class Refusal:
    """The rows (id and text) of a statement of which one was rejected, or that were all skipped or marked."""

    rows: list
    stored: list  # rows that the same statement stored before them, or may have stored before them
    transaction: tuple
    since: float
    until: float
    mark: int = None


@dataclass
class Journal:
    versions: list = field(default_factory=list)
    endings: list = field(default_factory=list)
    refusals: list = field(default_factory=list)
    counts: dict = field(default_factory=dict)

    def count(self, event):
        self.counts[event] = self.counts.get(event, 0) + 1


class Transaction:
    """The entries of a transaction, which are committed or undone together. A savepoint is an index into them."""

    def __init__(self, journal, name):
        self.journal, self.name, self.entries = journal, name, []

    def wrote(self, id, text, since, inserted=True, order=None, mark=None):
        order = since if order is None else order
        self.entries.append(Version(id, text, self.name, since, inserted, order, mark))
        if mark is not None:
            self.refused([(id, text)], [], since, mark=mark)

    def ended(self, id, deleted, order):
        self.entries.append(Ending(id, deleted, order))

    def refused(self, rows, stored, since, mark=None):
        self.journal.refusals.append(Refusal(rows, stored, self.name, since, monotonic(), mark))

    def savepoint(self):
        return len(self.entries)

    def end(self, fate, savepoint=0):
        """Records that the entries since the savepoint were committed or undone, or that neither is known."""
        now = monotonic()
        for entry in self.entries[savepoint:]:
            entry.fate = fate
            entry.until = now
            (self.journal.versions if isinstance(entry, Version) else self.journal.endings).append(entry)
        del self.entries[savepoint:]
