"""What a client knows of what it did, with times (of a clock that all processes share)."""

from dataclasses import dataclass, field
from time import monotonic

COMMITTED, UNDONE, UNKNOWN = "committed", "undone", "unknown"
FOREVER = float("inf")


@dataclass
class Version:
    """A row as it was written: not in the table before `since`, nor after the end of what ends it."""

    id: int
    text: int
    transaction: tuple
    since: float
    inserted: bool
    # A time while the row was locked, by which it can be compared with what ended a version of the row.
    order: float
    mark: int = None
    # Whether it may be a near-duplicate of others, if it has no mark.
    active: bool = True
    fate: str = UNDONE
    # If it was undone: since when at the latest.
    until: float = FOREVER


@dataclass
class Ended:
    """An update or a delete of a row that ended the version it had."""

    id: int
    deleted: bool
    order: float
    fate: str = UNDONE
    until: float = FOREVER


@dataclass
class Refusal:
    """Rows (id and text) of one statement of which one was rejected, or each skipped or marked."""

    rows: list
    stored: list  # active rows of the same statement, which came before them or may have
    transaction: tuple
    since: float
    until: float
    named: tuple = None  # the key that the error named, the distance, and the resemblance as written
    mark: int = None


@dataclass
class Journal:
    versions: list = field(default_factory=list)
    ended: list = field(default_factory=list)
    refusals: list = field(default_factory=list)
    counts: dict = field(default_factory=dict)

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1


class Transaction:
    """The part of a journal that shares its fate; savepoints are kept by their place in it."""

    def __init__(self, journal, name):
        self.journal, self.name, self.entries = journal, name, []

    def wrote(self, id, text, since, inserted=True, order=None, mark=None, active=True):
        order = since if order is None else order
        self.entries.append(Version(id, text, self.name, since, inserted, order, mark, active))
        if mark is not None:
            self.refused([(id, text)], [], since, mark=mark)

    def ended(self, id, deleted, order):
        self.entries.append(Ended(id, deleted, order))

    def refused(self, rows, stored, since, named=None, mark=None):
        self.journal.refusals.append(Refusal(rows, stored, self.name, since, monotonic(), named, mark))

    def savepoint(self):
        return len(self.entries)

    def end(self, fate, savepoint=0):
        """All since the savepoint, or all of it, was committed, undone, or is not known to be either."""
        now = monotonic()
        for entry in self.entries[savepoint:]:
            entry.fate = fate
            entry.until = now
            (self.journal.versions if isinstance(entry, Version) else self.journal.ended).append(entry)
        del self.entries[savepoint:]
