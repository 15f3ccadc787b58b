"""How guards register rows (src/sql/guard/row/registration.rs, decision.rs), step by step.

Each writer stores one row in a transaction, unless it finds a row that is near its own. A row has keys, which are bands
of its text or parts of its fingerprint, and an index entry for each; near rows share a key, and so may others. Each
lock, each index that is searched, and each entry that is stored is a step of its own.
"""

from typing import NamedTuple

TWO_STORED = "rows are stored that no order explains"
STUCK = "writers are stuck"
# What the writers of broken variants do.
UNREGISTERED = "stores its row by the search that it makes before it is registered"
ENDS_EARLY = "ends its registration before it has stored its row"

# What a search has found.
NOTHING, UNCOMMITTED, COMMITTED = range(3)


class Writer(NamedTuple):
    phase: str
    locks: int = 0  # The number of locks that it holds: those of the row's first keys.
    done: int = 0  # The number of keys that its search has looked up.
    found: int = NOTHING  # What its search has found so far.
    entries: int = 0  # The number of index entries that its row has.


def explore(first, next_states, find_defect):
    """Visits all states that can be reached from the states `first`. Returns the first defect found, or None, and
    the number of states. `next_states(state)` is a set, and `find_defect(state, its_next_states)` a defect or None."""
    states = list(first)
    known = set(first)
    while states:
        state = states.pop()
        following = next_states(state)
        if defect := find_defect(state, following):
            return defect, len(known)
        states += following - known
        known |= following
    return None, len(known)


class Registry:
    """Writers that store rows at the same time. A state has a Writer for each. `keys` has the keys of each writer's row
    in the order of its locks, `near_pairs` the pairs of writers whose rows are near. `variant` says what is broken."""

    def __init__(self, keys, near_pairs=frozenset(), variant=None):
        self.keys, self.variant = keys, variant
        # For each writer, those whose rows are near its own.
        self.near = [[j for j in range(len(keys)) if {(i, j), (j, i)} & near_pairs] for i in range(len(keys))]

    def check(self):
        """Returns a defect, or None, and the number of states."""
        return explore([(Writer("try"),) * len(self.keys)], self.next_states, self.find_defect)

    def next_states(self, writers):
        steps = [(i, after) for i in range(len(writers)) for after in self.steps(writers, i).values()]
        return {writers[:i] + (after,) + writers[i + 1 :] for i, after in steps}

    def find_defect(self, writers, following):
        if not following and any(writer.phase not in ("end", "gone") for writer in writers):
            return STUCK
        return TWO_STORED if not following and not self.is_explained(writers) else None

    def is_explained(self, writers):
        """Whether transactions that run one after the other may store these rows. No two of them are near each other,
        and each other row is near one of them."""
        stored = [writer.entries > 0 for writer in writers]
        return all(
            writer.phase == "gone" or stored[i] != any(stored[j] for j in self.near[i])
            for i, writer in enumerate(writers)
        )

    def steps(self, writers, index):
        """The writer after each step that it may take next, by the step's name; none if it has ended or has to wait."""
        phase, locks, done, found, entries = own = writers[index]
        keys, near = self.keys[index], self.near[index]
        steps = {}
        if phase in ("try", "register"):
            held = {key for j, other in enumerate(writers) if j != index for key in self.keys[j][: other.locks]}
            if keys[locks] not in held:
                steps["lock"] = Writer("search" if locks + 1 == len(keys) else phase, locks + 1)
            if phase == "try":
                # PostgreSQL may also refuse a free lock, if others wait for it.
                steps["refuse"] = Writer("refused" if locks else "search first", locks)
        elif phase == "refused":
            steps["release"] = Writer("search first")
        elif phase in ("search first", "search") and done < len(keys):
            stored = [writers[j] for j in near if keys[done] in self.keys[j][: writers[j].entries]]
            states = [COMMITTED if other.phase == "end" else UNCOMMITTED for other in stored]
            steps["look"] = own._replace(done=done + 1, found=max(found, *states, NOTHING))
        elif phase in ("search first", "search"):
            steps["search"] = Writer(phase, locks)
            if found == COMMITTED:
                steps["end"] = Writer("end")
            elif found == UNCOMMITTED:
                steps["wait"] = Writer("wait", locks)
            elif locks or self.variant == UNREGISTERED:
                steps["store"] = Writer("store", 0 if self.variant == ENDS_EARLY else locks)
            else:
                steps["register"] = Writer("register")
        elif phase == "wait":
            if locks:
                steps["release"] = Writer("wait")
            else:
                steps["register"] = Writer("register")
            # The guard waits until the transactions that have written near rows have ended.
            if all(writers[j].phase in ("end", "gone") or not writers[j].entries for j in near):
                steps["search"] = Writer("search" if locks else "search first", locks)
        elif phase == "store":
            steps["entry"] = Writer("store" if entries + 1 < len(keys) else "stored", locks, entries=entries + 1)
            if not entries:
                # Another trigger or ON CONFLICT drops the row.
                steps["release"] = Writer("gone")
        elif phase == "stored":
            steps["release"] = Writer("released", entries=entries)
        elif phase == "released":
            steps["commit"] = Writer("end", entries=entries)
        if entries and phase != "end":
            steps["roll back"] = Writer("gone")
        return steps
