"""A client's record of what it did, with times of a clock that all processes share."""

from dataclasses import dataclass, field
from time import monotonic

COMMITTED, UNDONE, UNKNOWN = "committed", "undone", "unknown"
FOREVER = float("inf")


@dataclass
class Version:
    """A row as it was written: not in the table before `not_before`, nor after the transaction of its end."""

    id: int
    text_number: int
    transaction: tuple
    not_before: float
    is_insert: bool
    # A time at which the row was locked, by which versions and their ends can be ordered.
    locked_at: float
    mark: int = None
    fate: str = UNDONE
    # If it was undone: the latest time at which it may have been in the table.
    not_after: float = FOREVER


@dataclass
class End:
    """An update or a delete of a row, which ended a version of the row."""

    id: int
    is_delete: bool
    locked_at: float
    fate: str = UNDONE
    # The latest time at which the version may have been in the table, if the end was committed.
    not_after: float = FOREVER


@dataclass
class Finding:
    """A near-duplicate that the guard found: the rows (id and number of the text) of a statement of which one was
    rejected, or which were all skipped or marked. The statement ran between the two times."""

    rows: list
    stored_before: list  # Rows that the same statement stored before them, or may have stored before them.
    transaction: tuple
    not_before: float
    not_after: float
    mark: int = None


@dataclass
class Journal:
    versions: list = field(default_factory=list)
    ends: list = field(default_factory=list)
    findings: list = field(default_factory=list)
    counts: dict = field(default_factory=dict)

    def count(self, event):
        self.counts[event] = self.counts.get(event, 0) + 1


class Transaction:
    """The entries of a transaction, which are committed or undone together. A savepoint is an index into them."""

    def __init__(self, journal, name):
        self.journal, self.name, self.entries = journal, name, []

    def record_version(self, id, text_number, not_before, is_insert=True, locked_at=None, mark=None):
        locked_at = not_before if locked_at is None else locked_at
        self.entries.append(Version(id, text_number, self.name, not_before, is_insert, locked_at, mark))
        if mark is not None:
            self.record_finding([(id, text_number)], [], not_before, mark)

    def record_end(self, id, is_delete, locked_at):
        self.entries.append(End(id, is_delete, locked_at))

    def record_finding(self, rows, stored_before, not_before, mark=None):
        self.journal.findings.append(Finding(rows, stored_before, self.name, not_before, monotonic(), mark))

    def savepoint(self):
        return len(self.entries)

    def close(self, fate, savepoint=0):
        """Records that the entries since the savepoint were committed or undone, or that neither is known."""
        now = monotonic()
        for entry in self.entries[savepoint:]:
            entry.fate = fate
            entry.not_after = now
            (self.journal.versions if isinstance(entry, Version) else self.journal.ends).append(entry)
        del self.entries[savepoint:]
