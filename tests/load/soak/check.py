"""The proof, from all rows of the table and the journals of all clients. Nothing of the extension is used for it."""

from collections import defaultdict

from journal import COMMITTED, FOREVER, UNDONE
from pool import resemblance


def prove(journals, rows, texts, fingerprints, near):
    """What is wrong. `near` lists, for each text, the texts that are near-duplicates of it."""
    history = History(journals, texts, near)
    failures = [*contents(rows, texts, fingerprints), *duplicates(rows, near), *presence(history, rows)]
    refusals = [refusal for journal in journals for refusal in journal.refusals]
    failures += filter(None, map(history.without_reason, refusals))
    counts = defaultdict(int)
    for journal in journals:
        for what, count in journal.counts.items():
            counts[what] += count
    print("  " + ", ".join(f"{what} {count}" for what, count in sorted(counts.items())))
    print(
        f"  {len(rows)} rows, {len(rows) * (len(rows) - 1) // 2} pairs, {len(refusals)} refusals looked at,"
        f" {len(failures)} failures", flush=True,
    )
    return failures


def contents(rows, texts, fingerprints):
    for id, text, body, fingerprint, _ in rows:
        if texts[text] != body or fingerprints[text] != fingerprint:
            yield f"row {id} is not what was written"


def duplicates(rows, near):
    """Rows that are near each other, and have no mark."""
    near = [set(others) for others in near]
    rows = [row for row in rows if row[-1] is None]
    for i, (a, text_of_a, body_of_a, *_) in enumerate(rows):
        for b, text_of_b, body_of_b, *_ in rows[:i]:
            if text_of_b in near[text_of_a]:
                yield f"rows {a} and {b} are near: their resemblance is {resemblance(body_of_a, body_of_b):.3f}"


def presence(history, rows):
    there = {id: (text, mark) for id, text, _, _, mark in rows}
    for id, versions in history.versions.items():
        stored = [version for version in versions if version.fate != UNDONE]
        ended = [end for end in history.ended[id] if end.fate != UNDONE]
        certainly_inserted = any(version.inserted and version.fate == COMMITTED for version in stored)
        if id in there:
            if any(end.deleted and end.fate == COMMITTED for end in ended):
                yield f"row {id} is there, although it was deleted"
            if there[id] not in {(version.text, version.mark) for version in stored}:
                text, mark = there[id]
                yield f"row {id} has text {text} and mark {mark}, which was not committed"
        elif certainly_inserted and not any(end.deleted for end in ended):
            yield f"row {id} was committed and not deleted, and is missing"
    for id in there.keys() - history.versions.keys():
        yield f"row {id} is there, although nobody has stored it"


class History:
    """The versions of all rows, by which the reason of each refusal is checked."""

    def __init__(self, journals, texts, near):
        self.texts, self.near = texts, near
        self.versions, self.ended = defaultdict(list), defaultdict(list)
        for journal in journals:
            for version in journal.versions:
                self.versions[version.id].append(version)
            for end in journal.ended:
                self.ended[end.id].append(end)
        self.with_text = defaultdict(list)
        for versions in self.versions.values():
            for version in versions:
                self.with_text[version.text].append(version)

    def latest(self, version):
        """The latest time at which a version may have been in the table."""
        if version.fate == UNDONE:
            return version.until
        # What ended it began after it, and was not undone; a sound bound is the first committed one's end.
        ends = [
            end.until for end in self.ended[version.id] if end.fate == COMMITTED and end.order > version.order
        ]
        return min(ends, default=FOREVER)

    def may_be_there(self, version, refusal):
        if version.fate == UNDONE and version.transaction != refusal.transaction:
            return False  # The guard waits for its end, and then it is not there.
        return version.since <= refusal.until and self.latest(version) >= refusal.since

    def without_reason(self, refusal):
        if refusal.mark is not None:
            return self.marked_wrongly(refusal)
        if any(self.has_reason(id, text, refusal) for id, text in refusal.rows):
            return None
        return f"rows {refusal.rows} were refused without a reason: nothing near them was there"

    def has_reason(self, id, text, refusal):
        near = self.near[text]
        return any(key != id and other in near for key, other in refusal.stored) or any(
            version.id != id and self.may_be_there(version, refusal)
            for other in near for version in self.with_text[other]
        )

    def marked_wrongly(self, refusal):
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
