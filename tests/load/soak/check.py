"""The proof, from all rows of the table and the journals of all clients. Nothing of the extension is used for it."""

from collections import defaultdict, namedtuple

from journal import COMMITTED, FOREVER, UNDONE
from pool import resemblance

# A row of the table.
Row = namedtuple("Row", ["id", "text_number", "body", "fingerprint", "mark"])


def find_failures(journals, rows, texts, fingerprints, near_texts):
    """What is wrong in the rows and the findings. `near_texts` has, for each text, the numbers of those near it."""
    history = History(journals, texts, near_texts)
    failures = [*find_wrong_contents(rows, texts, fingerprints), *find_wrong_pairs(rows, near_texts)]
    failures += find_wrong_presence(history, rows)
    failures += filter(None, (history.check_finding(finding) for journal in journals for finding in journal.findings))
    return failures


def find_wrong_contents(rows, texts, fingerprints):
    """Rows whose text or fingerprint is not that of their number."""
    for row in rows:
        if texts[row.text_number] != row.body or fingerprints[row.text_number] != row.fingerprint:
            yield f"row {row.id} is not what was written"


def find_wrong_pairs(rows, near_texts):
    """Rows that are near each other, and have no mark."""
    near_texts = [set(others) for others in near_texts]
    rows = [row for row in rows if row.mark is None]
    for i, a in enumerate(rows):
        for b in rows[:i]:
            if b.text_number in near_texts[a.text_number]:
                yield f"rows {a.id} and {b.id} are near: their resemblance is {resemblance(a.body, b.body):.3f}"


def find_wrong_presence(history, rows):
    """Rows that are stored but must not be, or must be but are not, by what the clients have committed."""
    present = {row.id: (row.text_number, row.mark) for row in rows}
    for id, versions in history.versions.items():
        stored = [version for version in versions if version.fate != UNDONE]
        ends = [end for end in history.ends[id] if end.fate != UNDONE]
        if id in present:
            if any(end.is_delete and end.fate == COMMITTED for end in ends):
                yield f"row {id} is there, although it was deleted"
            if present[id] not in {(version.text_number, version.mark) for version in stored}:
                text_number, mark = present[id]
                yield f"row {id} has text {text_number} and mark {mark}, which was not committed"
        elif any(version.is_insert and version.fate == COMMITTED for version in stored):
            if not any(end.is_delete for end in ends):
                yield f"row {id} was committed and not deleted, and is missing"
    for id in present.keys() - history.versions.keys():
        yield f"row {id} is there, although nobody has stored it"


class History:
    """The versions of all rows, by which the reason of each finding is checked."""

    def __init__(self, journals, texts, near_texts):
        self.texts, self.near_texts = texts, near_texts
        self.versions, self.versions_by_text, self.ends = defaultdict(list), defaultdict(list), defaultdict(list)
        for journal in journals:
            for version in journal.versions:
                self.versions[version.id].append(version)
                self.versions_by_text[version.text_number].append(version)
            for end in journal.ends:
                self.ends[end.id].append(end)

    def latest_time(self, version):
        """The latest time at which a version may have been in the table."""
        if version.fate == UNDONE:
            return version.not_after
        # Once a later update or delete of the row has committed, the version is gone. The earliest such time bounds it.
        later = [end for end in self.ends[version.id] if end.locked_at > version.locked_at]
        return min((end.not_after for end in later if end.fate == COMMITTED), default=FOREVER)

    def may_have_been_seen(self, version, finding):
        """Whether a version may have been in the table for the statement of a finding."""
        if version.fate == UNDONE and version.transaction != finding.transaction:
            return False  # The guard waits for the end of its transaction, and then it is not there.
        return version.not_before <= finding.not_after and self.latest_time(version) >= finding.not_before

    def check_finding(self, finding):
        """The failure of a finding; None if it has a reason."""
        if finding.mark is not None:
            return self.check_mark(finding)
        if any(self.has_reason(id, text_number, finding) for id, text_number in finding.rows):
            return None
        return f"rows {finding.rows} were refused without a reason: nothing near them was there"

    def has_reason(self, id, text_number, finding):
        """Whether a row near this one was stored by the same statement, or may have been in the table."""
        near = self.near_texts[text_number]
        return any(other_id != id and other in near for other_id, other in finding.stored_before) or any(
            version.id != id and self.may_have_been_seen(version, finding)
            for other in near for version in self.versions_by_text[other]
        )

    def check_mark(self, finding):
        """A mark must name a row that was there, near and unmarked; or the row had the mark before an update to an
        equal text, which may have another number."""
        ((id, text_number),) = finding.rows
        near = self.near_texts[text_number]
        named = (version for version in self.versions[finding.mark] if version.mark is None and version.id != id)
        if any(version.text_number in near and self.may_have_been_seen(version, finding) for version in named):
            return None
        marked = self.texts[text_number], finding.mark
        earlier = (version for version in self.versions[id] if version.not_before < finding.not_before)
        if any((self.texts[version.text_number], version.mark) == marked for version in earlier):
            return None
        return f"row {id} with text {text_number} was marked with row {finding.mark}, which was not near, or not there"
