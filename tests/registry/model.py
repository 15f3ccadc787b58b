"""How guards register rows (src/sql/guard/row/registration.rs, decision.rs), step by step.

Each writer stores one row in a transaction, unless it finds a row that is near its own. A row has keys, which are bands
of its text or parts of its fingerprint, and an index entry for each; near rows share a key, and so may others. Each
lock, each index that is searched, and each entry that is stored is a step of its own.
"""

from typing import NamedTuple

TWO_STORED = "rows are stored that no order explains"
STUCK = "writers are stuck"
# The defects of broken writers.
UNREGISTERED = "stores its row by the search that it makes before it is registered"
ENDS_EARLY = "ends its registration before it has stored its row"

# What a search has found.
NOTHING, UNCOMMITTED, COMMITTED = range(3)


class Writer(NamedTuple):
    phase: str
    locks: int = 0  # Held: those of the row's first keys.
    done: int = 0  # Steps of the search.
    found: int = NOTHING  # By the search so far.
    entries: int = 0  # Of the row in the indexes.


def explore(begin, following, wrong):
    """Visits all states that follow from `begin`. Returns what is wrong in one of them (None if nothing is), and the
    number of states. `following(state)` returns the next states, `wrong(state, next_states)` what is wrong."""
    states = list(begin)
    known = set(begin)
    while states:
        state = states.pop()
        next_states = following(state)
        if defect := wrong(state, next_states):
            return defect, len(known)
        states += next_states - known
        known |= next_states
    return None, len(known)


class Registry:
    """Writers that store rows at the same time. A state has a Writer for each. `keys` has the keys of each writer's row
    in the order of its locks, `near_pairs` the pairs of writers whose rows are near, `broken` the writers' defect."""

    def __init__(self, keys, near_pairs=frozenset(), broken=None):
        self.keys, self.broken = keys, broken
        # For each writer, those whose rows are near its own.
        self.near = [[j for j in range(len(keys)) if {(i, j), (j, i)} & near_pairs] for i in range(len(keys))]

    def check(self):
        """Returns what is wrong, or None, and the number of states."""
        return explore([(Writer("try"),) * len(self.keys)], self.following, self.wrong)

    def following(self, writers):
        steps = [(i, after) for i in range(len(writers)) for after in self.steps(writers, i).values()]
        return {writers[:i] + (after,) + writers[i + 1 :] for i, after in steps}

    def wrong(self, writers, following):
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

    def steps(self, writers, i):
        """The writer after each step that it may take next, by the step's name; none if it has ended or has to wait."""
        phase, locks, done, found, entries = own = writers[i]
        keys = self.keys[i]
        steps = {}
        if phase in ("try", "register"):
            held = {key for j, other in enumerate(writers) if j != i for key in self.keys[j][: other.locks]}
            if keys[locks] not in held:
                steps["lock"] = Writer("search" if locks + 1 == len(keys) else phase, locks + 1)
            if phase == "try":
                # PostgreSQL may also refuse a free lock, if others wait for it.
                steps["refuse"] = Writer("refused" if locks else "search first", locks)
        elif phase == "refused":
            steps["release"] = Writer("search first")
        elif phase in ("search first", "search") and done < len(keys):
            stored = [writers[j] for j in self.near[i] if keys[done] in self.keys[j][: writers[j].entries]]
            states = [COMMITTED if other.phase == "end" else UNCOMMITTED for other in stored]
            steps["look"] = own._replace(done=done + 1, found=max(found, *states, NOTHING))
        elif phase in ("search first", "search"):
            steps["search"] = Writer(phase, locks)
            if found == COMMITTED:
                steps["end"] = Writer("end")
            elif found == UNCOMMITTED:
                steps["wait"] = Writer("wait", locks)
            elif locks or self.broken == UNREGISTERED:
                steps["store"] = Writer("store", 0 if self.broken == ENDS_EARLY else locks)
            else:
                steps["register"] = Writer("register")
        elif phase == "wait":
            if locks:
                steps["release"] = Writer("wait")
            else:
                steps["register"] = Writer("register")
            # The guard waits until the transaction has ended.
            if all(writers[j].phase in ("end", "gone") or not writers[j].entries for j in self.near[i]):
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
