"""How guards register rows (src/sql/guard/row/registration.rs, decision.rs), step by step.

Each writer stores one row in a transaction, unless it finds a row that is near its own. A row has keys, which are bands
of its text or parts of its fingerprint, and an index entry for each; near rows share a key, and so may others. Each
lock, each index that is searched, and each entry that is stored is a step of its own.
"""

from collections import namedtuple

TWO_STORED = "rows are stored that no order explains"
STUCK = "writers are stuck"
# The defects of a wrong writer.
UNREGISTERED = "stores its row by the search that it makes before it is registered"
ENDS_EARLY = "ends its registration before it has stored its row"

# `locks` is the number of held locks, on the row's first keys; `done` counts the steps of a search, `found` is its
# result so far, and `entries` counts the row's entries in the indexes.
Writer = namedtuple("Writer", "phase locks done found entries")
NOTHING, UNCOMMITTED, COMMITTED = range(3)


def writer(phase, locks=0, entries=0):
    return Writer(phase, locks, 0, NOTHING, entries)


def explore(begin, following, wrong):
    """Visits all states that follow from `begin`. Returns a defect of one of them, or None, and the number of visited
    states. `following(state)` returns the next states, and `wrong(state, next states)` the state's defect or None."""
    states, known = list(begin), set(begin)
    while states:
        state = states.pop()
        after = following(state)
        if found := wrong(state, after):
            return found, len(known)
        states += after - known
        known |= after
    return None, len(known)


class Registry:
    """Writers that store rows at the same time. A state has a Writer for each. `keys` has the keys of each writer's row
    in the order of its locks, `near` the pairs of writers whose rows are near, `broken` what the writers do wrong."""

    def __init__(self, keys, near=frozenset(), broken=None):
        self.keys, self.broken = keys, broken
        self.near = [[j for j in range(len(keys)) if {(i, j), (j, i)} & near] for i in range(len(keys))]

    def check(self):
        """Returns what is wrong, or None, and the number of states."""
        return explore([(writer("try"),) * len(self.keys)], self.following, self.wrong)

    def following(self, writers):
        steps = [(i, after) for i in range(len(writers)) for after in self.steps(writers, i).values()]
        return {writers[:i] + (after,) + writers[i + 1 :] for i, after in steps}

    def wrong(self, writers, following):
        if not following and any(one.phase not in ("end", "gone") for one in writers):
            return STUCK
        return TWO_STORED if not following and not self.is_explained(writers) else None

    def is_explained(self, writers):
        """Whether transactions that run one after the other may store these rows. No two of them are near each other,
        and each other row is near one of them."""
        stored = [one.entries > 0 for one in writers]
        return all(
            one.phase == "gone" or stored[i] != any(stored[j] for j in self.near[i]) for i, one in enumerate(writers)
        )

    def steps(self, writers, i):
        """The writer after each step that it may take next, by the step's name; none if it has ended or has to wait."""
        phase, locks, done, found, entries = own = writers[i]
        keys = self.keys[i]
        steps = {}
        if phase in ("try", "register"):
            held = {key for j, one in enumerate(writers) if j != i for key in self.keys[j][: one.locks]}
            if keys[locks] not in held:
                steps["lock"] = writer("search" if locks + 1 == len(keys) else phase, locks + 1)
            if phase == "try":
                # PostgreSQL may also refuse a free lock, if others wait for it.
                steps["refuse"] = writer("refused" if locks else "search first", locks)
        elif phase == "refused":
            steps["release"] = writer("search first")
        elif phase in ("search first", "search") and done < len(keys):
            near = [writers[j] for j in self.near[i] if keys[done] in self.keys[j][: writers[j].entries]]
            seen = [COMMITTED if one.phase == "end" else UNCOMMITTED for one in near]
            steps["look"] = own._replace(done=done + 1, found=max(found, *seen, NOTHING))
        elif phase in ("search first", "search"):
            steps["search"] = writer(phase, locks)
            if found == COMMITTED:
                steps["end"] = writer("end")
            elif found == UNCOMMITTED:
                steps["wait"] = writer("wait", locks)
            elif locks or self.broken == UNREGISTERED:
                steps["store"] = writer("store", 0 if self.broken == ENDS_EARLY else locks)
            else:
                steps["register"] = writer("register")
        elif phase == "wait":
            if locks:
                steps["release"] = writer("wait")
            else:
                steps["register"] = writer("register")
            # The guard waits until the transaction has ended.
            if all(writers[j].phase in ("end", "gone") or not writers[j].entries for j in self.near[i]):
                steps["search"] = writer("search" if locks else "search first", locks)
        elif phase == "store":
            steps["entry"] = writer("store" if entries + 1 < len(keys) else "stored", locks, entries + 1)
            if not entries:
                # Another trigger or ON CONFLICT drops the row.
                steps["release"] = writer("gone")
        elif phase == "stored":
            steps["release"] = writer("released", entries=entries)
        elif phase == "released":
            steps["commit"] = writer("end", entries=entries)
        if entries and phase != "end":
            steps["roll back"] = writer("gone")
        return steps
