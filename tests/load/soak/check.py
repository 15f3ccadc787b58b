"""The proof, from all rows of the table and the journals of all clients. Nothing of the extension is used for it."""

from collections import Counter, defaultdict, namedtuple

from journal import COMMITTED, FOREVER, UNDONE
from pool import resemblance


# A row of the table. `text` is the number of its text.
Row = namedtuple("Row", ["id", "text", "body", "fingerprint", "mark"])


def prove(journals, rows, texts, fingerprints, near):
    """The failures of a history. `near` lists, for each text, its near-duplicates."""
    history = History(journals, texts, near)
    failures = [*find_wrong_contents(rows, texts, fingerprints), *find_wrong_pairs(rows, near)]
    failures += find_wrong_presence(history, rows)
    refusals = [refusal for journal in journals for refusal in journal.refusals]
    failures += filter(None, map(history.check_refusal, refusals))
    counts = sum((Counter(journal.counts) for journal in journals), Counter())
    print("  " + ", ".join(f"{event} {count}" for event, count in sorted(counts.items())))
    print(
        f"  {len(rows)} rows, {len(rows) * (len(rows) - 1) // 2} pairs, {len(refusals)} refusals looked at,"
        f" {len(failures)} failures", flush=True,
    )
    return failures


def find_wrong_contents(rows, texts, fingerprints):
    """Rows whose text or fingerprint is not that of their number."""
    for row in rows:
        if texts[row.text] != row.body or fingerprints[row.text] != row.fingerprint:
            yield f"row {row.id} is not what was written"


def find_wrong_pairs(rows, near):
    """Rows that are near each other, and have no mark."""
    near = [set(others) for others in near]
    rows = [row for row in rows if row.mark is None]
    for i, a in enumerate(rows):
        for b in rows[:i]:
            if b.text in near[a.text]:
                yield f"rows {a.id} and {b.id} are near: their resemblance is {resemblance(a.body, b.body):.3f}"


def find_wrong_presence(history, rows):
    """Rows that are stored but must not be, or must be but are not, by what the clients have committed."""
    present = {row.id: (row.text, row.mark) for row in rows}
    for id, versions in history.versions.items():
        stored = [version for version in versions if version.fate != UNDONE]
        endings = [ending for ending in history.endings[id] if ending.fate != UNDONE]
        certainly_inserted = any(version.inserted and version.fate == COMMITTED for version in stored)
        if id in present:
            if any(ending.deleted and ending.fate == COMMITTED for ending in endings):
                yield f"row {id} is there, although it was deleted"
            if present[id] not in {(version.text, version.mark) for version in stored}:
                text, mark = present[id]
                yield f"row {id} has text {text} and mark {mark}, which was not committed"
        elif certainly_inserted and not any(ending.deleted for ending in endings):
            yield f"row {id} was committed and not deleted, and is missing"
    for id in present.keys() - history.versions.keys():
        yield f"row {id} is there, although nobody has stored it"


class History:
    """The versions of all rows, by which the reason of each refusal is checked."""

    def __init__(self, journals, texts, near):
        self.texts, self.near = texts, near
        self.versions, self.endings = defaultdict(list), defaultdict(list)
        for journal in journals:
            for version in journal.versions:
                self.versions[version.id].append(version)
            for ending in journal.endings:
                self.endings[ending.id].append(ending)
        self.with_text = defaultdict(list)
        for versions in self.versions.values():
            for version in versions:
                self.with_text[version.text].append(version)

    def latest(self, version):
        """The latest time at which a version may have been in the table."""
        if version.fate == UNDONE:
            return version.until
        # Once a later update or delete of the row has committed, the version is gone. The earliest such time bounds it.
        later = [ending for ending in self.endings[version.id] if ending.order > version.order]
        ends = [ending.until for ending in later if ending.fate == COMMITTED]
        return min(ends, default=FOREVER)

    def may_be_there(self, version, refusal):
        """Whether a version may have been in the table for the statement of a refusal."""
        if version.fate == UNDONE and version.transaction != refusal.transaction:
            return False  # The guard waits for its end, and then it is not there.
        return version.since <= refusal.until and self.latest(version) >= refusal.since

    def check_refusal(self, refusal):
        """The failure of a refusal or a mark; None if it has a reason."""
        if refusal.mark is not None:
            return self.check_mark(refusal)
        if any(self.has_reason(id, text, refusal) for id, text in refusal.rows):
            return None
        return f"rows {refusal.rows} were refused without a reason: nothing near them was there"

    def has_reason(self, id, text, refusal):
        """Whether a row near this one was stored by the same statement, or may have been in the table."""
        near = self.near[text]
        return any(other_id != id and other in near for other_id, other in refusal.stored) or any(
            version.id != id and self.may_be_there(version, refusal)
            for other in near for version in self.with_text[other]
        )

    def check_mark(self, refusal):
        """A mark must name a row that was there, near and unmarked; or the row had the mark before an update to an
        equal text, which may have another number."""
        ((id, text),) = refusal.rows
        named = (version for version in self.versions[refusal.mark] if version.mark is None and version.id != id)
        if any(version.text in self.near[text] and self.may_be_there(version, refusal) for version in named):
            return None
        before = (version for version in self.versions[id] if version.since < refusal.since)
        if any((self.texts[version.text], version.mark) == (self.texts[text], refusal.mark) for version in before):
            return None
        return f"row {id} with text {text} was marked with row {refusal.mark}, which was not near, or not there"
